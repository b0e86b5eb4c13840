//go:build !race

package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

// talker is a server that can be killed and started again where it was.
type talker struct {
	shop
	args []string
}

// newTalker starts a server of the sale of first, or of a sale of its own.
func newTalker(t *testing.T, first *talker, args ...string) *talker {
	t.Helper()
	port := launch.ClosedPort(t)
	s := &talker{args: append([]string{"-chat", "-room-pace", "0", "-workers", "1", "-foods", "4",
		"-stock", "10", "-app-port", port, "-push-address", "127.0.0.1:" + launch.ClosedPort(t)}, args...)}
	if first != nil {
		s.redis = first.redis
		s.start(t, "", s.args...)
		return s
	}
	s.shop = *newShop(t, 4, 10, s.args...)
	return s
}

// again starts a killed server.
func (s *talker) again(t *testing.T) {
	t.Helper()
	s.start(t, s.Data, s.args...)
}

// write writes a message by the form.
func (p *tab) write(text string) {
	p.t.Helper()
	p.run(chromedp.SendKeys(chromedp.CSS("#content"), text+"\r"))
}

// past waits until the shown thread has exactly these messages, all of them stored.
func (p *tab) past(texts ...string) {
	p.t.Helper()
	p.until("messages "+strings.Join(texts, ", "), fmt.Sprintf(`[...document.querySelectorAll("#messages li")]
		.map((e) => (e.dataset.waiting ?? "") + e.querySelector("p").textContent).join() === %q`,
		strings.Join(texts, ",")))
}

// unread waits for the number of unread messages at a name in the list, "" for none.
func (p *tab) unread(name, number string) {
	p.t.Helper()
	p.until(number+" unread of "+name, fmt.Sprintf(`[...document.querySelectorAll("#threads li")].some((e) =>
		e.querySelector(".name").textContent === %q &&
		e.querySelector(".count").textContent === %q)`, name, number))
}

// online waits for the dot at a name in the list.
func (p *tab) online(name string, is bool) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s online: %v", name, is), fmt.Sprintf(
		`[...document.querySelectorAll("#threads li")].some((e) =>
		e.querySelector(".name").textContent === %q &&
		e.querySelector(".dot").dataset.online === "%v")`, name, is))
}

// choose opens a thread of the list by its name.
func (p *tab) choose(name string) {
	p.t.Helper()
	p.until("thread "+name, fmt.Sprintf(`(() => { const row = [...document.querySelectorAll("#threads li")]
		.find((e) => e.querySelector(".name").textContent === %q);
		row?.querySelector("button").click();
		return Boolean(row) && document.getElementById("thread-name").textContent === %q; })()`, name, name))
}

func (p *tab) live() {
	p.t.Helper()
	p.until("pushes", `document.getElementById("chat-state")?.dataset.link === "live"`)
}

// Two users talk through two servers of one sale. One server is killed and comes back: nothing is lost or
// there twice, what could not be sent is sent again once, and unread messages are counted right.
func TestChatThroughTwoServers(t *testing.T) {
	t.Parallel()
	first := newTalker(t, nil)
	second := newTalker(t, first)

	anna := open(t, first.Address, "chat")
	anna.register("anna")
	anna.live()

	c := second.client(t)
	testkit.Must(t, c.LoginUser(7))
	testkit.Must(t, c.Call("PUT", "/contacts/anna", `{"blocked":false,"nickname":""}`, nil))
	bert := open(t, second.Address, "chat")
	bert.logIn("user7", "pass7")
	bert.live()

	anna.fill("talk-form-name", "user7")
	anna.click("#talk-form button")
	anna.untilText("thread-name", "user7")
	anna.write("<b>one</b>")
	anna.past("<b>one</b>")
	bert.unread("anna", "1")
	bert.online("anna", true)
	bert.until("unread in the header",
		`document.querySelector('nav a[href="#/chat"]').textContent === "Chat (1)"`)
	bert.choose("anna")
	bert.past("<b>one</b>")
	bert.unread("anna", "")
	bert.write("two")
	bert.past("<b>one</b>", "two")
	anna.past("<b>one</b>", "two")

	bert.choose("Sale room")
	bert.write("to all")
	bert.past("to all")

	second.Kill()
	bert.until("a lost link", `document.getElementById("chat-state").dataset.link === "poll"`)
	bert.write("kept")
	bert.past("to all", "failedkept")
	for _, text := range []string{"three", "four", "five"} {
		anna.write(text)
	}
	anna.past("<b>one</b>", "two", "three", "four", "five")
	anna.choose("Sale room")
	anna.past("to all")
	anna.write("from anna")
	anna.past("to all", "from anna")

	second.again(t)
	bert.live()
	bert.past("to all", "from anna", "failedkept")
	bert.unread("anna", "3")
	bert.click("[data-again]")
	bert.past("to all", "from anna", "kept")
	anna.past("to all", "from anna", "kept")
	bert.choose("anna")
	bert.past("<b>one</b>", "two", "three", "four", "five")
	bert.unread("anna", "")

	anna.click("#visible")
	bert.online("anna", false)
}

// loaded are the files of the chat that the page has loaded.
const loaded = `performance.getEntriesByType("resource").map((e) => new URL(e.name).pathname)
	.filter((path) => /chat|talk|thread|past|push|people|shown|line|attempt|moderate|centrifuge|register/
		.test(path) || /panel|contacts|group|members|account/.test(path)).join()`

// Without a chat nothing of it is shown or loaded.
func chatIsOff(t *testing.T, s *shop) {
	p := open(t, s.Address, "chat")
	p.until("the shop", `document.body.dataset.view === "buy"`)
	p.click("#log-in")
	if files := eval[string](p, loaded); files != "" {
		t.Errorf("the page loads %s", files)
	}
	if shown := p.js(`return [...document.querySelectorAll(".for-chat")].filter((e) => e.checkVisibility())
		.length`); shown != "0" {
		t.Errorf("%s parts of the chat are shown", shown)
	}
}

// conversation has user 3 write to user 9, and returns the address of the thread.
func (s *talker) conversation(t *testing.T, messages int) (thread string) {
	t.Helper()
	c := s.client(t)
	testkit.Must(t, c.LoginUser(3))
	var told struct {
		ID string `json:"thread_id"`
	}
	testkit.Must(t, c.Call("POST", "/threads", `{"participants":[9]}`, &told))
	for i := range messages {
		s.say(t, c, "/threads/"+told.ID, fmt.Sprint("message ", i+1))
	}
	return "/threads/" + told.ID
}

func (s *talker) say(t *testing.T, c *client.Client, thread, text string) {
	t.Helper()
	testkit.Must(t, c.Call("POST", thread+"/messages", fmt.Sprintf(`{"content":%q}`, text), nil))
}

// The views of the chat have no violation that axe-core finds and fit a small phone.
func TestChatViews(t *testing.T) {
	t.Parallel()
	s := newTalker(t, nil, "-limits", "off")
	t.Run("threads", func(t *testing.T) { threadsAndHistory(t, s) })
	t.Run("people", func(t *testing.T) { contactsGroupsAccount(t, s) })
}

// Nothing of the chat is loaded before it is opened. History scrolls back and stays where it is read; a
// muted thread does not count. Without pushes the page polls, and tells so.
func threadsAndHistory(t *testing.T, s *talker) {
	thread := s.conversation(t, 120)
	p := open(t, s.Address, "live")
	if files := eval[string](p, loaded); files != "" {
		t.Errorf("the first view loads %s", files)
	}
	p.js(axe)
	p.js(`const send = window.fetch;
		window.fetch = (path, options) => path === "/push" ? Promise.reject(new TypeError("no answer")) :
			send(path, options);`)
	p.view("chat")
	p.until("the room", `document.querySelectorAll("#threads li").length === 1`)
	p.look("visitor")
	p.click("#chat-register")
	p.look("register")
	p.click("#register-form .buttons button:not(.primary)")
	p.logIn("user9", "pass9")
	p.until("the chat after the login", `document.body.dataset.view === "chat"`)
	p.untilText("chat-state", "Not live")
	p.unread("user3", "99+")
	p.look("list")

	p.choose("user3")
	p.until("the newest messages", `document.getElementById("messages").lastChild?.dataset.id === "120"`)
	p.look("thread")
	p.js(`document.getElementById("past").scrollTo(0, 0)`)
	p.until("older messages above the one that was first",
		`document.querySelectorAll("#messages li").length === 100 &&
		document.getElementById("past").scrollTop > 1000`)
	p.click("#to-end")
	p.unread("user3", "") // the name came with the contact

	p.click("#thread-settings summary")
	p.click("#thread-muted")
	p.fill("nickname", "Three")
	p.look("settings")
	p.click("#rename button")
	p.untilText("thread-name", "Three")
	p.choose("Sale room")
	c := s.client(t)
	testkit.Must(t, c.LoginUser(3))
	s.say(t, c, thread, "a muted one")
	s.say(t, c, "/rooms/sale", "by polling")
	p.past("by polling")
	p.unread("Three", "1")
	s.moderates(t)
	p.past("This message was removed.")
	if text := p.js(`return document.querySelector('nav a[href="#/chat"]').textContent`); text != "Chat" {
		t.Errorf("with a muted message the header has %q", text)
	}
}

// moderates has root remove the only message of the sale room, under another name of the server's host.
func (s *talker) moderates(t *testing.T) {
	t.Helper()
	root := open(t, strings.Replace(s.Address, "127.0.0.1", "localhost", 1), "chat")
	root.logIn("root", rootPassword)
	root.view("chat")
	root.live()
	root.choose("Sale room")
	root.click("[data-moderate]")
	root.click("#moderate-pin")
	root.untilText("pinned", "Pinned: by polling")
	root.click("[data-moderate]")
	root.js(axe)
	root.run(chromedp.EmulateViewport(320, 640))
	root.accessible("moderate")
	root.shoot("moderate")
	root.click("#moderate [value=remove]")
	root.past("This message was removed.")
}

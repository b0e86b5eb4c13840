//go:build !race

package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// talker is a server that can be killed and started again where it was.
type talker struct {
	shop
	args []string
}

// newTalker starts a server of the sale of first, or of a sale of its own.
func newTalker(t *testing.T, first *talker) *talker {
	t.Helper()
	port := launch.ClosedPort(t)
	s := &talker{args: []string{"-chat", "-room-pace", "0", "-workers", "1", "-foods", "4", "-stock", "10",
		"-app-port", port, "-push-address", "127.0.0.1:" + launch.ClosedPort(t)}}
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
		e.querySelector(".name").textContent === %q && e.querySelector(".count").textContent === %q)`, name, number))
}

// online waits for the dot at a name in the list.
func (p *tab) online(name string, is bool) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s online: %v", name, is), fmt.Sprintf(
		`[...document.querySelectorAll("#threads li")].some((e) =>
		e.querySelector(".name").textContent === %q && e.querySelector(".dot").dataset.online === "%v")`, name, is))
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
	first := newTalker(t, nil)
	second := newTalker(t, first)

	anna := open(t, first.Address, "chat")
	anna.click("#chat-register")
	anna.fill("register-name", "anna")
	anna.fill("register-password", "a long password")
	anna.click("#register-form .primary")
	anna.untilText("account", "anna")
	anna.live()

	c := second.client(t)
	testkit.Must(t, c.LoginUser(7))
	testkit.Must(t, c.Call("PUT", "/contacts/anna", `{"blocked":false,"nickname":""}`, nil))
	bert := open(t, second.Address, "chat")
	bert.logIn("user7", "pass7")
	bert.live()

	anna.fill("talk-to", "user7")
	anna.click("#talk-form button")
	anna.untilText("thread-name", "user7")
	anna.write("<b>one</b>")
	anna.past("<b>one</b>")
	bert.unread("anna", "1")
	bert.online("anna", true)
	bert.until("unread in the header", `document.querySelector('nav a[href="#/chat"]').textContent === "Chat (1)"`)
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

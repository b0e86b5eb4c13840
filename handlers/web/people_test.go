//go:build !race

package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
)

// look checks what is shown now on a small phone and in the dark: no violation that axe-core finds, nothing
// wider than the screen, nothing that a finger may miss.
func (p *tab) look(what string) {
	p.t.Helper()
	for _, screen := range []struct {
		scheme        string
		width, height int64
	}{{"light", 320, 640}, {"dark", 1280, 800}} {
		p.run(prefer(screen.scheme), chromedp.EmulateViewport(screen.width, screen.height))
		name := fmt.Sprintf("%s-%d", what, screen.width)
		if wide := p.js(tooWide); wide != "" {
			p.t.Errorf("%s is wider than its screen or dialog:\n%s", name, wide)
		}
		if low := p.js(lowControls); low != "" {
			p.t.Errorf("%s: less than 44 pixels high:\n%s", name, low)
		}
		p.accessible(name)
		p.shoot(name)
	}
}

// tooWide lists the page and its dialogs where they are wider than what shows them.
const tooWide = `return [...document.querySelectorAll("html, dialog[open], dialog[open] .rows")]
	.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.id || e.tagName).join("\n")`

// lowControls lists the controls of the chat that a finger may miss.
const lowControls = `return [...document.querySelectorAll(":is(#view-chat, #register, .panel, #confirm) " +
	":is(button, textarea, summary, label.check, input:not([type=checkbox]))")]
	.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44)
	.map((e) => e.id || e.outerHTML).join("\n")`

// focused waits for the focus, which a keyboard needs.
func (p *tab) focused(id string) {
	p.t.Helper()
	p.until("focus on "+id, fmt.Sprintf("document.activeElement.id === %q", id))
}

// closes closes a dialog by the keyboard; the focus goes back to the button that opened it.
func (p *tab) closes(id, button string) {
	p.t.Helper()
	p.run(chromedp.KeyEvent("\x1b"))
	p.until("no dialog "+id, fmt.Sprintf("!document.getElementById(%q).open", id))
	p.focused(button)
}

// rows waits for the lines of a list in a dialog.
func (p *tab) rows(list, want string) {
	p.t.Helper()
	p.until(want+" in "+list, fmt.Sprintf(`[...document.querySelectorAll("#%s li")].map((e) =>
		e.innerText.trim().replace(/\s+/g, " ")).join("; ") === %q`, list, want))
}

// refused waits for a dialog to tell what went wrong.
func (p *tab) refused(dialog, why string) {
	p.t.Helper()
	p.until(why, fmt.Sprintf("document.querySelector('#%s .message').textContent === %q", dialog, why))
}

// Somebody registers, makes a group, changes its members and leaves it; has contacts, names and blocks them;
// changes the password and logs out everywhere.
func contactsGroupsAccount(t *testing.T, s *talker) {
	p := open(t, s.Address, "chat")
	p.js(axe)
	p.register("carla")
	p.live()

	p.click("#open-contacts")
	p.focused("contacts-title")
	p.fill("contact-add-name", "nobody at all")
	p.run(chromedp.KeyEvent("\r"))
	p.refused("contacts", "Nobody has this name.")
	for _, name := range []string{"user11", "user12"} {
		p.fill("contact-add-name", name)
		p.click("#contact-add button")
	}
	p.rows("contact-list", "user11; user12")
	p.look("contacts")
	p.click(`#contact-list [data-user="12"]`)
	p.fill("contact-nickname", "Twelve")
	p.click("#contact-rename button")
	p.rows("contact-list", "Twelve; user11")
	p.click(`#contact-list [data-user="11"]`)
	p.click("#contact-blocked")
	p.rows("contact-list", "Twelve; user11 blocked")
	p.look("contact")
	p.run(chromedp.KeyEvent("\x1b"))
	p.until("the list below", `document.activeElement.dataset.user === "11"`)
	p.closes("contacts", "open-contacts")
	eleven := s.client(t)
	testkit.Must(t, eleven.LoginUser(11))
	if err := eleven.Call("POST", "/threads", `{"participants":["carla"]}`, nil); err == nil {
		t.Error("a blocked user writes")
	}
	p.click("#open-contacts")
	p.click(`#contact-list [data-user="11"]`)
	p.click("#contact-remove")
	p.confirm()
	p.rows("contact-list", "Twelve")
	p.run(chromedp.KeyEvent("\x1b"))

	p.click("#new-group")
	p.click(`#group-list input[value="12"]`)
	p.fill("group-add-name", "user13")
	p.click("#group-add button")
	p.untilText("group-make", "Start with 2 others")
	p.look("group")
	p.click("#group-make")
	p.untilText("thread-name", "Twelve, user13")
	p.untilText("thread-status", "3 members")
	p.focused("content")

	p.click("#thread-settings summary")
	p.click("#thread-people")
	p.rows("member-list", "carla (you) owner; Twelve Make owner Remove; user13 Make owner Remove")
	p.fill("member-add-name", "user14")
	p.click("#member-add button")
	p.rows("member-list", "carla (you) owner; Twelve Make owner Remove; user13 Make owner Remove; "+
		"user14 Make owner Remove")
	p.click(`[data-promote="13"]`)
	p.click(`[data-remove="14"]`)
	p.look("confirm")
	p.confirm()
	p.rows("member-list", "carla (you) owner; user13 owner Remove; Twelve Make owner Remove")
	p.look("members")
	thirteen := s.client(t)
	testkit.Must(t, thirteen.LoginUser(13))
	thread := "/threads/" + p.js(`const { talk } = await import("/web/talk.js"); return talk.open.thread_id`)
	testkit.Must(t, thirteen.Call("DELETE", thread+"/members/12", "", nil))
	p.rows("member-list", "carla (you) owner; user13 owner Remove") // without a touch
	p.click("#member-leave")
	p.confirm()
	p.rows("threads", "Sale room")

	s.account(t, p)
}

// register registers by the form.
func (p *tab) register(name string) {
	p.t.Helper()
	p.click("#chat-register")
	p.fill("register-name", name)
	p.fill("register-password", "a long password")
	p.click("#register-form .primary")
	p.untilText("account", name)
}

// account changes the password of carla and ends all her sessions.
func (s *talker) account(t *testing.T, p *tab) {
	p.click("#account")
	p.focused("own-title")
	p.look("account")
	change := func(old, fresh string) {
		p.fill("password-old", old)
		p.fill("password-new", fresh)
		p.click("#password-form button")
	}
	change("a wrong password", "another password")
	p.refused("own", "Name or password is wrong.")
	before := p.js(`const { session } = await import("/web/api.js"); return session.token`)
	change("a long password", "another password")
	p.until("no dialog", `!document.getElementById("own").open`)
	p.untilText("account", "carla")
	old := s.client(t)
	old.Token = before
	testkit.Until(t, "end of the token", func() bool { return old.Call("GET", "/threads", "", nil) != nil })
	p.live()

	p.click("#account")
	p.click("#end-sessions")
	p.confirm()
	p.until("a visitor", `!document.getElementById("chat-welcome").hidden &&
		!document.getElementById("own").open`)
	p.logIn("carla", "another password")
	p.live()
	p.click("#log-out")

	p.logIn("user9", "pass9") // whose password is the catalogue's
	p.click("#account")
	p.focused("own-title")
	p.untilText("password-fixed", "cannot be changed here")
	p.closes("own", "account")
}

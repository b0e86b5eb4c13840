//go:build !race

package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
)

// englishWords lists what people see, or hear from a screen reader, that has a word in Latin letters. Names
// may have them, and what is written the same in Chinese, as the routes of the API.
const englishWords = `
	const names = /flashsale|English|API|JavaScript|Redis|QR|root|CSV|JSON|TOTP|UTC|p50|p99|ms\b|user\d+/gi;
	const routes = /[A-Z]+ \/[\w\/:.-]*/g;
	const own = "#receipt-id, #buy-message, #cart-toggle, #messages p, code, datalist, option[value^=call]";
	const seen = new Set();
	const look = (element, text) => {
		const rest = text?.replace(routes, "").replace(names, "").replace(/[a-z0-9]{8}(-\d+)?/g, "") ?? "";
		const isSeen = element.checkVisibility({ visibilityProperty: true }) && !element.closest(own);
		if (/[A-Za-z]{2}/.test(rest) && isSeen) seen.add(text.trim());
	};
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node = texts.nextNode(); node; node = texts.nextNode()) look(node.parentElement, node.data);
	for (const element of document.body.querySelectorAll("*"))
		for (const name of ["ariaLabel", "placeholder", "title"]) look(element, element[name]);
	return [...seen].join("\n");`

// Where the page speaks Chinese no English word is left in any view and dialog, and axe-core finds no fault.
func TestChinese(t *testing.T) {
	t.Parallel()
	s := newTalker(t, nil, "-limits", "off")
	s.conversation(t, 1)
	p := open(t, s.Address, "buy")
	p.js(`document.getElementById("language").click()`) // it loads the page again
	p.until("Chinese", `document.documentElement?.lang === "zh"`)
	p.js(axe)
	look := func(what string) {
		t.Helper()
		if words := p.js(englishWords); words != "" {
			t.Errorf("%s has English words:\n%s", what, words)
		}
		for _, scheme := range []string{"light", "dark"} {
			p.run(prefer(scheme), chromedp.EmulateViewport(320, 640))
			p.accessible(fmt.Sprint(what, " in Chinese, ", scheme))
			if wide := p.js(tooWide); wide != "" {
				t.Errorf("in Chinese %s is wider than its screen or dialog:\n%s", what, wide)
			}
		}
		p.shoot(what)
	}
	p.untilText("foods", "香辣水饺")
	look("buy")
	p.click("#log-in")
	look("login")
	p.click("#login-register")
	look("register")
	p.click("#register-form .primary")
	p.click("#register-form .buttons button:not(.primary)")
	p.view("chat")
	look("visitor")
	p.view("buy")
	p.logIn("user9", "pass9")
	p.click(`#foods li[data-food="4"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × ")
	look("cart")
	p.click("#order:not(:disabled)")
	p.untilText("receipt-time", "下单时间")
	look("receipt")
	p.click("#receipt-done")
	look("ordered")

	p.view("chat")
	p.live()
	look("chat")
	p.choose("user3")
	p.past("message 1")
	p.click("#thread-settings summary")
	look("thread")
	p.click("#thread-people")
	look("contact")
	p.run(chromedp.KeyEvent("\x1b"))
	p.view("chat")
	p.click("#thread-back")
	p.click("#open-contacts")
	p.fill("contact-add-name", "nobody at all")
	p.run(chromedp.KeyEvent("\r"))
	p.refused("contacts", "没有此用户。")
	look("contacts")
	p.run(chromedp.KeyEvent("\x1b"))
	p.click("#new-group")
	p.click(`#group-list input[value="3"]`)
	look("group")
	p.click("#group-make")
	p.untilText("thread-status", "2 位成员")
	p.click("#thread-settings summary")
	p.click("#thread-people")
	p.until("the members", `document.querySelectorAll("#member-list li").length === 2`)
	look("members")
	p.click("#member-leave")
	look("confirm")
	p.click("#confirm button[value=no]")
	p.run(chromedp.KeyEvent("\x1b"))

	p.click("#log-out")
	c := s.client(t)
	testkit.Must(t, c.LoginUser(3))
	s.say(t, c, "/rooms/sale", "你好")
	p.logIn("root", rootPassword)
	p.choose("抢购聊天室")
	p.click("[data-moderate]")
	look("moderate")
	p.run(chromedp.KeyEvent("\x1b"))
	for _, view := range []string{"live", "operate", "orders", "traffic"} {
		p.view(view)
		look(view)
	}
}

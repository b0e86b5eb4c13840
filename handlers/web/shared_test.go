//go:build !race

package web_test

import (
	"flashsale/internal/testkit"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Tests of the page that do not get in each other's way share a server;
// each user orders in one of them only.
func TestPage(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4, 10)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *shop)
	}{{"modules", modules}, {"pace", paceIsKeptBySeconds}, {"repeat", orderIsRepeated},
		{"taps", tapsAreKept}, {"cart", orderIsWhatIsShown}, {"refusals", refusalsInWords}, {"ends", loginsEnd},
		{"sessions", sessionsEnd},
		{"theme", themeIsChosen}, {"figures", figuresFit}, {"keyboard", keyboard},
		{"visitor", visitorBuys}, {"forgotten tap", tapIsForgotten}, {"few keys", fewKeys},
		{"rest", restIsOrdered}, {"language", languageIsChosen}, {"size", pageIsSmall},
		{"no chat", chatIsOff}, {"docs", docsAreAccessible}} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// An order that gets a 503, though it was placed, is asked for again under the same key. Once it is placed
// it is shown: also where its details cannot be read, and where an answer of before comes later. What is
// read for a login that is gone is not shown.
func orderIsRepeated(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.logIn("user9", "pass9")
	p.click(`#foods li[data-food="1"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × Spicy noodles")
	p.js(`const send = window.fetch; window.keys = [];
		window.fetch = async (path, options) => {
			const reply = await send(path, options);
			if (path.startsWith("/orders?") && options.method === "GET") return window.read(reply);
			if (path !== "/orders?details=1" || options.method !== "POST") return reply;
			window.keys.push(options.headers["Idempotency-Key"]);
			if (window.keys.length === 1) throw new TypeError("no answer");
			return window.keys.length === 2 ? window.busy() : reply;
		};
		window.busy = () => new Response('{"code":"SERVICE_UNAVAILABLE","message":"服务繁忙"}', { status: 503 });
		window.hold = async (reply) => {
			const list = await reply.json();
			await new Promise((go) => { window.go = go; });
			return { ok: true, status: 200, json: async () => { window.taken = true; return list; } };
		};
		window.read = hold;`)
	p.view("live")
	p.view("buy")
	p.until("the question of before the order", "Boolean(window.go)")
	p.js(`window.read = busy;`)
	p.click("#order:not(:disabled)")
	number := s.Sale(t) + "-9"
	p.untilText("buy-message", "Your order is placed. Its number is "+number)
	p.untilText("receipt-id", number)
	p.untilText("receipt-items", "1 × Spicy noodles")
	p.js(`go();`)
	p.until("the answer of before the order", "Boolean(window.taken)")
	const shown = `await new Promise((done) => { setTimeout(done); });
		return [document.getElementById("receipt").open, document.getElementById("receipt-time").textContent,
			document.getElementById("buy-message").dataset.kind].join()`
	if got := p.js(shown); got != "true,,good" {
		t.Errorf("a receipt without details is %s", got)
	}
	p.js(`taken = go = null; window.read = hold;`)
	p.until("another question", "Boolean(window.go)")
	p.js(`window.read = (reply) => reply;`)
	p.click("#receipt-done")
	p.click("#log-out")
	p.js(`go();`)
	p.until("an answer after logging out", "Boolean(window.taken)")
	if got := p.js(shown); got != "false,," {
		t.Errorf("a receipt after logging out is %s", got)
	}
	p.logIn("user9", "pass9")
	p.untilText("receipt-time", "Placed ")
	keys := strings.Split(p.js("return window.keys"), ",")
	if slices.Sort(keys); len(keys) != 3 || len(keys[0]) != 32 || keys[0] != keys[2] {
		t.Errorf("keys %q, want one key three times", keys)
	}
}

// Taps that come faster than the server answers count at once, and all of them are sent. One that is refused
// takes those after it away, and the order of the cart that was shown.
func tapsAreKept(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.logIn("user8", "pass8")
	p.until("foods", `document.querySelectorAll("#foods li").length === 4`)
	p.js(`const send = window.fetch; window.slow = true;
		window.fetch = async (path, options) => {
			if (options.method === "PATCH" && window.slow) await new Promise((go) => { window.go = go; });
			if (options.method === "PATCH" && window.refuse)
				return new Response('{"code":"FOOD_NOT_FOUND","message":"食物不存在"}', { status: 404 });
			const reply = await send(path, options);
			if (options.method === "PATCH") window.sent.push(reply.status);
			return reply;
		};
		window.sent = [];
		window.tap = (food, count) => document.querySelector(
			'#foods li[data-food="' + food + '"] button[data-count="' + count + '"]').click();`)
	if shown := p.js(`tap(1, 1); tap(1, 1); tap(3, 1); tap(3, 1);
		return document.getElementById("cart-items").textContent`); !strings.Contains(shown,
		"2 × Spicy noodles") || !strings.Contains(shown, "1 × Spicy fried rice") {
		t.Errorf("after four taps the cart shows %q", shown)
	}
	p.untilText("buy-message", "A cart holds at most three pieces.")
	p.until("the first change", "Boolean(window.go)")
	p.js(`slow = false; go(); tap(3, -1);`)
	p.until("what the server has", `import("/web/api.js").then((m) => sent.join() === "204,204,204,204" &&
		JSON.stringify(m.session.items) === '[{"food":1,"count":2}]')`)

	p.js(`slow = true; refuse = true; go = null; tap(2, 1); document.getElementById("order").click();`)
	p.until("the change that will fail", "Boolean(window.go)")
	p.js(`go();`)
	p.untilText("buy-message", "There is no such food.")
	p.until("the cart of before", `document.getElementById("cart-items").children.length === 1 &&
		!document.getElementById("order").disabled && document.getElementById("ordered").hidden`)
	p.js(`slow = false; refuse = false; tap(2, 1); document.getElementById("order").click();`)
	p.untilText("receipt-id", s.Sale(t)+"-8")
	p.untilText("receipt-items", "2 × Spicy noodles")
	p.untilText("receipt-items", "1 × Spicy dumplings")
}

// What a person does wrong is told in words, and a wrong password is not kept in the form.
func refusalsInWords(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.until("the sale", `Boolean(document.body.dataset.sale)`)
	p.js(`const send = window.fetch; window.asked = [];
		window.fetch = async (path, options) => {
			asked.push(path);
			return send(path, options);
		};`)
	p.click("#log-in")
	p.fill("login-name", "user4")
	p.fill("login-password", "wrong")
	p.click("#login-form .primary")
	p.until("the refusal in English", `document.getElementById("login-message").textContent ===
		"Name or password is wrong."`)
	if kept := p.js(`return document.getElementById("login-password").value.length`); kept != "0" {
		t.Errorf("the password field has %s characters", kept)
	}
	p.fill("login-password", "pass4")
	p.click("#login-form .primary")
	p.click(`#foods li[data-food="4"] button[data-count="1"]`)
	p.until("a cart that is kept", `sessionStorage.getItem("buyer").includes('"count":1')`)
	if n := p.js(`return asked.filter((path) => path === "/orders?details=1").length`); n != "1" {
		t.Errorf("a login reads the orders %s times", n)
	}
	p.run(chromedp.Reload())
	p.untilText("cart-items", "1 × Spicy tofu") // a buyer's login and cart outlive a reload
	p.click("#log-out")
	p.until("the form of a visitor", `document.getElementById("cart").hidden`)
	if stored := p.js("return sessionStorage.length + document.cookie.length"); stored != "0" {
		t.Errorf("%s things are stored after logging out", stored)
	}
	p.logIn("root", rootPassword)
	if stored := p.js("return sessionStorage.length + document.cookie.length"); stored != "0" {
		t.Errorf("%s things are stored for root", stored)
	}
}

// Logging out ends the session for everybody, and nothing else; the end of all ends those of other tabs too.
func sessionsEnd(t *testing.T, s *shop) {
	p, other := open(t, s.Address, "buy"), open(t, s.Address, "buy")
	const token = `return (await import("/web/api.js")).session.token`
	status := func(token string) string {
		return p.js(fmt.Sprintf(`return (await fetch("/orders", { headers: { "Access-Token": %q } })).status`,
			token))
	}
	other.logIn("user18", "pass18")
	p.logIn("user18", "pass18")
	before := p.js(token)
	p.click("#log-out")
	p.until("the form of a visitor", `document.getElementById("cart").hidden`)
	testkit.Until(t, "end of the token", func() bool { return status(before) == "401" })
	if got := status(other.js(token)); got != "200" {
		t.Errorf("the other session: %s", got)
	}
	p.logIn("user18", "pass18")
	p.click("#account")
	p.focused("own-title")
	p.untilText("password-fixed", "cannot be changed here")
	p.js(axe)
	p.look("sessions")
	p.click("#end-sessions")
	p.confirm()
	p.until("the form of a visitor", `document.getElementById("cart").hidden &&
		!document.getElementById("own").open`)
	other.click(`#foods li[data-food="4"] button[data-count="1"]`)
	other.untilText("ended", "Your login has expired. Log in again.")
	p.logIn("user18", "pass18")
	if got := status(p.js(token)); got != "200" {
		t.Errorf("a login after that: %s", got)
	}
}

// A login that ends by itself is explained wherever the person is then. What it began tells nothing more.
func loginsEnd(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.js(`const send = window.fetch;
		window.fetch = async (path, options) => window.answer?.(path, options) ?? send(path, options);`)
	p.logIn("user6", "pass6")
	p.js(`window.answer = (path, options) => options.method === "PATCH" ? new Promise((_, fail) => {
		window.cut = () => fail(new TypeError("no answer")); }) : undefined;`)
	p.click(`#foods li[data-food="4"] button[data-count="1"]`)
	p.until("a change", "Boolean(window.cut)")
	p.click("#log-out")
	const told = `await new Promise((done) => { setTimeout(done); });
		return document.getElementById("buy-message").textContent +
			document.getElementById("operate-message").textContent`
	if text := p.js("cut(); " + told); text != "" {
		t.Errorf("after logging out the page tells %q", text)
	}
	const expires = `window.answer = (path) => path.startsWith("%s") ?
		new Response('{"code":"INVALID_ACCESS_TOKEN","message":"无效的令牌"}', { status: 401 }) : undefined;`
	expired := func() {
		t.Helper()
		p.until("the reason", `!document.getElementById("ended").hidden`)
		p.untilText("ended", "Your login has expired. Log in again.")
		if text := p.js("answer = undefined; " + told); text != "" {
			t.Errorf("after the login has expired the hidden views tell %q", text)
		}
	}
	p.logIn("user6", "pass6")
	p.js(fmt.Sprintf(expires, "/carts"))
	p.click(`#foods li[data-food="4"] button[data-count="1"]`)
	expired()
	p.logIn("root", rootPassword)
	p.until("no reason", `document.getElementById("ended").hidden`)
	p.until("the log", `document.querySelectorAll("#log tbody tr").length > 0`)
	p.js(fmt.Sprintf(expires, "/admin"))
	p.click("#log-again")
	expired()
}

// The theme that a person chooses wins over that of the system, and stays.
func themeIsChosen(t *testing.T, s *shop) {
	p := open(t, s.Address, "live", prefer("light"))
	background := "return getComputedStyle(document.body).backgroundColor"
	light := p.js(background)
	p.click("#theme")
	p.untilText("theme-name", "light")
	p.click("#theme")
	p.untilText("theme-name", "dark")
	dark := p.js(background)
	p.run(chromedp.Reload())
	p.untilText("theme-name", "dark")
	if again := p.js(background); light == dark || again != dark {
		t.Errorf("background %s, dark %s, after a reload %s", light, dark, again)
	}
}

// Figures of any length stay within their boxes.
func figuresFit(t *testing.T, s *shop) {
	p := open(t, s.Address, "live")
	p.until("the sale", `document.getElementById("left").textContent !== "–"`)
	for _, width := range []int64{390, 760, 1000, 1280, 1360, 1920} {
		p.run(chromedp.EmulateViewport(width, 900))
		wide := p.js(`const { known, take } = await import("/web/store.js");
			const tell = (event, data) => take({ event, data: JSON.stringify(data) });
			tell("sale", { ...known.sale, pieces_left: 98765432, pieces_sold: 1000000, orders: 100000 });
			tell("stock", { left: [1000, 10000, 100000, 0] });
			tell("pace", { t: Math.floor(Date.now() / 1000) + 1, orders: 123456, refused: {},
				servers: 1, servers_of: 1, p99_1s_ms: 0,
				p50_ms: 4900, p99_ms: 9999,
				connections: 100000, redis: "away", ledger_lag: 1000000 });
			await new Promise(requestAnimationFrame);
			const shown = [...document.querySelectorAll(".tile dd, .cells b")].filter((e) => e.checkVisibility());
			return shown.filter((e) => {
				const text = document.createRange();
				text.selectNodeContents(e);
				const box = e.parentElement, pad = parseFloat(getComputedStyle(box).paddingRight);
				return text.getBoundingClientRect().right > box.getBoundingClientRect().right - pad + 1;
			}).map((e) => e.textContent);`)
		if wide != "" {
			t.Errorf("at %d pixels these figures are wider than their boxes: %s", width, wide)
		}
	}
	p.shoot("wall")
	p.view("buy")
	for _, width := range []int64{320, 390, 1280} {
		p.run(chromedp.EmulateViewport(width, 900))
		out := p.js(`const card = document.querySelector("#foods li"), box = card.getBoundingClientRect();
			card.querySelector("h2").textContent = "Sonnenblumenkernbrötchenschokoladenkuchen";
			card.querySelector(".price b").textContent = "€1,234,567.89";
			const right = (e) => {
				const text = document.createRange();
				text.selectNodeContents(e);
				return text.getBoundingClientRect().right;
			};
			return [...card.querySelectorAll("h2, .price b, [data-count='1']")]
				.filter((e) => right(e) > box.right || e.getBoundingClientRect().right > box.right)
				.map((e) => e.textContent).join();`)
		if out != "" {
			t.Errorf("at %d pixels these are not within their card: %s", width, out)
		}
	}
}

// A keyboard is enough: the first keys skip the header, and a dialog gives the focus back.
func keyboard(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.run(chromedp.KeyEvent("\t"))
	if at := p.js("return document.activeElement.className"); at != "skip" {
		t.Errorf("the first focus is on %q", at)
	}
	p.run(chromedp.KeyEvent("\r"))
	p.until("the focus on the content", `document.activeElement.id === "main"`)
	if view := p.js(`return document.body.dataset.view`); view != "buy" {
		t.Errorf("skipping the header leads to the view %q", view)
	}
	p.run(chromedp.Focus(chromedp.CSS("#log-in")), chromedp.KeyEvent("\r"))
	p.until("the dialog", `document.activeElement.id === "login-name"`)
	p.run(chromedp.KeyEvent("user5\tpass5\r"))
	p.untilText("account", "user5")
	p.until("foods", `document.querySelectorAll("#foods li").length === 4`)
	more := chromedp.CSS(`#foods li[data-food="2"] button[data-count="1"]`)
	p.run(chromedp.Focus(more), chromedp.KeyEvent(" "))
	p.untilText("cart-items", "1 × Spicy dumplings")
	p.run(chromedp.KeyEvent(" ")) // the focus is still there
	p.untilText("cart-items", "2 × Spicy dumplings")
	p.until("what a screen reader says", `document.getElementById("announcer").textContent ===
		"2 of 3 pieces in the cart"`)
	p.run(chromedp.Focus(chromedp.CSS("#order")), chromedp.KeyEvent("\r"))
	p.untilText("receipt-id", s.Sale(t)+"-5")
}

//go:build !race

package web_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
)

// Times of the keystroke-level model (Card, Moran and Newell, 1980), in seconds, for somebody who types
// slowly: to point at a thing, to press a key, and to think before each step.
const pointing, pressing, thinking = 1.1, 0.5, 1.35

// Who sees the shop for the first time taps a food, logs in and orders in less than 20 s.
func visitorBuys(t *testing.T, s *shop) {
	p := open(t, s.Address, "")
	p.until("the shop", `document.body.dataset.view === "buy"`)
	seconds := 0.0
	tap := func(selector string) {
		t.Helper()
		p.click(selector)
		seconds += thinking + pointing
	}
	tap(`#foods li[data-food="4"] button[data-count="1"]`)
	for _, keys := range []string{"user31\t", "pass31\r"} { // the form has the focus
		p.run(chromedp.KeyEvent(keys))
		seconds += thinking + pressing*float64(len(keys))
	}
	p.untilText("cart-items", "1 × Spicy tofu")
	tap("#order:not(:disabled)")
	p.untilText("receipt-id", s.Sale(t)+"-31")
	if seconds > 20 {
		t.Errorf("the steps to an order take about %.0f s", seconds)
	}
	t.Logf("the steps to an order take about %.0f s", seconds)
	p.until("the receipt's QR code", `document.getElementById("receipt-code").width ===
		document.getElementById("receipt-code").height`) // it is wide before
	dark := p.js(`const c = document.getElementById("receipt-code"), d = c.getContext("2d")
		.getImageData(0, 0, c.width, c.height).data;
		return d.filter((v, i) => i % 4 === 3 && v === 255).length > c.width * c.height / 5;`)
	if dark != "true" {
		t.Error("the receipt has no QR code")
	}
	p.click("#receipt-done")
	p.until("the focus at the receipt's button", `document.activeElement.id === "receipt-open"`)
}

// The tap of a visitor who does not log in then is forgotten.
func tapIsForgotten(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.click(`#foods li[data-food="4"] button[data-count="1"]`)
	p.click("#login-cancel")
	p.logIn("user35", "pass35")
	p.until("an empty cart", `document.getElementById("cart-empty").checkVisibility()`)
	if text := p.js(`return document.getElementById("cart-items").textContent`); text != "" {
		t.Errorf("the cart holds %q", text)
	}
}

// From the first food to the order the keyboard needs few keys, and the focus never falls to the body.
func fewKeys(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.logIn("user32", "pass32")
	p.until("foods", `document.querySelectorAll("#foods li").length === 4`)
	first := chromedp.CSS(`#foods li[data-food="1"] button[data-count="1"]`)
	p.run(chromedp.Focus(first), chromedp.KeyEvent(" "))
	p.untilText("cart-items", "1 × Spicy noodles")
	p.until("a button that orders", `!document.getElementById("order").disabled`)
	keys := 1
	for ; p.js(`return document.activeElement.id`) != "order"; keys++ {
		if keys == 14 || p.js(`return document.activeElement === document.body`) == "true" {
			t.Fatalf("after %d keys the focus is on %s", keys, p.js(`return document.activeElement.outerHTML`))
		}
		p.run(chromedp.KeyEvent("\t", chromedp.KeyModifiers(shift)))
	}
	p.run(chromedp.KeyEvent("\r"))
	p.untilText("receipt-id", s.Sale(t)+"-32")
}

// shift is the modifier of the DevTools protocol.
const shift = 8

// A refused order names what lacks, and the rest is ordered with one tap. Who logs in again after the login
// has expired finds the cart.
func restIsOrdered(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.logIn("user33", "pass33")
	p.click(`#foods li[data-food="1"] button[data-count="1"]`)
	p.click(`#foods li[data-food="2"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × Spicy dumplings")
	p.until("a cart that is kept", `(sessionStorage.getItem("buyer").match(/"count":1/g) ?? []).length === 2`)
	p.js(`const { logOut } = await import("/web/api.js"); logOut("expired");`)
	p.untilText("ended", "Your login has expired")
	p.logIn("user33", "pass33")
	p.untilText("cart-items", "1 × Spicy dumplings")

	root := s.client(t)
	testkit.Must(t, root.Login("root", rootPassword))
	foods, err := root.Foods()
	testkit.Must(t, err)
	take := func(pieces int) {
		t.Helper()
		body := `{"add":` + strconv.Itoa(pieces) + `}`
		testkit.Must(t, root.Call("POST", "/admin/foods/2/stock", body, nil))
	}
	take(-foods[1].Stock)
	defer take(foods[1].Stock) // for the tests that follow
	p.click("#order:not(:disabled)")
	p.untilText("buy-message", "Not enough left: Spicy dumplings.")
	p.click("#buy-message button")
	p.untilText("receipt-id", s.Sale(t)+"-33")
	if items := p.js(`return document.getElementById("receipt-items").textContent`); !strings.HasPrefix(items,
		"1 × Spicy noodles") || strings.Contains(items, "dumplings") {
		t.Errorf("the receipt shows %q", items)
	}
}

// The shop speaks the language that is chosen, and finds foods by their names in it.
func languageIsChosen(t *testing.T, s *shop) {
	p := open(t, s.Address, "buy")
	p.js(`document.getElementById("language").click()`) // it loads the page again
	p.until("Chinese", `document.documentElement?.lang === "zh"`)
	p.untilText("buy-title", "限时抢购")
	p.untilText("buy-state", "抢购进行中")
	p.fill("food-filter", "水饺")
	p.until("one food", `[...document.querySelectorAll("#foods li")].filter((e) => !e.hidden).length === 1`)
	p.untilText("foods", "香辣水饺")
	p.js(`window.fetch = () => Promise.resolve(new Response('{"code":"USER_AUTH_FAIL","message":"x"}',
		{ status: 403 }));`)
	p.click("#log-in")
	p.fill("login-name", "x")
	p.fill("login-password", "x")
	p.click("#login-form .primary")
	p.untilText("login-message", "用户名或密码错误。")
	p.run(chromedp.EmulateViewport(320, 640))
	if wide := p.js("return document.documentElement.scrollWidth - innerWidth"); wide > "0" {
		t.Errorf("in Chinese the shop is %s pixels wider than a small screen", wide)
	}
}

// An open page holds what a phone can load quickly: so many bytes, compressed and without pictures.
func pageIsSmall(t *testing.T, s *shop) {
	const most = 150_000
	p := open(t, s.Address, "buy")
	p.until("foods", `document.querySelectorAll("#foods li").length === 4`)
	size := eval[int](p, `["resource", "navigation"].flatMap((type) => performance.getEntriesByType(type))
		.filter((e) => !e.name.includes("/images/")).reduce((sum, e) => sum + e.encodedBodySize, 0)`)
	if size == 0 || size > most {
		t.Errorf("the first view has %d bytes, want at most %d", size, most)
	}
	t.Logf("the first view has %d bytes", size)
}

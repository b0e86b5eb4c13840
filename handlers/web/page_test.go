//go:build !race

package web_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// A bench runs: the grid drains to the true stock, the curve moves, and the figures are those of the sale.
// Then root reads the orders.
func TestBenchOnPage(t *testing.T) {
	t.Parallel()
	const foods, stock, orders = 40, 100, 1200
	s := newShop(t, foods, stock)
	p := open(t, s.Address, "live")
	p.until("a full grid", fmt.Sprintf("document.querySelectorAll('#stock li[data-left=\"%d\"]').length === %d",
		stock, foods))
	sold := s.bench(t, orders, foods, stock)
	left := s.stock(t, foods*stock-sold)
	text, err := json.Marshal(left)
	testkit.Must(t, err)
	p.until("the true stock in the grid", fmt.Sprintf(
		`JSON.stringify([...document.querySelectorAll("#stock li")].map((e) => Number(e.dataset.left))) === %q`,
		text))
	p.until("all orders in the curve", fmt.Sprintf(`import("/web/store.js").then((m) =>
		m.known.curve.points.reduce((a, b) => a + b.orders, 0) >= %d)`, orders))
	p.untilText("orders", "1,200")
	p.untilText("sold", p.js(fmt.Sprintf("return (%d).toLocaleString('en-GB')", sold)))
	drawn := eval[bool](p, `(() => { const c = document.querySelector("#pace-chart canvas");
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const colours = new Set();
		for (let i = 0; i < d.length; i += 4)
			if (d[i + 3] > 200) colours.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
		return colours.has(0x3346c4); })()`)
	if !drawn {
		t.Error("the curve is not drawn in the accent's colour")
	}
	p.shoot("desktop")
	p.run(chromedp.EmulateViewport(1920, 1080))
	p.shoot("wall")
	p.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	p.shoot("phone")
	p.run(chromedp.EmulateViewport(1360, 900))
	s.rootReads(t, p, orders)
}

// A buyer fills a cart while the page counts down; the sale opens, and the buyer orders without a reload.
func TestSaleOpensOnPage(t *testing.T) {
	t.Parallel()
	const name = `Tom & Huang's <i>Dumplings</i>`
	s := newShop(t, 12, 50, branded(t, name)...)
	root := open(t, s.Address, "live", timeZone("Europe/Berlin"))
	root.logIn("root", rootPassword)
	s.closesAlone(t, root)
	root.setTime("opens-at", root.js(`const { localInput } = await import("/web/format.js");
		return localInput(new Date(Date.now() + 3500000).toISOString());`))
	root.click("#times .primary")
	root.confirm()
	root.untilText("operate-message", "The times are set")
	root.shoot("operate")

	p := open(t, s.Address, "live")
	p.js(`window.time = Date.now; Date.now = () => time() + 3600000;`) // a machine with a clock that is wrong
	p.untilText("headline", "Opens in")
	p.untilText("countdown", "5")
	p.named(name, ".brand")
	p.shoot("countdown")
	p.logIn("user7", "pass7")
	p.click(`#foods li[data-food="3"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × Spicy fried rice")
	p.click(`#foods li[data-food="3"] button[data-count="1"]`)
	p.untilText("cart-items", "2 × Spicy fried rice")
	p.click(`#foods li[data-food="5"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × Spicy prawns")
	p.click(`#foods li[data-food="3"] button[data-count="-1"]`)
	p.untilText("cart-items", "1 × Spicy fried rice")
	p.until("a button that counts down", `(() => { const b = document.getElementById("order");
		return b.disabled && /^Opens in \d\d:\d\d$/.test(b.textContent); })()`)
	p.js(`scrollTo(0, 0)`)
	p.shoot("cart")
	p.js(`const button = document.getElementById("order");
		new MutationObserver(() => { if (!button.disabled) window.opened ??= time(); }).observe(button,
			{ attributes: true });`)
	opens := s.opensSoon(t)
	p.click("#order:not(:disabled)")
	p.untilText("receipt-id", s.Sale(t)+"-7")
	early := eval[float64](p, fmt.Sprintf("%d - opened", opens.UnixMilli()))
	if early > 1 { // a browser rounds
		t.Errorf("the button is on %v ms before the sale opens", early)
	}
	if focus := p.js("return document.activeElement.id"); focus != "receipt-done" {
		t.Errorf("after the order the focus is on %q", focus)
	}
	p.untilText("buy-message", "Your order is placed")
	p.named(name, "#receipt .shop-name")
	p.shoot("receipt")
	p.click("#receipt-done")
	p.js(`location.hash = "#wall"`)
	p.named(name, ".hero .shop-name")
	c := s.client(t)
	testkit.Must(t, c.LoginUser(7))
	reply, err := c.Do("GET", "/orders?details=1", "")
	testkit.Must(t, err)
	var list []struct {
		Items  []client.Item
		Placed time.Time `json:"placed_at"`
	}
	testkit.Must(t, json.Unmarshal([]byte(reply.Body), &list))
	if len(list) != 1 || fmt.Sprint(list[0].Items) != "[{3 1} {5 1}]" || list[0].Placed.Before(opens) {
		t.Errorf("the order is %s, the sale opened at %v", reply.Body, opens)
	}
}

// named waits until the title has the name of the shop, and this element both that and the logo.
func (p *tab) named(name, selector string) {
	p.t.Helper()
	p.until("the shop in "+selector, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q), logo = e.querySelector("img");
		return document.title.endsWith(" · " + %[2]q) && e.textContent.trim() === %[2]q &&
			logo.checkVisibility() && logo.naturalWidth === 320 && Math.abs(logo.width - logo.height) < 1;
		})()`, selector, name))
}

// closesAlone has root set the closing time of a sale that opens in the night in which the clocks go back,
// at half past two for the second time. The opening time stays as it is.
func (s *shop) closesAlone(t *testing.T, root *tab) {
	t.Helper()
	const opens = "2040-10-28T01:30:00.437Z"
	c := s.client(t)
	testkit.Must(t, c.Login("root", rootPassword))
	reply, err := c.Do("PUT", "/admin/sale", fmt.Sprintf(`{"state":"scheduled","opens_at":%q}`, opens))
	if err != nil || reply.Status != 200 {
		t.Fatalf("times: %v %v", reply, err)
	}
	root.until("the opening time", `document.getElementById("opens-at").value === "2040-10-28T02:30"`)
	root.setTime("closes-at", "2040-10-29T10:00:05")
	root.click("#times .primary")
	root.confirm()
	root.untilText("operate-message", "The times are set")
	times := root.js(`const { known } = await import("/web/store.js");
		return [known.sale.opens_at, known.sale.closes_at]`)
	if want := opens + ",2040-10-29T09:00:05.000Z"; times != want {
		t.Errorf("the times are %s, want %s", times, want)
	}
	root.setTime("closes-at", "")
	root.click("#times .primary")
	root.confirm()
	root.until("no closing time", `import("/web/store.js").then((m) => m.known.sale.closes_at === null)`)
}

// opensSoon has the scheduled sale open in some seconds, and returns when.
func (s *shop) opensSoon(t *testing.T) time.Time {
	t.Helper()
	c := s.client(t)
	testkit.Must(t, c.Login("root", rootPassword))
	at := time.Now().Add(5 * time.Second).UTC().Truncate(time.Millisecond)
	reply, err := c.Do("PUT", "/admin/sale", fmt.Sprintf(`{"opens_at":%q}`, at.Format(time.RFC3339Nano)))
	if err != nil || reply.Status != 200 {
		t.Fatalf("times: %v %v", reply, err)
	}
	return at
}

// Root pauses, the buyer waits; root opens and restocks, and the buyer buys what was sold out.
func TestRootPausesAndRestocks(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4, 1)
	first := s.client(t)
	if _, err := first.Buy(2, client2()...); err != nil {
		t.Fatal(err)
	}
	p := open(t, s.Address, "buy")
	p.logIn("user3", "pass3")
	p.until("food 2 sold out",
		`document.querySelector('#foods li[data-food="2"]')?.classList.contains("gone") ?? false`)
	p.click(`#foods li[data-food="2"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × Spicy dumplings sold out")
	p.click("#order:not(:disabled)")
	p.untilText("buy-message", "Not enough left: Spicy dumplings.")

	root := open(t, s.Address, "live")
	root.logIn("root", rootPassword)
	root.run(chromedp.Focus(chromedp.CSS("#do-pause")), chromedp.KeyEvent("\r"))
	root.until("a dialog with the focus on Cancel", `document.activeElement.value === "no" &&
		document.getElementById("confirm").open`)
	root.run(chromedp.KeyEvent("\r"))
	root.until("the focus back", `document.activeElement.id === "do-pause"`)
	root.setTime("closes-at", "2040-01-01T10:00:05")
	root.click("#do-pause")
	root.confirm()
	root.untilText("operate-message", "The sale is paused")
	if typed := root.js(`return document.getElementById("closes-at").value`); typed != "2040-01-01T10:00:05" {
		t.Errorf("a pause makes %q of a time that is being typed", typed)
	}
	p.untilText("buy-state", "The sale is paused")
	p.until("a button that is off while the sale is paused",
		`document.getElementById("order").disabled && document.getElementById("order").textContent === "Paused"`)
	root.fill("restock-food", "2")
	root.fill("restock-pieces", "5")
	root.click("#restock .primary")
	root.confirm()
	root.untilText("operate-message", "Spicy dumplings: 5 left now.")
	root.click("#do-open")
	root.confirm()
	root.untilText("operate-message", "The sale is open")
	root.until("three changes in the log", `document.querySelectorAll("#log tbody tr").length >= 3`)
	root.shoot("operate")

	p.click("#order:not(:disabled)")
	p.untilText("receipt-id", s.Sale(t)+"-3")
	if left := s.stock(t, 3+4); left[1] != 4 {
		t.Errorf("stock %v, want 4 of food 2", left)
	}
}

package web_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/stand"
)

// A bench runs: the grid drains to the true stock, the curve moves, and the figures are those of the sale.
func TestBenchOnPage(t *testing.T) {
	const foods, stock, orders = 40, 100, 1200
	s := newShop(t, foods, stock)
	p := newBrowser(t).open(t, s.Address, "live")
	p.until("a full grid", fmt.Sprintf("document.querySelectorAll('#stock li[data-left=\"%d\"]').length === %d",
		stock, foods))
	sold := s.bench(t, orders, foods, stock)
	left := s.stock(t, foods*stock-sold)
	text, err := json.Marshal(left)
	stand.Must(t, err)
	p.until("the true stock in the grid", fmt.Sprintf(
		`JSON.stringify([...document.querySelectorAll("#stock li")].map((e) => Number(e.dataset.left))) === %q`,
		text))
	p.until("all orders in the curve", fmt.Sprintf(`import("/web/store.js").then((m) =>
		m.known.orders.reduce((a, b) => a + b, 0) >= %d)`, orders))
	p.untilText("orders", "1,200")
	p.untilText("sold", p.js(fmt.Sprintf("return (%d).toLocaleString('en-GB')", sold)))
	drawn := eval[bool](p, `(() => { const c = document.querySelector("#pace-chart canvas");
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const colours = new Set();
		for (let i = 0; i < d.length; i += 4)
			if (d[i + 3] > 200) colours.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
		return colours.has(0xc2331a); })()`)
	if !drawn {
		t.Error("the curve is not drawn in the accent's colour")
	}
	p.shoot("desktop")
	p.run(chromedp.EmulateViewport(1920, 1080))
	p.shoot("wall")
	p.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	p.shoot("phone")
}

// A buyer fills a cart while the page counts down; the sale opens, and the buyer orders without a reload.
func TestSaleOpensOnPage(t *testing.T) {
	s := newShop(t, 12, 50)
	b := newBrowser(t)
	root := b.open(t, s.Address, "live")
	root.logIn("root", rootPassword)
	root.js(`const { localInput } = await import("/web/format.js");
		document.getElementById("opens-at").value = localInput(new Date(Date.now() + 15000).toISOString());`)
	root.click("#times .primary")
	root.confirm()
	root.untilText("operate-message", "The times are set")
	root.shoot("operate")

	p := b.open(t, s.Address, "live")
	p.untilText("headline", "Opens in")
	p.shoot("countdown")
	p.logIn("user7", "pass7")
	p.click(`#foods li[data-food="3"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × food 3")
	p.click(`#foods li[data-food="3"] button[data-count="1"]`)
	p.untilText("cart-items", "2 × food 3")
	p.click(`#foods li[data-food="5"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × food 5")
	p.click(`#foods li[data-food="3"] button[data-count="-1"]`)
	p.untilText("cart-items", "1 × food 3")
	p.until("a button that counts down", `(() => { const b = document.getElementById("order");
		return b.disabled && /^Opens in \d\d:\d\d$/.test(b.textContent); })()`)
	p.shoot("cart")
	p.click("#order:not(:disabled)")
	p.untilText("receipt-id", s.Sale(t)+"-7")
	p.untilText("buy-message", "Your order is placed")
	p.shoot("receipt")
	orders := s.client(t)
	stand.Must(t, orders.LoginUser(7))
	list, err := orders.Orders()
	stand.Must(t, err)
	if len(list) != 1 || fmt.Sprint(list[0].Items) != "[{3 1} {5 1}]" {
		t.Errorf("the order is %v", list)
	}
}

// Root pauses, the buyer waits; root opens and restocks, and the buyer buys what was sold out.
func TestRootPausesAndRestocks(t *testing.T) {
	s := newShop(t, 4, 1)
	b := newBrowser(t)
	first := s.client(t)
	if _, err := first.Buy(2, client2()...); err != nil {
		t.Fatal(err)
	}
	p := b.open(t, s.Address, "buy")
	p.logIn("user3", "pass3")
	p.until("food 2 sold out",
		`document.querySelector('#foods li[data-food="2"]')?.textContent.includes("sold out") ?? false`)
	p.click(`#foods li[data-food="2"] button[data-count="1"]`)
	p.click("#order:not(:disabled)")
	p.untilText("buy-message", "There are not enough pieces left.")
	p.untilText("buy-message", "食物库存不足")

	root := b.open(t, s.Address, "live")
	root.logIn("root", rootPassword)
	root.click("#do-pause")
	root.confirm()
	root.untilText("operate-message", "The sale is paused")
	p.until("a button that is off while the sale is paused",
		`document.getElementById("order").disabled && document.getElementById("order").textContent === "Paused"`)
	root.fill("restock-food", "2")
	root.fill("restock-pieces", "5")
	root.click("#restock .primary")
	root.confirm()
	root.untilText("operate-message", "Food 2 has 5 pieces now")
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

// An order that gets a 503, though it was placed, is asked for again under the same key.
func TestOrderIsRepeated(t *testing.T) {
	s := newShop(t, 4, 10)
	p := newBrowser(t).open(t, s.Address, "buy")
	p.logIn("user9", "pass9")
	p.click(`#foods li[data-food="1"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × food 1")
	p.js(`const send = window.fetch; window.keys = [];
		window.fetch = async (path, options) => {
			const reply = await send(path, options);
			if (path !== "/orders" || options.method !== "POST") return reply;
			window.keys.push(options.headers["Idempotency-Key"]);
			if (window.keys.length === 1) throw new TypeError("no answer");
			return window.keys.length === 2 ?
				new Response('{"code":"SERVICE_UNAVAILABLE","message":"服务繁忙"}', { status: 503 }) : reply;
		};`)
	p.click("#order:not(:disabled)")
	p.untilText("receipt-id", s.Sale(t)+"-9")
	p.untilText("buy-message", "Your order is placed")
	keys := strings.Split(p.js("return window.keys"), ",")
	if slices.Sort(keys); len(keys) != 3 || len(keys[0]) != 32 || keys[0] != keys[2] {
		t.Errorf("keys %q, want one key three times", keys)
	}
}

// What a person does wrong is told in words, and a wrong password is not kept in the form.
func TestRefusalsInWords(t *testing.T) {
	s := newShop(t, 4, 10)
	p := newBrowser(t).open(t, s.Address, "buy")
	p.click("#log-in")
	p.fill("login-name", "user4")
	p.fill("login-password", "wrong")
	p.click("#login-form .primary")
	p.untilText("login-message", "Name or password is wrong. 用户名或密码错误")
	if kept := p.js(`return document.getElementById("login-password").value.length`); kept != "0" {
		t.Errorf("the password field has %s characters", kept)
	}
	p.fill("login-password", "pass4")
	p.click("#login-form .primary")
	p.click(`#foods li[data-food="4"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × food 4")
	p.run(chromedp.Reload())
	p.untilText("cart-items", "1 × food 4") // a buyer's login and cart outlive a reload
	p.click("#log-out")
	p.until("the form of a visitor", `!document.getElementById("buy-welcome").hidden`)
	if stored := p.js("return sessionStorage.length + document.cookie.length"); stored != "0" {
		t.Errorf("%s things are stored after logging out", stored)
	}
	p.logIn("root", rootPassword)
	if stored := p.js("return sessionStorage.length + document.cookie.length"); stored != "0" {
		t.Errorf("%s things are stored for root", stored)
	}
}

// Root reads all orders by the page, finds one, and saves them as a file.
func TestRootReadsOrders(t *testing.T) {
	const foods, stock, orders = 10, 1000, 900
	s := newShop(t, foods, stock)
	s.bench(t, orders, foods, stock)
	b, folder := newBrowser(t), t.TempDir()
	p := b.open(t, s.Address, "live")
	p.run(downloads(folder))
	p.logIn("root", rootPassword)
	p.view("orders")
	p.untilText("orders-state", "900 orders")
	p.untilText("orders-page", "Page 1 of 18")
	p.click("#orders-next")
	p.untilText("orders-page", "Page 2 of 18")
	p.shoot("orders")
	p.fill("orders-find", p.js(`return document.querySelector("#orders-table tbody td.num").textContent`))
	p.untilText("orders-page", "Page 1 of 1")

	p.view("operate")
	p.click("#export-csv")
	p.untilText("export-state", "Saved")
	file := folder + "/orders-" + s.Sale(t) + ".csv"
	untilFile(t, file)
	c := s.client(t)
	stand.Must(t, c.Login("root", rootPassword))
	want, err := c.Do("GET", "/admin/orders?format=csv", "")
	if got := stand.ReadFile(t, file); err != nil || len(got) != len(want.Body) || len(got) < orders*10 {
		t.Errorf("the export has %d bytes, want %d, %v", len(got), len(want.Body), err)
	}
	p.view("traffic")
	p.until("the flushed statistics", `(() => {
		const state = document.getElementById("traffic-state").textContent;
		if (state !== "Reading…") document.getElementById("traffic-again").click();
		return state.includes("in steps of"); })()`)
	p.until("bars", `document.querySelectorAll("#traffic-table tbody tr").length > 10`)
	p.shoot("traffic")
	for _, last := range []string{"7d", "3mo", "2y"} {
		p.js(fmt.Sprintf(`document.querySelector('input[name=range][value="%s"]').click()`, last))
		p.untilText("traffic-state", "in steps of")
	}
}

//go:build !race

package web_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// sale runs flashsale sale for the shop, which must succeed.
func (s *shop) sale(t *testing.T, verb string, args ...string) {
	t.Helper()
	p := launch.Program{Path: launch.Built(t, launch.ServerSource), Args: append([]string{"sale", verb,
		"-redis", s.redis.Socket, "-users", "5000", "-foods", "4", "-stock", "10"}, args...)}.Launch(t)
	if code := p.ExitCode(t); code != 0 {
		t.Fatalf("flashsale sale %s: exit code %d\n%s", verb, code, testkit.ReadFile(t, p.Log))
	}
}

// nextSale ends the sale and opens the next one, as an operator does.
func (s *shop) nextSale(t *testing.T) {
	t.Helper()
	s.sale(t, "close")
	s.sale(t, "export", "-o", filepath.Join(t.TempDir(), "orders.csv"))
	s.sale(t, "new")
}

// Pages that stay open when the next sale begins keep nothing of the last one: no cart, no order, no
// message, no times. An answer to a question about the last sale changes nothing in the next.
func TestNextSaleOnPage(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4, 10)
	first := s.Sale(t)
	ordered, filled := open(t, s.Address, "buy"), open(t, s.Address, "buy")
	for user, p := range map[string]*tab{"5": ordered, "6": filled} {
		p.logIn("user"+user, "pass"+user)
		p.click(`#foods li[data-food="2"] button[data-count="1"]`)
		p.untilText("cart-items", "1 × Spicy dumplings")
	}
	ordered.click("#order:not(:disabled)")
	ordered.untilText("buy-message", "Your order is placed.")
	root := open(t, s.Address, "live")
	root.logIn("root", rootPassword)
	root.setTime("closes-at", "2040-01-01T10:00:00")
	root.click("#times .primary")
	root.untilText("confirm-text", "Sale "+first)
	s.sale(t, "pause")
	root.untilText("log", "The sale was paused") // what was done elsewhere is there without a touch
	times := root.js(`return document.getElementById("closes-at").value`)
	if !strings.HasPrefix(times, "2040") {
		t.Errorf("a time that is being typed becomes %q", times)
	}

	s.nextSale(t)
	for _, p := range []*tab{ordered, filled} {
		p.until("an empty cart in the next sale", `import("/web/store.js").then(({ known }) =>
			known.sale.id !== "`+first+`" && !document.getElementById("cart-empty").hidden &&
			!document.getElementById("cart-open").hidden)`)
		p.until("steppers at zero", `document.querySelectorAll("#foods output").length === 4 &&
			[...document.querySelectorAll("#foods output")].every((e) => e.textContent === "0")`)
		p.untilNoText("buy-message")
		p.click(`#foods li[data-food="3"] button[data-count="1"]`)
		p.untilText("cart-items", "1 × Spicy fried rice")
		p.click("#order:not(:disabled)")
		p.untilText("buy-message", "Your order is placed.")
	}
	id := ordered.js(`return document.getElementById("receipt-id").textContent`)
	if strings.HasPrefix(id, first) {
		t.Errorf("the order is %s, of the last sale", id)
	}

	root.until("the form and the log of the next sale", `document.getElementById("closes-at").value === "" &&
		document.querySelectorAll("#log tbody tr").length === 1`)
	root.confirm()
	root.untilText("operate-message", "The next sale has begun. Nothing was changed.")
	if times = root.js(`const { known } = await import("/web/store.js");
		return JSON.stringify([known.sale.opens_at, known.sale.closes_at])`); times != "[null,null]" {
		t.Errorf("the next sale has the times %s", times)
	}
	root.view("live")
	root.untilText("peak", "Peak ")
	root.shoot("live")
}

// Root opens the next sale from the page, and is told before what happens.
func TestNextSaleFromPage(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4, 10)
	first := s.Sale(t)
	if _, err := s.client(t).Buy(2, client2()...); err != nil {
		t.Fatal(err)
	}
	p := s.operator(t, "operate")
	p.click("#next-sale button")
	p.untilText("next-fault", "This sale is not closed: close it first.")
	p.click("#do-close")
	p.confirm()
	p.untilText("operate-message", "The sale is closed.")
	p.setTime("next-opens", "2020-01-01T10:00:00")
	p.click("#next-sale button")
	p.untilText("next-fault", "A time is over: it is ")
	p.setTime("next-opens", "2040-01-01T10:00:00")
	p.click("#next-sale button")
	p.until("a question", `document.getElementById("confirm").open`)
	p.shoot("question")
	want := "Sale " + first + `: This sale ends for good. Its orders are kept (1 order), its carts are deleted.
The orders are first written to a file in the data folder of this server.
The next one has 4 foods with 40 pieces, as this one had at first.
5,000 users of the catalogue can log in.
It opens at 1 Jan 2040, 10:00:00 (09:00:00 UTC).
It has no closing time.
Until the servers have it, orders are refused for some seconds.`
	if text := p.js(`return document.getElementById("confirm-text").textContent`); text != want {
		t.Errorf("the question is\n%s\nwant\n%s", text, want)
	}
	p.confirm()
	p.until("the next sale", fmt.Sprintf(`import("/web/store.js").then((m) => m.known.sale.id !== %q &&
		m.known.sale.state === "scheduled")`, first))
	p.untilText("log", "The sale was made with 40 pieces")
	p.view("orders")
	p.until("the sale of before", fmt.Sprintf(`[...document.getElementById("orders-sale").options].some((o) =>
		o.value === %q)`, first))
	p.js(fmt.Sprintf(`const sales = document.getElementById("orders-sale"); sales.value = %q;
		sales.dispatchEvent(new Event("change"));`, first))
	p.untilText("orders-table", "user2 (2)")
	p.untilText("orders-table", "1 × Spicy dumplings") // the catalogue is that of then
	p.shoot("past")
	p.click("#orders-table a")
	p.untilText("order-items", "Spicy dumplings")
	p.untilText("order-facts", first)
	if text := testkit.ReadFile(t, filepath.Join(s.Data, "orders-"+first+".csv")); !strings.Contains(text,
		first+"-2,2,user2,2=1,") {
		t.Errorf("the kept orders are %q", text)
	}
}

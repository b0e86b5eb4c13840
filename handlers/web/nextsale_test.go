//go:build !race

package web_test

import (
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
	root.untilText("log", "open → paused") // what was done elsewhere is there without a touch
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

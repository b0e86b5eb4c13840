//go:build !race

package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/provider"
)

// inspect has axe-core and a small screen look at what is shown.
func (p *tab) inspect(what string) {
	p.t.Helper()
	p.run(chromedp.EmulateViewport(320, 640))
	p.accessible(what)
	if wide := p.js(tooWide); wide != "" {
		p.t.Errorf("%s is wider than its screen or dialog:\n%s", what, wide)
	}
	p.shoot(what)
}

// A held order is paid at the provider, another one is given back, and an operator takes pieces out of the
// first and notes the refund. In Chinese no English word is left in it.
func TestHeldOrders(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	shopOf, err := provider.Start(provider.Config{Key: "key of the shop", Secret: secret})
	testkit.Must(t, err)
	t.Cleanup(shopOf.Close)
	s := newShop(t, 4, 10, "-hold", "30m", "-payment", shopOf.Flag(), "-payment-key", "key of the shop",
		"-payment-secrets", secret)

	p := open(t, s.Address, "buy")
	p.js(axe)
	p.logIn("user2", "pass2")
	p.order()
	p.untilText("hold-till", "Held until ")
	p.untilText("receipt-title", "Held")
	p.inspect("held")
	p.click("#hold-back")
	p.inspect("give back")
	p.confirm()
	p.untilText("buy-message", "was released")
	p.order()
	p.untilText("receipt-id", s.Sale(t)+"-2-1")
	p.click("#hold-pay")
	p.until("the page of the provider", `document.title === "Pay"`)
	testkit.Must(t, shopOf.Pay("pay_1", false))
	sent, err := shopOf.Send("http://"+s.Address+"/payments/events", provider.Faults{})
	if err != nil || sent.Taken != 1 {
		t.Errorf("sent %+v, %v", sent, err)
	}
	p.run(chromedp.Navigate("http://" + s.Address + "/#/buy"))
	p.untilText("ordered-hold", "Paid ")
	p.js(axe)
	p.inspect("paid")
	p.click("#log-out")

	p.logIn("root", rootPassword)
	p.view("live")
	p.untilText("held", "0")
	p.view("orders")
	p.until("no refunds", `!document.getElementById("refunds").hidden`)
	p.js(fmt.Sprintf(`location.hash = "#/orders/%s-2-1"`, s.Sale(t)))
	p.until("the form", `!document.getElementById("order-correct").hidden`)
	p.fill("correct-reason", "one is broken")
	p.inspect("correct")
	p.click("#order-cancel")
	p.inspect("cancel")
	p.confirm()
	p.untilText("order-facts", "money is due to be given back")
	p.js(`location.hash = "#/orders"`)
	p.untilText("refunds-table", "one is broken")
	p.inspect("refunds")
	p.js(`document.getElementById("language").click()`)
	p.until("Chinese", `document.documentElement?.lang === "zh"`)
	p.logIn("root", rootPassword)
	p.view("orders")
	p.untilText("refunds-table", "pay_1")
	if words := p.js(englishWords); words != "pay_1\none is broken" { // its id, and what the operator wrote
		t.Errorf("in Chinese there are English words:\n%s", words)
	}
	p.click("#refunds-table button")
	p.confirm()
	p.untilText("refunds-message", "没有待退款项")
}

// order puts a piece of the first food into the cart and orders it.
func (p *tab) order() {
	p.t.Helper()
	p.click(`#foods li[data-food="1"] button[data-count="1"]`)
	p.untilText("cart-items", "1 × ")
	p.click("#order:not(:disabled)")
	p.until("the receipt", `document.getElementById("receipt").open`)
}

//go:build !race

package web_test

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
)

// The shop tells what the rules of a purchase mean for the buyer, also in a refusal, and takes a coupon.
// Operators see what is read and used.
func TestRulesOnPage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.csv")
	testkit.WriteFile(t, file, `limit,1,1
window,2,fcode
window,3,everyone,2099-01-01T10:00:00Z
window,3,vip
window,4,vip
member,vip,user3
coupon,fcode,CODE-1
household,smith,user2
household,smith,user4
`)
	s := newShop(t, 5, 10, "-rules", file)
	p := open(t, s.Address, "buy")
	p.js(axe)
	p.logIn("user2", "pass2")
	rule := func(food, want string) {
		t.Helper()
		p.until("the rule of food "+food+": "+want, `(document.querySelector('#foods li[data-food="`+food+
			`"] .rule')?.textContent ?? "").startsWith("`+want+`")`)
	}
	rule("1", "At most 1 for each buyer")
	rule("2", "Only with a coupon")
	rule("3", "For you from 1 Jan 2099")
	rule("4", "Not for you")
	rule("5", "")
	p.untilText("household", "One order for the household smith")
	p.accessible("a shop with rules")

	more := func(food string) { p.click(`#foods li[data-food="` + food + `"] button[data-count="1"]`) }
	more("1")
	more("1")
	p.untilText("cart-items", "2 × ")
	p.click("#order:not(:disabled)")
	p.untilText("buy-message", "Spicy noodles: At most 1 for each buyer")
	p.click(`#foods li[data-food="1"] button[data-count="-1"]`)
	more("2")
	p.untilText("cart-items", "1 × Spicy dumplings")
	p.click("#order:not(:disabled)")
	p.untilText("buy-message", "Spicy dumplings: Only with a coupon")
	p.until("the focus in the field", `document.activeElement.id === "coupon"`)
	p.run(prefer("dark"), chromedp.EmulateViewport(320, 640))
	p.accessible("a phone with rules")
	if wide := p.js(tooWide); wide != "" {
		t.Errorf("wider than a phone:\n%s", wide)
	}
	p.shoot("rules-phone")
	p.run(prefer("light"), chromedp.EmulateViewport(1280, 800))
	p.shoot("rules")
	p.fill("coupon", "code-2")
	p.click("#order:not(:disabled)")
	p.untilText("buy-message", "There is no such coupon.")
	p.fill("coupon", "code-1")
	p.click("#order:not(:disabled)")
	p.untilText("receipt-id", s.Sale(t)+"-2")
	p.click("#receipt-done")
	p.click("#log-out")
	p.until("no rules for visitors",
		`![...document.querySelectorAll(".rule")].some((e) => e.checkVisibility())`)

	p.logIn("user4", "pass4")
	p.until("an empty field", `document.getElementById("coupon").value === ""`)
	more("1")
	p.untilText("cart-items", "1 × Spicy noodles")
	p.click("#order:not(:disabled)")
	p.untilText("buy-message", "Somebody of your household has ordered already.")
	p.click("#log-out")

	p.logIn("root", rootPassword)
	p.view("operate")
	p.untilText("ruleset-lines", "Group fcode: 0 members, 1 coupons")
	p.untilText("ruleset-lines", "Households: 1, with an order 1")
	p.untilText("ruleset-lines", "Coupons: 1, used 1")
	p.accessible("operators with rules")
	p.js(`document.getElementById("language").click()`) // it loads the page again
	p.until("Chinese", `document.documentElement?.lang === "zh"`)
	p.logIn("user3", "pass3")
	p.view("buy")
	rule("1", "每人限购 1 件")
	if words := p.js(`document.getElementById("household").hidden = true; ` + englishWords); words != "" {
		t.Errorf("English words: %s", words)
	}
}

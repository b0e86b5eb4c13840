//go:build !race

package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The reference of the API has no violation that axe-core finds, and is not wider than its screen. Its
// policy refuses nothing that it needs: the method of a call has the colour of its style sheet.
func docsAreAccessible(t *testing.T, s *shop) {
	p := open(t, s.Address, "live")
	p.run(chromedp.Navigate(p.base + "docs"))
	p.until("the reference", `document.getElementById("placeOrder") !== null`)
	p.js(axe)
	for _, screen := range screens {
		p.run(chromedp.EmulateViewport(screen.width, screen.height))
		if wide := p.js("return document.documentElement.scrollWidth - innerWidth"); wide > "0" {
			t.Errorf("%s: %s pixels wider than its screen", screen.name, wide)
		}
	}
	// One template makes all articles: some stand for all. With all of them axe-core takes minutes.
	p.js(`document.querySelectorAll("article").forEach((e, i) => i % 8 === 0 || e.remove())`)
	for _, screen := range screens {
		p.run(prefer(screen.scheme), chromedp.EmulateViewport(screen.width, screen.height))
		want := map[string]string{"light": "rgb(10, 102, 64)", "dark": "rgb(95, 211, 154)"}[screen.scheme]
		if got := p.js(`return getComputedStyle(document.querySelector(".GET")).color`); got != want {
			t.Errorf("%s: GET is %s, want %s", screen.name, got, want)
		}
		if screen.axe {
			p.accessible("docs-" + screen.name)
		}
		p.shoot("docs-" + screen.name)
	}
	p.run(chromedp.Navigate(p.base + "docs#watchSale"))
	p.shoot("docs-live")
}

package web_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"flashsale/internal/client"
	"flashsale/internal/polltest"
	"flashsale/internal/stand"
)

//go:embed testdata/axe-core/axe.min.js
var axe string

// client2 is a cart with a piece of food 2.
func client2() []client.Item { return []client.Item{client.Pieces(2, 1)} }

// downloads has the browser save files in a folder.
func downloads(folder string) action {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.CallBrowser(ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
			Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder})
		return err
	})
}

func untilFile(t *testing.T, path string) {
	t.Helper()
	polltest.Until(t, "file "+path, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// prefer has the browser prefer a colour scheme.
func prefer(scheme string) action {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"}}})
		return err
	})
}

// accessible runs axe-core on what the page shows.
func (p *tab) accessible(what string) {
	p.t.Helper()
	text := p.js(`return axe.run(document, { resultTypes: ["violations"] }).then((r) =>
		JSON.stringify(r.violations.map((v) =>
		({ id: v.id, nodes: v.nodes.map((n) => n.target.join(" ") + ": " + n.failureSummary) }))))`)
	var violations []struct {
		ID    string
		Nodes []string
	}
	stand.Must(p.t, json.Unmarshal([]byte(text), &violations))
	for _, v := range violations {
		p.t.Errorf("%s: %s\n%s", what, v.ID, strings.Join(v.Nodes, "\n"))
	}
}

// screens are those that the views are looked at on.
var screens = []struct {
	name, scheme  string
	width, height int64
}{{"phone", "light", 390, 844}, {"desktop", "light", 1360, 900}, {"dark", "dark", 1360, 900},
	{"wall", "dark", 1920, 1080}}

// Every view, dialog and theme is free of violations that axe-core finds, from a phone to a wall screen, and
// no view is wider than its screen.
func TestViewsAreAccessible(t *testing.T) {
	const foods, stock = 60, 100
	s := newShop(t, foods, stock)
	s.bench(t, 1500, foods, stock)
	p := newBrowser(t).open(t, s.Address, "live")
	p.js(axe)
	look := func(view string) {
		for _, screen := range screens {
			p.run(prefer(screen.scheme), chromedp.EmulateViewport(screen.width, screen.height))
			what := view + "-" + screen.name
			if wide := p.js("return document.documentElement.scrollWidth - innerWidth"); wide > "0" {
				t.Errorf("%s is %s pixels wider than its screen", what, wide)
			}
			p.accessible(what)
			p.shoot(what)
		}
	}
	p.until("a grid", `document.querySelectorAll("#stock li").length > 0`)
	look("live")
	p.view("buy")
	look("buy-welcome")
	p.click("#log-in")
	look("login")
	p.click("#login-cancel")
	buyer := s.buyer(t)
	p.logIn(fmt.Sprint("user", buyer), fmt.Sprint("pass", buyer))
	p.click(`#foods li button[data-count="1"]:not(:disabled)`)
	p.untilText("cart-items", "1 × food")
	look("buy")
	p.click("#log-out")
	p.logIn("root", rootPassword)
	look("operate")
	p.click("#do-close")
	look("confirm")
	p.click("#confirm button[value=no]")
	p.view("orders")
	p.untilText("orders-state", "orders")
	look("orders")
	p.view("traffic")
	p.until("an answer", `document.getElementById("traffic-state").textContent !== "Reading…"`)
	look("traffic")
}

// The theme that a person chooses wins over that of the system, and stays.
func TestThemeIsChosen(t *testing.T) {
	s := newShop(t, 4, 10)
	p := newBrowser(t).open(t, s.Address, "live", prefer("light"))
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

// A server that goes away is told; when it is back, so is the page.
func TestLiveConnectionIsLost(t *testing.T) {
	port := stand.ClosedPort(t)
	s := newShop(t, 4, 10, "-app-port", port)
	p := newBrowser(t).open(t, s.Address, "live")
	p.untilText("left", "40")
	s.Send(t, syscall.SIGTERM)
	p.until("a banner", `!document.getElementById("lost").hidden`)
	p.untilText("lost", "The live connection is lost")
	p.shoot("lost")
	again := stand.LaunchServer(t, s.Data, []string{"ROOT_PASSWORD=" + rootPassword}, "-redis", s.redis.Socket,
		"-users", "5000", "-foods", "4", "-stock", "10", "-app-port", port)
	again.Serves(t)
	p.until("no banner", `document.getElementById("lost").hidden`)
	p.untilText("link", "Live")
}

// A keyboard is enough: the first key skips the header, and a dialog gives the focus back.
func TestKeyboard(t *testing.T) {
	s := newShop(t, 4, 10)
	p := newBrowser(t).open(t, s.Address, "buy")
	p.run(chromedp.KeyEvent("\t"))
	if at := p.js("return document.activeElement.className"); at != "skip" {
		t.Errorf("the first focus is on %q", at)
	}
	p.run(chromedp.Focus(chromedp.CSS("#log-in")), chromedp.KeyEvent("\r"))
	p.until("the dialog", `document.activeElement.id === "login-name"`)
	p.run(chromedp.KeyEvent("user5\tpass5\r"))
	p.untilText("account", "user5")
	p.until("foods", `document.querySelectorAll("#foods li").length === 4`)
	more := chromedp.CSS(`#foods li[data-food="2"] button[data-count="1"]`)
	p.run(chromedp.Focus(more), chromedp.KeyEvent(" "))
	p.untilText("cart-items", "1 × food 2")
	p.until("what a screen reader says", `document.getElementById("announcer").textContent ===
		"1 of 3 pieces in the cart"`)
	p.run(chromedp.Focus(chromedp.CSS("#order")), chromedp.KeyEvent("\r"))
	p.untilText("receipt-id", s.Sale(t)+"-5")
}

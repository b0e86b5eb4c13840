//go:build !race

package web_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
)

// patience bounds what hangs: a browser on a busy machine is slower than anything else here.
const patience = 2 * testkit.Patience

// pace is the time between two looks at a page. Each look takes work that the page needs itself.
const pace = 40 * time.Millisecond

// screenshots is a folder that git ignores: they are for people to look at.
const screenshots = "testdata/screenshots"

var pictures = flag.Bool("pictures", false, "take a picture of each view, not only where a test fails")

// chromium is the one that all tests share. It is started by the first that needs it.
var chromium struct {
	sync.Mutex
	ctx  context.Context // of its first tab, which keeps it
	stop func()
}

func TestMain(m *testing.M) {
	testkit.AtOnce(4)
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(code)
}

// startChromium starts it with a profile of its own, once.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.ctx != nil {
		return chromium.ctx
	}
	profile, err := os.MkdirTemp("", "chromium")
	testkit.Must(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(testkit.Need(t, "chromium")), chromedp.UserDataDir(profile), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(patience))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	chromium.stop = func() {
		end()
		chromedp.FromContext(ctx).Allocator.Wait()
		_ = os.RemoveAll(profile) // what Chromium's children still write is in the temporary folder
	}
	testkit.Must(t, chromedp.Do(ctx))
	chromium.ctx = ctx
	return ctx
}

// action is a step in the browser that has no result.
type action = chromedp.Action[chromedp.Void]

// tab is a page in Chromium, with a session and a storage of its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // of its URLs

	mu     sync.Mutex
	faults []string
}

// open opens the page at an address. When the test ends no script has failed, and nothing was refused by the
// page's Content-Security-Policy.
func open(t *testing.T, address, view string, actions ...action) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(startChromium(t), chromedp.WithNewBrowserContext())
	p := &tab{t: t, ctx: ctx, base: "http://" + address + "/"}
	t.Cleanup(cancel)
	testkit.Must(t, chromedp.Listen(ctx, p.listen))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, fault := range p.faults {
			t.Errorf("the page: %s", fault)
		}
	})
	p.run(chromedp.EmulateViewport(1360, 900))
	p.run(append(actions, chromedp.Navigate(p.base+"#/"+view))...)
	p.until("the live stream", `document.getElementById("link").dataset.link === "live"`)
	return p
}

// listen keeps what a page must not do. Refused calls of the API are no fault of the page: their entries
// have the source network.
func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			p.faults = append(p.faults, fmt.Sprintf("console.%s: %s", e.Type, arg.Value))
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Source != cdplog.EntrySourceNetwork {
			p.faults = append(p.faults, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	case *network.EventResponseReceived:
		own := strings.Contains(e.Response.URL, "/web/") || e.Type == network.ResourceTypeDocument
		if own && e.Response.Status >= 400 {
			p.faults = append(p.faults, fmt.Sprintf("%s: %d", e.Response.URL, e.Response.Status))
		}
	}
}

// run performs actions, within patience. Where an element was replaced before it could be touched, they are
// performed again.
func (p *tab) run(actions ...action) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	var err error
	_ = testkit.Await(ctx, "action", patience, func() bool {
		err = chromedp.Do(ctx, actions...)
		return err == nil || !strings.Contains(err.Error(), "Could not find node")
	})
	if err != nil {
		p.keepPicture("failed")
		p.t.Fatal(err)
	}
}

// eval evaluates an expression of JavaScript, a promise too.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.keepPicture("failed")
		p.t.Fatalf("%.200s: %v", expression, err)
	}
	return value
}

// js runs statements of JavaScript that may wait, and returns what they return as text.
func (p *tab) js(statements string) string {
	p.t.Helper()
	return eval[string](p, "(async () => {"+statements+"})().then((v) => String(v))")
}

// until waits until an expression of JavaScript is true.
func (p *tab) until(what, expression string) {
	p.t.Helper()
	err := testkit.Await(p.ctx, what, patience, func() bool {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression, chromedp.EvalAwaitPromise))
		switch {
		case err != nil && !isLoading(err):
			p.keepPicture("failed")
			p.t.Fatalf("%.200s: %v", expression, err)
		case err == nil && is:
			return true
		}
		background.Pause(p.ctx, pace)
		return false
	})
	if err != nil {
		p.keepPicture("failed")
		p.t.Fatal(err)
	}
}

// isLoading reports whether a page has gone while it was asked: another one, or the same again, is loading.
func isLoading(err error) bool {
	return strings.Contains(err.Error(), "Inspected target navigated") ||
		strings.Contains(err.Error(), "Execution context was destroyed") ||
		strings.Contains(err.Error(), "Cannot find context")
}

// untilText waits until the text of an element holds another one.
func (p *tab) untilText(id, part string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q in #%s", part, id),
		fmt.Sprintf("document.getElementById(%q).textContent.includes(%q)", id, part))
}

// untilNoText waits until an element has no text.
func (p *tab) untilNoText(id string) {
	p.t.Helper()
	p.until("no text in #"+id, fmt.Sprintf("document.getElementById(%q).textContent === ''", id))
}

// click clicks as a mouse does, once the element can be seen and is enabled. If the page moves the element
// meanwhile, the mouse misses it and clicks again. The page itself gives the place: a node of the DevTools
// protocol is lost when the page draws the element anew.
func (p *tab) click(selector string) {
	p.t.Helper()
	for clicked := false; !clicked; clicked = eval[bool](p, "clicked") {
		p.until("a button "+selector, fmt.Sprintf(`(() => { const e = document.querySelector(%q);
			if (!e || e.disabled || !e.checkVisibility()) return false;
			e.scrollIntoView({ block: "center" }); // else the header may cover it
			const [box] = e.getClientRects();
			window.clicked = false;
			window.mouse = [box.x + box.width / 2, box.y + box.height / 2];
			e.addEventListener("click", () => { clicked = true; }, { capture: true, once: true });
			return true; })()`, selector))
		place := eval[[]float64](p, "mouse")
		p.run(chromedp.MouseClickXY(place[0], place[1]))
	}
}

// fill types a text into a field in place of what is there.
func (p *tab) fill(id, text string) {
	p.t.Helper()
	p.js(fmt.Sprintf("document.getElementById(%q).value = ''", id))
	p.run(chromedp.SendKeys(chromedp.CSS("#"+id), text))
}

// logIn logs in by the form.
func (p *tab) logIn(name, password string) {
	p.t.Helper()
	p.click("#log-in")
	p.fill("login-name", name)
	p.fill("login-password", password)
	p.click("#login-form .primary")
	p.untilText("account", name)
	p.until("the view after the login", `!document.getElementById("login").open &&
		!document.getElementById("view-" + location.hash.split("/")[1]).hidden`)
}

// confirm confirms a dangerous act.
func (p *tab) confirm() {
	p.t.Helper()
	p.click("#confirm[open] #confirm-yes")
}

// setTime sets a field of a time as a person does, by the browser's own time.
func (p *tab) setTime(id, local string) {
	p.t.Helper()
	p.js(fmt.Sprintf(`const input = document.getElementById(%q); input.value = %q;
		input.dispatchEvent(new Event("input", { bubbles: true }));`, id, local))
}

// view goes to another view.
func (p *tab) view(name string) {
	p.t.Helper()
	p.click(fmt.Sprintf(`nav a[href="#/%s"]`, name))
	p.until("view "+name, fmt.Sprintf(`document.body.dataset.view === %[1]q &&
		!document.getElementById("view-%[1]s").hidden`, name))
}

// shoot keeps a picture of the page, where people want to look at it.
func (p *tab) shoot(name string) {
	if *pictures {
		p.keepPicture(name)
	}
}

func (p *tab) keepPicture(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Logf("no picture: %v", err)
		return
	}
	testkit.Must(p.t, os.MkdirAll(screenshots, 0o755))
	file := strings.ReplaceAll(p.t.Name(), "/", "-") + "-" + name + ".png"
	testkit.Must(p.t, os.WriteFile(filepath.Join(screenshots, file), picture, 0o644))
}

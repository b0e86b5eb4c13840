//go:build !race

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
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

//go:embed testdata/axe-core/axe.min.js
var axe string

// client2 is a cart with a piece of food 2.
func client2() []client.Item { return []client.Item{client.Pieces(2, 1)} }

// downloads has the browser save files in a folder.
func downloads(folder string) action {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.CallBrowser(ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
			Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder,
			BrowserContextID: chromedp.FromContext(ctx).BrowserContextID})
		return err
	})
}

func untilFile(t *testing.T, path string) {
	t.Helper()
	testkit.Until(t, "file "+path, func() bool {
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

// timeZone has the browser be in a time zone.
func timeZone(name string) action {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetTimezoneOverride,
			emulation.SetTimezoneOverrideParams{TimezoneID: name})
		return err
	})
}

// faintEdges lists the fields and buttons that neither their edge nor their own colour sets off from what
// they stand on, by a contrast of 3 at least (WCAG 1.4.11). What is off may be faint, and so may a button
// that is plain text.
const faintEdges = `
	const light = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
	const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
	const luminance = (colour) => colour.slice(0, 3).reduce((sum, part, i) =>
		sum + [0.2126, 0.7152, 0.0722][i] * light(part / 255), 0);
	const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	const solid = (colour) => parts(colour).length === 3;
	const ground = (e) => {
		const colour = getComputedStyle(e).backgroundColor;
		return solid(colour) ? luminance(parts(colour)) : ground(e.parentElement);
	};
	const controls = "button:not(:disabled, [aria-disabled=true], .plain), .segments, " +
		"input:not([type=checkbox], [type=radio])";
	return [...document.querySelectorAll(controls)].filter((e) => {
		const edge = getComputedStyle(e).borderTopColor;
		const inside = ground(e), outside = ground(e.parentElement);
		const line = solid(edge) ? luminance(parts(edge)) : inside;
		return e.checkVisibility() && contrast(line, outside) < 3;
	}).map((e) => e.id || e.outerHTML).join("\n");`

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
	testkit.Must(p.t, json.Unmarshal([]byte(text), &violations))
	for _, v := range violations {
		p.t.Errorf("%s: %s\n%s", what, v.ID, strings.Join(v.Nodes, "\n"))
	}
	if faint := p.js(faintEdges); faint != "" {
		p.t.Errorf("%s: the edges of these controls can hardly be seen:\n%s", what, faint)
	}
	if twice := p.js(`const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
		return ids.filter((id, i) => ids.indexOf(id) < i).join(" ")`); twice != "" {
		p.t.Errorf("%s: two elements have the id %s", what, twice)
	}
}

// screens are those that the views are looked at on. axe-core looks at each view in light and in dark.
var screens = []struct {
	name, scheme  string
	width, height int64
	axe           bool
}{{"phone", "light", 390, 844, true}, {"dark", "dark", 1280, 800, true},
	{"wall", "light", 1920, 1080, false}}

// Every view, dialog and theme is free of violations that axe-core finds, from a phone to a wall screen, and
// no view is wider than its screen. A server that goes away is told; when it is back, so is the page.
func TestViewsAreAccessible(t *testing.T) {
	t.Parallel()
	const foods, stock = 100, 50
	port := launch.ClosedPort(t)
	s := newShop(t, foods, stock,
		append(branded(t, "Huang's Dumplings & Noodle House"), "-app-port", port)...)
	s.bench(t, 1000, foods, stock)
	p := open(t, s.Address, "live")
	p.js(axe)
	look := func(view string) {
		for _, screen := range screens {
			if screen.name == "wall" && !strings.HasPrefix(view, "live") {
				continue // a wall shows what anybody may see
			}
			p.run(prefer(screen.scheme), chromedp.EmulateViewport(screen.width, screen.height))
			what := view + "-" + screen.name
			if wide := p.js("return document.documentElement.scrollWidth - innerWidth"); wide > "0" {
				t.Errorf("%s is %s pixels wider than its screen", what, wide)
			}
			if screen.axe {
				p.accessible(what)
			}
			p.shoot(what)
		}
	}
	p.until("a grid", `document.querySelectorAll("#stock li").length > 0`)
	s.refuses(t)
	p.untilText("refusals", "Unknown or old cart")
	look("live")
	p.js(`location.hash = "#wall"`)
	look("live-wall")
	p.run(chromedp.KeyEvent(kb.Escape))
	p.until("the live view with its header",
		`location.hash === "#/live" && document.querySelector("header").checkVisibility()`)
	p.view("buy")
	look("buy-welcome")
	p.click("#log-in")
	look("login")
	p.click("#login-cancel")
	buyer := s.buyer(t)
	p.logIn(fmt.Sprint("user", buyer), fmt.Sprint("pass", buyer))
	p.click(`#foods li:not(.gone) button[data-count="1"]`)
	p.untilText("cart-items", "1 × ")
	look("buy")
	p.click("#order")
	p.untilText("buy-message", "Your order is placed")
	look("receipt")
	p.click("#receipt-done")
	look("ordered")
	p.click("#log-out")
	p.logIn("root", rootPassword)
	look("operate")
	p.click("#do-close")
	look("confirm")
	p.click("#confirm button[value=no]")
	p.view("live")
	p.until("the keys that are hit most", `document.querySelectorAll("#top-keys li").length > 0`)
	look("live-root")
	p.view("orders")
	p.untilText("orders-state", "orders")
	look("orders")
	p.view("traffic")
	p.until("an answer", `document.getElementById("traffic-state").textContent !== "Reading…"`)
	look("traffic")
	s.Send(t, syscall.SIGTERM)
	p.untilText("lost", "The live connection is lost")
	look("lost")
	if code := s.ExitCode(t); code != 0 { // its folder is free now
		t.Errorf("exit code %d", code)
	}
	s.start(t, s.Data, "-foods", fmt.Sprint(foods), "-stock", fmt.Sprint(stock), "-app-port", port)
	p.until("no banner", `document.getElementById("lost").hidden`)
	p.untilText("link", "Connected")
}

// curveOf is the curve of a page up to a second, as text, and the last second that it has.
func (p *tab) curveOf(until int64) (points string, last int64) {
	p.t.Helper()
	last = eval[int64](p, `import("/web/store.js").then((m) => m.known.curve.points.at(-1)?.t ?? 0)`)
	return p.js(fmt.Sprintf(`const { known } = await import("/web/store.js");
		return JSON.stringify(known.curve.points.filter(({ t }) => t <= %d && known.curve.points[0].step === 1)
			.map(({ t, total, refused, p99 }) => [t, total, refused, p99])) +
			JSON.stringify(known.marks)`, until)), last
}

// A page that is loaded again shows the curve that the one on the wall has, with the marks. The curve tells
// its points to the mouse and to the keyboard. Root learns who has opened and paused.
func TestLiveForTheWholeSale(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4, 50)
	p := open(t, s.Address, "live")
	p.untilText("timeline", "Opened")
	p.until("words in place of a figure", `!document.getElementById("no-orders-yet").hidden &&
		document.getElementById("p50").textContent === "no orders yet" &&
		document.getElementById("rate").textContent === "0"`)
	p.shoot("no-orders")
	s.bench(t, 40, 4, 50)
	root := s.client(t)
	testkit.Must(t, root.Login("root", rootPassword))
	for _, state := range []string{"paused", "open"} {
		reply, err := root.Do("PUT", "/admin/sale", fmt.Sprintf(`{"state":%q}`, state))
		if err != nil || reply.Status != 200 {
			t.Fatalf("%s: %v, %v", state, reply, err)
		}
	}
	s.refuses(t)
	p.untilText("timeline", "Goes on")
	p.untilText("timeline", "Paused")
	p.untilText("refusals", "Unknown or old cart")
	p.untilText("refusals", "a minute")
	p.until("all orders in the curve", `document.getElementById("no-orders-yet").hidden &&
		import("/web/store.js").then((m) => m.known.curve.points.at(-1).total === 40)`)
	_, last := p.curveOf(0)
	reaches := func(p *tab, t int64) {
		p.until("the second in the curve", fmt.Sprintf(
			`import("/web/store.js").then((m) => m.known.curve.points.at(-1)?.t >= %d)`, t))
	}
	reaches(p, last+1)

	again := open(t, s.Address, "live")
	reaches(again, last)
	wall, _ := p.curveOf(last)
	if loaded, _ := again.curveOf(last); loaded != wall {
		t.Errorf("a page that was loaded again shows\n%s\nthe other one\n%s", loaded, wall)
	}
	p.run(chromedp.Focus(chromedp.CSS("#pace-chart")), chromedp.KeyEvent(kb.End))
	p.untilText("pace-point", "40 orders in all")
	p.until("the point for a screen reader",
		`document.getElementById("pace-chart").getAttribute("aria-valuetext").includes("40 orders in all")`)
	p.run(chromedp.KeyEvent(kb.Home))
	p.untilText("pace-point", "0 orders in all")
	p.run(chromedp.KeyEvent(kb.Escape))
	p.untilNoText("pace-point")
	box := eval[[]float64](p, `(() => {
		const b = document.querySelector("#pace-chart .u-over").getBoundingClientRect();
		return [b.x + b.width / 2, b.y + b.height / 2]; })()`)
	p.run(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0], box[1]))
	p.untilText("pace-point", "a second, ")
	p.shoot("live")

	p.logIn("root", rootPassword)
	p.view("live")
	p.untilText("timeline", "Paused by root")
	p.view("traffic")
	p.until("words for the keys", `document.getElementById("traffic-key").value === "Orders placed"`)
	p.view("live")
	p.run(chromedp.Click(chromedp.CSS("#language"))) // the page is loaded again
	p.until("the page in Chinese", `document.documentElement?.lang === "zh"`)
	p.until("the time line in Chinese", `document.getElementById("timeline")?.textContent.includes("继续")`)
	p.shoot("zh")
	p.js(`location.hash = "#wall"`)
	p.run(chromedp.EmulateViewport(1920, 1080))
	p.until("no header on the wall", `!document.querySelector("header").checkVisibility()`)
	over := p.js(`const page = document.documentElement;
		const digits = getComputedStyle(document.getElementById("orders"));
		return [page.scrollWidth - innerWidth, page.scrollHeight - innerHeight, parseFloat(digits.fontSize) > 70]`)
	if over != "0,0,true" {
		t.Errorf("the wall is wider, higher and has large digits: %s", over)
	}
	p.shoot("wall-zh")
}

// refuses has the server refuse orders for two reasons.
func (s *shop) refuses(t *testing.T) {
	t.Helper()
	c := s.client(t)
	for i, body := range []string{`{"cart_id":"-1"}`, `{"cart_id":"-1"}`, "["} {
		testkit.Must(t, c.LoginUser(2+i))
		if reply, err := c.Do("POST", "/orders", body); err != nil || reply.Status < 400 {
			t.Errorf("%s: %v, %v", body, reply, err)
		}
	}
}

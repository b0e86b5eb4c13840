//go:build !race

package web_test

import (
	"context"
	"encoding/json"
	"flag"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
)

var figures = flag.Bool("figures", false, "have TestPhone be a slow phone, and print what it measures")

// conditions are those of Network.emulateNetworkConditions of the DevTools protocol.
type conditions struct {
	Offline  bool    `json:"offline"`
	Latency  float64 `json:"latency"`            // ms, of each request
	Download float64 `json:"downloadThroughput"` // bytes a second
	Upload   float64 `json:"uploadThroughput"`
}

// slow4G is what Lighthouse and Chromium's own tools call "Slow 4G".
var slow4G = conditions{Latency: 562.5, Download: 1.6e6 * 0.9 / 8, Upload: 750e3 * 0.9 / 8}

// slowdown is how much slower than this machine a phone is.
const slowdown = 4

// asPhone has the browser be a phone; with -figures a slow one on a slow network.
func asPhone() []action {
	call := func(does func(context.Context) error) action {
		return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error { return does(ctx) })
	}
	actions := []action{
		chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile),
		call(func(ctx context.Context) error {
			_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
				page.AddScriptToEvaluateOnNewDocumentParams{Source: watchLoading})
			return err
		}),
	}
	if !*figures {
		return actions
	}
	slow := cdp.Command[conditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}
	return append(actions, call(func(ctx context.Context) error {
		if _, err := chromedp.Call(ctx, slow, slow4G); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, emulation.SetCPUThrottlingRate,
			emulation.SetCPUThrottlingRateParams{Rate: slowdown})
		return err
	}))
}

// watchLoading keeps what the browser tells of the loading, from its beginning.
const watchLoading = `
	window.seen = { shift: 0, shifted: [], content: 0, largest: 0, foods: 0, long: [] };
	const see = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take))
		.observe({ type, buffered: true });
	see("layout-shift", (e) => {
		if (e.hadRecentInput) return;
		seen.shift += e.value;
		seen.shifted.push(...e.sources.map(({ node }) => node?.id || node?.className || node?.nodeName));
	});
	see("paint", (e) => { if (e.name === "first-contentful-paint") seen.content = e.startTime; });
	see("largest-contentful-paint", (e) => { seen.largest = e.startTime; });
	see("longtask", (e) => seen.long.push(e.duration));
	new MutationObserver((_, watch) => {
		if (document.querySelector("#foods li")) {
			requestAnimationFrame(() => { seen.foods = performance.now(); });
			watch.disconnect();
		}
	}).observe(document, { childList: true, subtree: true });`

// drain has all foods sell out within four seconds, in ten events a second, and tells the frames, the long
// tasks, the writes to the document for each event, and how far the layout has shifted since the beginning.
const drain = `
	const { known, take } = await import("/web/store.js");
	const events = 40, pace = 100, step = Math.ceil(known.left[0] / events);
	const frames = [], tasks = seen.long.length;
	let writes = 0;
	const watch = new MutationObserver((records) => { writes += records.length; });
	watch.observe(document.body, { childList: true, subtree: true, characterData: true,
		attributes: true });
	let running = true;
	const frame = (at) => { frames.push(at); if (running) requestAnimationFrame(frame); };
	requestAnimationFrame(frame);
	for (let i = 0; i < events; i++) {
		take({ event: "stock", data: JSON.stringify({ left: known.left.map((n) => Math.max(0, n - step)) }) });
		await new Promise((done) => { setTimeout(done, pace); });
	}
	running = false;
	const gaps = frames.slice(1).map((at, i) => at - frames[i]).sort((a, b) => a - b);
	return JSON.stringify({ frames: gaps.length / (frames.at(-1) - frames[0]) * 1000,
		late: gaps.at(Math.floor(gaps.length * 0.95)), long: seen.long.length - tasks, shift: seen.shift,
		shifted: seen.shifted, writes: writes / events, gone: document.querySelectorAll("#foods .gone").length });`

// measured is what a phone sees of the first view, and while all foods sell out. Times are in ms.
type measured struct {
	Content, Largest, Foods, Shift float64
	Shifted                        []string
	Requests, Bytes, Pictures      int
	Frames, Late, Writes, Gone     float64
	Long                           int
}

// A phone loads little before it shows the shop, and nothing moves then or while all foods sell out. Times
// depend on the machine: they are only told.
func TestPhone(t *testing.T) {
	const foods, requestsMax, bytesMax = 100, 20, 150_000
	const shiftMax = 0.01 // below 0.1 a shift counts as good
	const writesMax = 40  // to the document for an event: the few cards in sight
	s := newShop(t, foods, 1000, branded(t, "Huang's Dumplings")...)
	p := open(t, s.Address, "", asPhone()...)
	p.until("foods", `seen.foods > 0`)
	p.until("pictures and stock", `[...document.querySelectorAll("#foods li")].filter((e) =>
		e.getBoundingClientRect().top < innerHeight).every((e) => e.querySelector("img").complete &&
		e.querySelector(".stock").textContent !== "")`)
	var m measured
	testkit.Must(t, json.Unmarshal([]byte(p.js(firstView)), &m))
	testkit.Must(t, json.Unmarshal([]byte(p.js(drain)), &m))
	if m.Requests > requestsMax || m.Bytes > bytesMax || m.Bytes == 0 {
		t.Errorf("the first view takes %d requests and %d bytes, want at most %d and %d", m.Requests, m.Bytes,
			requestsMax, bytesMax)
	}
	if m.Shift > shiftMax {
		t.Errorf("the layout shifts by %.3f: %v", m.Shift, m.Shifted)
	}
	if m.Writes > writesMax || m.Gone == 0 {
		t.Errorf("an event makes %.1f writes to the document, want at most %d; %v foods are shown as sold out",
			m.Writes, writesMax, m.Gone)
	}
	p.shoot("shop")
	if *figures {
		t.Logf("first content %.0f ms, largest %.0f ms, foods %.0f ms, layout shift %.4f", m.Content,
			m.Largest, m.Foods, m.Shift)
		t.Logf("%d requests, %d bytes, and %d pictures", m.Requests, m.Bytes, m.Pictures)
		t.Logf("while %d foods drain: %.0f frames a second, 95%% within %.0f ms, %d tasks over 50 ms, "+
			"%.0f writes an event", foods, m.Frames, m.Late, m.Long, m.Writes)
	}
}

// firstView tells what the loading has taken. The icon is asked for by the browser's own frame.
const firstView = `
	const files = ["resource", "navigation"].flatMap((type) => performance.getEntriesByType(type));
	const own = files.filter((e) => !/\/images\/|logo|icon|\/sale/.test(e.name));
	return JSON.stringify({ ...seen, long: 0, requests: own.length, pictures:
		files.filter((e) => e.name.includes("/images/")).length,
		bytes: own.reduce((sum, e) => sum + e.encodedBodySize, 0) });`

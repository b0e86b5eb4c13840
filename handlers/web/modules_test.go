//go:build !race

package web_test

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// module runs statements with the exports of a module of the page, and returns what they return, as JSON.
func (p *tab) module(name, statements string) string {
	p.t.Helper()
	return p.js(`const m = await import("/web/` + name + `.js"); return JSON.stringify(await (async () => {` +
		statements + `})())`)
}

// moduleTest is statements for a module, and what they return as JSON.
type moduleTest struct{ name, module, statements, want string }

// wordTests are of what the page shows: figures, times and words.
var wordTests = []moduleTest{
	{"a countdown reaches zero at the end", "format", `
		return [-5, 0, 1, 1000, 1001, 59999, 3600000, 90061000].map(m.span);`,
		`["00:00","00:00","00:01","00:01","00:02","01:00","01:00:00","1 d 01:01:01"]`},
	{"latencies keep their width", "format", `return [0.04, 9.94, 12.3, 999.6, 12345, null].map(m.latency);`,
		`["0.0 ms","9.9 ms","12 ms","1,000 ms","12 s","–"]`},
	{"a local time goes there and back", "format", `
		const text = m.localInput("2026-11-22T10:00:05.000Z");
		return [text, m.fromLocalInput(text)];`, `["2026-11-22T11:00:05","2026-11-22T10:00:05.000Z"]`},
	{"a wait is rounded up to what people read", "format", `
		return [1, 3, 119, 120, 121, 7200, 88738].map(m.wait);`,
		`["1 second","3 seconds","119 seconds","2 minutes","3 minutes","2 hours","25 hours"]`},
	{"a refusal tells the time to wait", "messages", `
		const api = await import("/web/api.js");
		const told = (...refusal) => {
			const element = document.createElement("p");
			m.tellError(element, new api.Refusal(...refusal));
			return element.textContent;
		};
		return [told(429, "TOO_MANY_REQUESTS", "", 88738), told(429, "TOO_MANY_REQUESTS", ""),
			told(503, "SERVICE_UNAVAILABLE", "", 1)];`,
		`["Too many requests. Try again in 25 hours.","Too many requests. Try again in a moment.",` +
			`"The server is busy. Try again in a moment."]`},
	{"no time is none", "format", `return [m.localInput(null), m.fromLocalInput("")];`, `["",null]`},
	{"a sale opens and closes by the clock", "clock", `
		const sale = { state: "scheduled", opens_at: "2026-01-01T10:00:00Z", closes_at: "2026-01-01T11:00:00Z" };
		const at = (time, state = "scheduled") => m.stateOf({ ...sale, state }, Date.parse("2026-01-01T" + time));
		return [at("09:59:59.999Z"), at("10:00:00Z"), at("10:59:59.999Z"), at("11:00:00Z"),
			at("10:30:00Z", "paused"), at("11:00:00Z", "paused"), at("09:00:00Z", "closed"),
			at("09:00:00Z", "open")];`,
		`["scheduled","open","open","closed","paused","closed","closed","open"]`},
	{"the next change is told", "clock", `
		const sale = { state: "scheduled", opens_at: "2026-01-01T10:00:00Z", closes_at: "2026-01-01T11:00:00Z" };
		const at = (time) => m.nextChange(sale, Date.parse("2026-01-01T" + time))?.what ?? null;
		return [at("09:00:00Z"), at("10:00:00Z"), at("11:00:00Z")];`, `["Opens in","Closes in",null]`},
	{"a size has its unit", "format", `return [1, 412, 1000, 123456, 5e9].map(m.size);`,
		`["1 byte","412 bytes","1.0 KB","123.5 KB","5.0 GB"]`},
	{"refusals are told in words", "messages", `
		const codes = [["USER_AUTH_FAIL", 9], ["SALE_PAUSED", 2], ["BODY_TOO_LARGE", 1]];
		return m.refusals(codes);`,
		`[["Wrong name or password",9],["Sale paused",2],["This is too long for the server.",1]]`},
	{"the least delayed time of the server counts", "clock", `
		const told = (late) => new Date(Date.now() + 3600000 - late).toISOString();
		for (const late of [5000, 40000, 0, 20000]) m.learn(told(late));
		const error = m.now() - Date.now() - 3600000;
		return error > -1000 && error < 4000 || error;`, `true`},
}

// stateTests are of what the page keeps: streams, carts, questions, lists.
var stateTests = []moduleTest{
	{"a stream is the same in any pieces", "sse", `
		const text = ": hello\r\nretry: 250\nid: 7\nevent: sale\ndata: {\"a\":1}\n\n" +
			"data:x\rdata: y\r\r\n\nid\ndata\n\nevent: never\n\nid: 8\nnonsense: 1\ndata: €\n\ndata: cut";
		const read = (size) => {
			const seen = [];
			const parser = new m.Parser((e) => seen.push([e.event, e.id, e.data]), (ms) => seen.push(ms));
			for (let i = 0; i < text.length; i += size) parser.push(text.slice(i, i + size));
			return JSON.stringify(seen);
		};
		for (let size = 1; size < text.length; size++) if (read(size) !== read(text.length)) return size;
		return JSON.parse(read(1));`,
		`[250,["sale","7","{\"a\":1}"],["message","7","x\ny"],["message","",""],["message","8","€"]]`},
	{"the back-off doubles, is spread and has an end", "sse", `
		return [m.backOff(0, 1000, 0), m.backOff(0, 1000, 1), m.backOff(3, 1000, 1), m.backOff(1, 250, 1),
			m.backOff(50, 1000, 1), m.backOff(50, 1000, 0)];`, `[500,1000,8000,500,30000,15000]`},
	{"only a session of the right form is resumed", "api", `
		const whole = { user: 2, name: "user2", token: "x", cart: "", made: 0, items: [{ food: 1, count: 1 }],
			sale: "" };
		const { items, ...bare } = whole;
		const stored = ["{", "null", "7", "[]", '{"user":2}', JSON.stringify(bare),
			JSON.stringify({ ...whole, items: [null] }), JSON.stringify({ ...whole, token: 5 }),
			JSON.stringify(whole)];
		const resumed = stored.map((text) => {
			sessionStorage.setItem("buyer", text);
			m.resume();
			return m.session?.user ?? null;
		});
		m.logOut("expired");
		return resumed;`, `[null,null,null,null,null,null,null,null,2]`},
	{"a cart changes as on the server", "cart", `
		const taps = [[2, 1], [1, 1], [2, 1], [1, -1], [3, 0], [1, 1]];
		return taps.reduce((items, [food, count]) => m.withTap(items, { food, count }), []);`,
		`[{"food":2,"count":2},{"food":1,"count":1}]`},
	{"a part of the sale that is away or behind is told", "live", `
		const { known } = await import("/web/store.js");
		const { sale } = known;
		const shown = (slices) => {
			known.sale = { ...sale, ...slices };
			m.show();
			return document.getElementById("slices").textContent.slice(0, 15);
		};
		return [shown({ slices_away: 2, slices_behind: 1 }), shown({ slices_behind: 1 }), shown({})];`,
		`["A part of the s","The last change",""]`},
	{"a Redis that has not answered yet is shown as before, not as away", "live", `
		const { known } = await import("/web/store.js");
		const shown = (redis, ledger_lag) => {
			known.pace = { orders: 0, servers: 1, servers_of: 1, p50_ms: null, p99_ms: null, connections: 1, redis,
				ledger_lag };
			m.show();
			return ["redis", "ledger"].map((id) => document.getElementById(id).textContent);
		};
		return [shown("up", 7), shown(null, null), shown("away", null)];`,
		`[["Up","7 behind"],["Up","7 behind"],["Away","Off"]]`},
	{"a past has no holes and nothing twice", "past", `
		const past = new m.Past();
		const ids = () => past.messages.map(({ id }) => id).join("");
		const some = (...list) => list.map((id) => ({ id, user_id: 3, content: "c" + id }));
		const seen = [past.follows({ id: 1 })];
		past.take(some(4, 5));
		seen.push(ids(), past.follows({ id: 6 }), past.follows({ id: 7 }));
		past.take(some(5, 6, 2, 7));
		past.takeOlder(some(1, 2));
		seen.push(ids());
		past.takeOlder(some(2, 3, 4));
		past.erase(3);
		seen.push(ids(), past.messages[1].removed);
		past.take(some(9, 10));
		seen.push(ids());
		return seen;`, `[false,"45",true,false,"4567","234567",true,"910"]`},
	{"an own message that a push tells of waits no longer, an older one with its text does not count", "past", `
		const past = new m.Past();
		past.waiting = [1, 2].map((key) => ({ key, user: 3, content: "yes", after: 5, stored: 0 }));
		past.take([{ id: 5, user_id: 3, content: "yes" }, { id: 6, user_id: 4, content: "yes" }]);
		const before = past.shown.length;
		past.take([{ id: 7, user_id: 3, content: "yes" }]);
		return [before, past.shown.map(({ key }) => key)];`, `[2,[2]]`},
	{"what pushes have told and what was seen here stays", "threads", `
		const { talk } = await import("/web/talk.js");
		const told = (last, unread) =>
			m.take({ thread_id: "u1-3", last, unread, updated_at: "2026-01-01T00:00:00Z" });
		const now = () => [talk.threads.get("u1-3").last, talk.threads.get("u1-3").unread];
		const push = (id, user_id) =>
			m.count({ id, thread_id: "u1-3", user_id, created_at: "2026-01-02T00:00:00Z" });
		talk.user = 3;
		told(4, 1);
		push(6, 1);
		push(6, 1);
		const states = [now()];
		told(5, 2);
		states.push(now());
		talk.seen.set("u1-3", 6);
		told(6, 3);
		states.push(now());
		push(7, 1);
		states.push(now());
		push(8, 3);
		return [...states, now()];`, `[[6,3],[6,3],[6,0],[7,1],[8,0]]`},
	{"a thread that could not be recovered is read from where it was left", "shown", `
		const { talk } = await import("/web/talk.js");
		const send = window.fetch, asked = [];
		window.fetch = async (path, options) => {
			if (!path.startsWith("/threads/")) return send(path, options); // the page asks for the sale's state
			asked.push(path);
			const id = asked.length + 40;
			return new Response(JSON.stringify({ messages: [{ id, user_id: 1, content: "" }], last: 42 }));
		};
		talk.open = { thread_id: "gx", participants: [] };
		talk.past.take([{ id: 40, user_id: 1, content: "" }]);
		m.begun("gx", true, "e");
		m.begun("gx", false, "e");
		await m.catchUp();
		for (; talk.past.reading;) await new Promise((done) => { setTimeout(done); });
		window.fetch = send;
		talk.open = null;
		return [asked, talk.past.newest];`,
		`[["/threads/gx/messages?limit=50&after=20","/threads/gx/messages?limit=50&after=21"],42]`},
	{"each question gets its own answer", "dom", `
		const dialog = m.byId("confirm");
		const later = () => new Promise((resolve) => { setTimeout(resolve, 20); });
		const answers = [];
		for (const [first, second] of [["no", "yes"], ["yes", "no"]]) {
			const one = m.ask("1", "", "");
			dialog.close(first);
			const two = m.ask("2", "", "");
			await later(); // the first closing is told when the dialog is open again
			dialog.close(second);
			answers.push(await one, await two);
		}
		return answers;`, `[false,true,true,false]`},
	{"a list of any length is split into its objects", "splitter", `
		const text = '[{"id":"a","items":[{"n":1},{"n":2}]},{"id":"}{\\"\\\\","items":[]}]\n{"id":"c"}\n';
		const split = (size) => {
			const seen = [];
			const splitter = new m.Splitter((o) => seen.push(o));
			for (let i = 0; i < text.length; i += size) splitter.push(text.slice(i, i + size));
			return JSON.stringify(seen);
		};
		for (let size = 1; size < text.length; size++) if (split(size) !== split(text.length)) return size;
		return JSON.parse(split(3)).map((o) => o.id);`, `["a","}{\"\\","c"]`},
}

// modules runs the parts of the page that have logic of their own, where they run: in a browser.
func modules(t *testing.T, s *shop) {
	p := open(t, s.Address, "live", timeZone("Europe/Berlin"))
	for _, test := range slices.Concat(stateTests, wordTests) {
		if got := p.module(test.module, test.statements); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// A second that comes twice after a reconnect counts once, and one that is missing has no value. A state of
// before a change does not take its place.
func paceIsKeptBySeconds(t *testing.T, s *shop) {
	p := open(t, s.Address, "live")
	p.until("the sale", `document.getElementById("sale-id").textContent !== "…"`)
	got := p.module("store", `
		const before = m.known.sale, now = Date.parse(before.now);
		const told = (ms, orders) => {
			m.takeSale({ ...before, now: new Date(now + 1e6 + ms).toISOString(), orders });
			return m.known.sale.orders;
		};
		const sales = [told(0, 7), told(-1, 6), told(-4999, 5), told(1, 8), told(-5000, 4)];
		m.takeSale(before);
		const column = (...numbers) => ({ orders: numbers, refused: numbers, p99_ms: numbers,
			connections: numbers });
		m.take({ event: "history", data: JSON.stringify({ before: 10, peak: 3, refused: { CART_EMPTY: 5 },
			last_minute: [{ t: 102, refused: { CART_EMPTY: 1 } }], missing: [[100, 101, 1, 2]], marks: [],
			parts: [{ step: 10, from: 90, ...column(20) }, { step: 1, from: 100, ...column(1, 2, 3) }] }) });
		const pace = (t, orders, refused = {}, servers = 2) => m.take({ event: "pace", data: JSON.stringify(
			{ t, orders, refused, p99_1s_ms: 0, connections: 1, servers, servers_of: 2 }) });
		const curve = (name) => JSON.stringify(m.known.curve.points.map((point) => point[name]));
		pace(102, 3, { CART_EMPTY: 1 });
		pace(103, 4, { CART_EMPTY: 1 });
		pace(103, 5, { CART_EMPTY: 2 }, 1);
		pace(105, 8, { CART_EMPTY: 1, FOOD_OUT_OF_STOCK: 9 }, 1);
		m.take({ event: "refused", data: JSON.stringify(
			{ refused: { WRONG_CODE: 7 }, last_minute: { WRONG_CODE: 2 } }) });
		const short = [...["t", "rate", "total"].map(curve), JSON.stringify(m.refusedByCode()),
			m.known.curve.points.map((point) => m.known.curve.away(point)?.servers ?? 2).join()];
		for (let t = 106; t < 900; t++) pace(t, 1);
		const { points } = m.known.curve;
		const sum = points.reduce((all, { orders }) => all + (orders ?? 0), 10);
		return [sales, short, points.length, [1, 10].map((step) => points.filter((p) => p.step === step).length),
			points.at(-1).total === sum, sum, m.refusedByCode(), m.known.peak];`)
	const want = `[[7,7,7,8,4],["[90,100,101,102,103,104,105]","[2,1,2,3,5,null,4]",` +
		`"[30,31,33,36,41,null,49]","[[\"FOOD_OUT_OF_STOCK\",9,9],[\"CART_EMPTY\",4,8],[\"WRONG_CODE\",2,7]]",` +
		`"2,1,2,2,1,2,1"],` +
		`621,[600,21],true,843,[["FOOD_OUT_OF_STOCK",0,9],["CART_EMPTY",0,8],["WRONG_CODE",2,7]],5]`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	lostLink(t, p)
}

// A server that has gone is not asked for the state by all viewers at once. What is told of a lost stream
// may begin it again: there is one attempt then.
func lostLink(t *testing.T, p *tab) {
	t.Helper()
	p.run(chromedp.Navigate(p.base + "sale")) // modules without the page, and a time of the test
	got := p.js(`const [store, { Stream }] = [await import("/web/store.js"), await import("/web/sse.js")];
		const timers = new Map(), sales = []; // when GET /sale was asked
		let id = 0, clock = 0;
		performance.now = () => clock;
		window.setTimeout = (does, ms) => timers.set(++id, { does, ms, at: clock + ms }) && id;
		window.clearTimeout = (timer) => timers.delete(timer);
		let reply = () => Promise.reject(new TypeError("no server"));
		window.fetch = (path) => {
			if (path === "/sale") sales.push(clock);
			return reply();
		};
		const settle = () => new Promise((done) => {
			const channel = new MessageChannel();
			channel.port1.onmessage = done;
			channel.port2.postMessage(0);
		});
		const next = async () => {
			const [timer, { does, at }] = [...timers].reduce((a, b) => (b[1].at < a[1].at ? b : a));
			timers.delete(timer);
			clock = at;
			does();
			await settle();
		};
		const stream = store.follow();
		await settle();
		while (clock < 20000) await next();
		stream.stop();
		timers.clear();
		const again = new Stream("/live", () => ({}), () => {}, (state) => state === "lost" && again.start());
		const never = new Promise(() => {});
		reply = () => { reply = () => never; return Promise.resolve(new Response("", { status: 401 })); };
		again.start();
		await settle();
		return [sales.some((at) => at < 3000), sales.length > 0, [...timers.values()].map(({ ms }) => ms)];`)
	if want := "false,true,40000"; got != want {
		t.Errorf("GET /sale within 3 s, GET /sale later, timers: %s, want %s", got, want)
	}
}

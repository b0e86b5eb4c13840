//go:build !race

package web_test

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// rootReads has root read all orders by the page, find one, and save them as a file.
func (s *shop) rootReads(t *testing.T, p *tab, orders int) {
	t.Helper()
	folder := t.TempDir()
	p.run(downloads(folder))
	p.logIn("root", rootPassword)
	p.view("orders")
	p.untilText("orders-state", "1,200 orders")
	p.untilText("orders-page", "Page 1 of 24")
	p.click("#orders-next")
	p.untilText("orders-page", "Page 2 of 24")
	p.shoot("orders")
	p.find(p.js(`return document.querySelector("#orders-table tbody tr").dataset.user`))
	p.untilText("orders-page", "Page 1 of 1")

	p.view("operate")
	p.click("#export-csv")
	p.untilText("export-state", "KB.")
	file := folder + "/orders-" + s.Sale(t) + ".csv"
	untilFile(t, file)
	c := s.client(t)
	testkit.Must(t, c.Login("root", rootPassword))
	want, err := c.Do("GET", "/admin/orders?format=csv&bom=1", "")
	if got := testkit.ReadFile(t, file); err != nil || len(got) != len(want.Body) || len(got) < orders*10 {
		t.Errorf("the export has %d bytes, want %d, %v", len(got), len(want.Body), err)
	}
	p.view("traffic")
	p.until("the flushed statistics", `(() => {
		const state = document.getElementById("traffic-state").textContent;
		const read = state.includes("in steps of");
		if (!read && state !== "Reading…") document.getElementById("traffic-again").click();
		return read; })()`)
	p.until("bars", `document.querySelectorAll("#traffic-table tbody tr").length > 10`)
	p.shoot("traffic")
	for _, last := range []string{"7d", "3mo", "2y"} {
		p.js(fmt.Sprintf(`document.querySelector('input[name=range][value="%s"]').click()`, last))
		p.untilText("traffic-state", "in steps of")
	}
	s.nothingStays(t, p)
}

// nothingStays has root log out while an export is being read. What root has seen is gone then, and nothing
// is saved.
func (s *shop) nothingStays(t *testing.T, p *tab) {
	t.Helper()
	p.view("live")
	p.until("the keys that are hit most", `document.querySelectorAll("#top-keys li").length > 0`)
	p.view("operate")
	p.js(`window.saved = []; window.ends = 0;
		HTMLAnchorElement.prototype.click = function () { saved.push(this.download); };
		const send = window.fetch;
		window.fetch = async (path, options) => !path.startsWith("/admin/orders") ? send(path, options) :
			new Response(new ReadableStream({ cancel() { ends++; }, start(c) {
				window.stream = c;
				c.enqueue(new TextEncoder().encode("a,b"));
			} }));`)
	p.click("#export-csv")
	p.untilText("export-state", "3 bytes…")
	p.js(`const { known, takeSale } = await import("/web/store.js");
		takeSale({ ...known.sale, id: "later" });
		stream.close();`)
	p.until("a file", "saved.length === 1")
	if name := p.js("return saved"); name != "orders-"+s.Sale(t)+".csv" {
		t.Errorf("the file of a sale that was over at its end is %s", name)
	}
	p.click("#export-jsonl")
	p.untilText("export-state", "3 bytes…")
	p.click("#log-out")
	p.until("the end of the export", "ends === 1")
	p.until("nothing of root's on the page", `(() => {
		const texts = "#export-state:not(:empty), #operate-message:not(:empty), " +
			"#orders-state:not(:empty), #restock-shown:not(:empty)";
		const lists = "tbody tr, #top-keys li, #traffic-top li, #traffic-keys option";
		return !document.querySelector(lists + "," + texts) && saved.length === 1;
	})()`)
}

// A hundred thousand orders are read while the page goes on, shown a page at a time, and searched.
func TestManyOrders(t *testing.T) {
	t.Parallel()
	const orders = 100_000
	s := newShop(t, 4, 10, "-users", fmt.Sprint(orders+1))
	s.redis.Do(t, fmt.Sprintf(
		`EVAL "for user = 2, %d do redis.call('SET', 'o_' .. user, '3:1,|\\n' .. 1795000000000 + user) end" 0`,
		orders+1))
	p := open(t, s.Address, "live")
	p.logIn("root", rootPassword)
	p.js(`window.turns = 0; window.rows = 0;
		const table = document.querySelector("#orders-table tbody");
		const turn = () => { turns++; rows = Math.max(rows, table.rows.length); setTimeout(turn, 1); };
		turn();`)
	p.view("orders")
	p.untilText("orders-state", "100,000 orders")
	p.untilText("orders-page", "Page 1 of 2,000")
	if turns, rows := eval[int](p, "turns"), eval[int](p, "rows"); turns < 10 || rows != 50 {
		t.Errorf("the page had %d turns meanwhile, and up to %d rows", turns, rows)
	}
	newest := p.js(`return document.querySelector("#orders-table tbody tr").dataset.user`)
	if newest != fmt.Sprint(orders+1) {
		t.Errorf("the first order is that of user %s, not the newest", newest)
	}
	for _, wanted := range []string{"77777", "user7", "7"} {
		p.find(wanted)
		user := strings.TrimPrefix(wanted, "user")
		p.until("the order of user "+user+" alone", fmt.Sprintf(`(() => {
			const rows = document.querySelectorAll("#orders-table tbody tr");
			return rows.length === 1 && rows[0].dataset.user === %q; })()`, user))
	}
	p.js(`document.getElementById("orders-all").click();
		await new Promise((resolve) => { setTimeout(resolve); });
		document.getElementById("orders-stop").click();`)
	p.untilText("orders-state", "stopped")
}

// find looks for orders by the page.
func (p *tab) find(who string) {
	p.t.Helper()
	p.fill("orders-find", who)
	p.click("#orders-load")
}

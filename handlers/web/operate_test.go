//go:build !race

package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// operator opens the page as root.
func (s *shop) operator(t *testing.T, view string) *tab {
	t.Helper()
	p := open(t, s.Address, "live", timeZone("Europe/Berlin"))
	p.logIn("root", rootPassword)
	p.view(view)
	return p
}

// dialog waits for a question and returns it. It is answered with Cancel.
func (p *tab) dialog() (text string) {
	p.t.Helper()
	p.until("a question", `document.getElementById("confirm").open`)
	text = p.js(`return document.getElementById("confirm-title").textContent + " " +
		document.getElementById("confirm-text").textContent`)
	p.click("#confirm button[value=no]")
	p.until("no question", `!document.getElementById("confirm").open`)
	return text
}

// Operators find orders by buyer, food and time, open one by its own address, and see what was sold.
func TestOrdersAreFound(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4, 2)
	for user, items := range map[int][]client.Item{2: {client.Pieces(2, 1)},
		3: {client.Pieces(2, 1), client.Pieces(1, 1)}, 4: {client.Pieces(3, 1)}} {
		c := s.client(t)
		if _, err := c.Buy(user, items...); err != nil {
			t.Fatal(err)
		}
	}
	late := s.client(t)
	testkit.Must(t, late.LoginUser(5))
	cart, err := late.NewCart()
	testkit.Must(t, err)
	testkit.Must(t, late.Add(cart, client.Pieces(2, 2)))
	reply, err := late.Do("POST", "/orders?details=1", client.OrderBody(cart))
	if err != nil || reply.Status != 403 {
		t.Fatalf("an order of a food that is sold out: %v, %v", reply, err)
	}

	p := s.operator(t, "orders")
	rows := func(what string, want ...int) {
		t.Helper()
		text, err := json.Marshal(want)
		testkit.Must(t, err)
		p.until(what, fmt.Sprintf(`JSON.stringify([...document.querySelectorAll("#orders-table tbody tr")]
			.map((e) => Number(e.dataset.user)).sort()) === %q`, text))
	}
	p.untilText("orders-state", "3 orders")
	rows("all orders", 2, 3, 4)
	p.untilText("orders-table", "user3 (3)")
	p.untilText("orders-table", "1 × Spicy dumplings, 1 × Spicy noodles")
	for _, test := range []struct {
		who, food string
		users     []int
	}{{"user2", "", []int{2}}, {"4", "", []int{4}}, {"", "dumplings", []int{2, 3}}, {"", "1", []int{3}},
		{"user2", "1 · Spicy noodles", nil}} {
		p.js(`document.getElementById("orders-search").reset()`)
		p.fill("orders-food", test.food)
		p.find(test.who)
		rows(test.who+test.food, append([]int{}, test.users...)...)
	}
	p.js(`document.getElementById("orders-search").reset()`)
	p.setTime("orders-from", "2040-01-01T10:00:00")
	p.click("#orders-load")
	rows("orders of a time to come", []int{}...)
	p.until("no orders", `!document.getElementById("no-orders").hidden`)
	p.click("#orders-all")
	p.find("nobody")
	p.untilText("orders-state", "Nobody has this name.")
	p.shoot("nobody")
	p.find(s.Sale(t) + "-3")
	p.untilText("order-total", p.js(`const { amount, priceOf } = await import("/web/goods.js");
		return amount(priceOf(1) + priceOf(2));`))
	p.untilText("order-facts", "user3")
	p.untilText("order-items", "Spicy noodles")
	p.shoot("order")
	p.run(chromedp.Navigate(p.base + "#/orders/" + s.Sale(t) + "-99"))
	p.untilText("order-message", "There is no such order.")
	p.click("#order-card a")
	p.until("the list", `!document.getElementById("orders-list").hidden &&
		document.getElementById("order-card").hidden`)
	s.sumsAreShown(t, p)
}

// sumsAreShown sorts the sums, and compares them with what the server tells.
func (s *shop) sumsAreShown(t *testing.T, p *tab) {
	t.Helper()
	p.view("live")
	p.view("orders")
	p.until("counted refusals", `(() => { document.getElementById("sums-again").click();
		return [...document.querySelectorAll("#sums-table tbody tr")].some((e) =>
			e.textContent.startsWith("Spicy dumplings") && e.cells[7].textContent === "2" &&
			e.cells[8].textContent === "1"); })()`)
	first := func(by, want string) {
		t.Helper()
		p.click(`#sums-table th[data-by="` + by + `"] button`)
		p.until(want+" first by "+by, fmt.Sprintf(
			`document.querySelector("#sums-table tbody th").textContent === %q`, want))
	}
	first("sold", "Spicy dumplings")
	if order := p.js(`return document.querySelector('[data-by="sold"]').ariaSort`); order != "descending" {
		t.Errorf("aria-sort is %s", order)
	}
	first("food", "Spicy dumplings")
	first("food", "Spicy tofu")
	first("after", "Spicy dumplings")
	first("left", "Spicy tofu")
	total := p.js(`return [...document.querySelectorAll("#sums-total td")].map((e) => e.textContent).join()`)
	if !strings.HasPrefix(total, "8,0,4,4,") || !strings.HasSuffix(total, ",2,1") {
		t.Errorf("the total is %s", total)
	}
	p.shoot("sums")
}

// A food to restock is chosen by name among many; what cannot be taken back is told before it is sent.
func TestRestockPicker(t *testing.T) {
	t.Parallel()
	s := newShop(t, 10_000, 12)
	p := s.operator(t, "operate")
	p.until("the foods", `import("/web/goods.js").then((m) => m.goods.length === 10000)`)
	name := p.js(`return (await import("/web/goods.js")).nameOf(17)`)
	p.fill("restock-food", name[:5])
	p.untilText("restock-shown", "foods fit: type more of the name.")
	offered := eval[int](p, `document.getElementById("restock-foods").options.length`)
	if offered == 0 || offered > 20 {
		t.Errorf("%d foods are offered", offered)
	}
	p.fill("restock-food", "17")
	p.untilText("restock-shown", name+": 12 left")
	p.until("the food with its stock", fmt.Sprintf(`[...document.querySelectorAll("#restock-foods option")]
		.some((o) => o.value === "17 · " + %q && o.label.endsWith(", 12 left"))`, name))
	p.fill("restock-food", "17 · "+name)
	p.fill("restock-pieces", "-1000")
	p.click("#restock .primary")
	p.untilText("operate-message", name+": 12 left, 1,000 cannot be taken back.")
	p.fill("restock-pieces", "0")
	p.click("#restock .primary")
	p.untilText("operate-message", "A restock adds or takes back 1 to 1,000,000,000 pieces.")
	p.fill("restock-pieces", "5")
	p.click("#restock .primary")
	if text := p.dialog(); !strings.Contains(text, "Add 5 pieces to "+name+"?") ||
		!strings.Contains(text, "Left now: 12, after that: 17") {
		t.Errorf("the question is %s", text)
	}
	p.fill("restock-pieces", "-12")
	p.click("#restock .primary")
	p.confirm()
	p.untilText("operate-message", name+": 0 left now.")
	p.untilText("log", name+": 12 pieces taken back")
	p.fill("restock-food", "x y z")
	p.fill("restock-pieces", "1")
	p.click("#restock .primary")
	p.untilText("operate-message", "Choose one food by its number or its name.")
	p.untilText("restock-shown", "There is no such food.")
}

// Each question tells what will happen. Times that are over are named before they are sent.
func TestQuestionsTellWhatHappens(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4, 10)
	c := s.client(t)
	testkit.Must(t, c.Login("root", rootPassword))
	put := func(change string) {
		t.Helper()
		if reply, err := c.Do("PUT", "/admin/sale", change); err != nil || reply.Status != 200 {
			t.Fatalf("%s: %v %v", change, reply, err)
		}
	}
	p := s.operator(t, "operate")
	asks := func(button string, want ...string) {
		t.Helper()
		p.click(button)
		text := p.dialog()
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s asks %q, without %q", button, text, part)
			}
		}
	}
	faults := func(want string) {
		t.Helper()
		p.click("#times .primary")
		p.untilText("times-fault", want)
		if p.js(`return document.getElementById("confirm").open`) != "false" {
			t.Errorf("%s: there is a question", want)
		}
	}
	asks("#do-pause", "Pause the sale?", "Orders are refused until you open it again.")
	asks("#do-close", "Orders are refused from now on.", "40 pieces are unsold.")
	p.setTime("closes-at", "2020-01-01T10:00:00")
	faults("The closing time is over: it is ")
	p.setTime("opens-at", "2040-01-01T10:00:00")
	p.setTime("closes-at", "2039-01-01T10:00:00")
	faults("it must open before it closes")
	p.setTime("closes-at", "2040-07-01T10:00:00")
	asks("#times .primary", "Opens: 1 Jan 2040, 10:00:00 (09:00:00 UTC).",
		"Closes: 1 Jul 2040, 10:00:00 (08:00:00 UTC).", "Orders are refused from now on, until it opens.")
	put(`{"state":"closed"}`)
	p.until("a closed sale", `document.getElementById("do-close").disabled`)
	asks("#times .primary", "This reopens the sale at 1 Jan 2040, 10:00:00.")
	asks("#do-open", "This reopens the sale.", "Buyers can order at once.")
	p.shoot("closed")
	p.setTime("opens-at", "")
	asks("#times .primary", "The sale stays closed until you open it.")
	put(`{"state":"scheduled","opens_at":"2040-01-01T09:00:00Z"}`)
	p.until("a sale to come", `!document.getElementById("do-close").disabled`)
	p.click("#times-now")
	asks("#do-open", "It opens now and not at 1 Jan 2040, 10:00:00 (09:00:00 UTC).")
	p.setTime("opens-at", "2020-01-01T10:00:00")
	faults("The opening time is over: it is ")
	p.setTime("opens-at", "2041-01-01T10:00:00")
	asks("#times .primary", "Until then orders are refused.")
	put(`{"state":"open"}`)
	put(`{"state":"paused"}`)
	p.until("a paused sale", `document.getElementById("operate-now").textContent.includes("paused")`)
	asks("#times .primary", "This ends the pause: the sale opens at 1 Jan 2041, 10:00:00.")
	p.untilText("log", "it had not opened")
}

// latin lists the texts of a view that are not in Chinese, but for names and numbers.
const latin = `
	const view = document.querySelector("main > section:not([hidden])");
	const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
	const found = [...view.querySelectorAll("[aria-label]")].map((e) => e.ariaLabel);
	for (let n = walker.nextNode(); n; n = walker.nextNode()) found.push(n.data);
	const names = /CSV|JSON|UTC|Europe\/Berlin|root|\b[a-z0-9]{8}(-\d+)?\b|user\d+/g;
	return found.map((text) => text.replace(names, ""))
		.filter((text) => /[A-Za-z]{2}/.test(text)).join("\n");`

// The views of operators are in Chinese too, and as accessible as in English, on a phone and in the dark.
func TestOperatorsInChinese(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t)
	s := newShop(t, 4, 3, "-webhooks", receiver.file(t), "-webhooks-private")
	if _, err := s.client(t).Buy(2, client2()...); err != nil {
		t.Fatal(err)
	}
	p := open(t, s.Address, "live", timeZone("Europe/Berlin"))
	p.js(`document.getElementById("language").click()`)
	p.until("Chinese", `document.documentElement?.lang === "zh" && document.readyState === "complete"`)
	p.js(axe)
	p.logIn("root", rootPassword)
	look := func(what string) {
		t.Helper()
		if text := p.js(latin); text != "" {
			t.Errorf("%s is not in Chinese:\n%s", what, text)
		}
		for _, screen := range screens {
			p.run(prefer(screen.scheme), chromedp.EmulateViewport(screen.width, screen.height))
			if screen.axe {
				p.accessible(what + "-" + screen.name)
			}
			if wide := p.js("return document.documentElement.scrollWidth - innerWidth"); wide > "0" {
				t.Errorf("%s-%s is %s pixels wider than its screen", what, screen.name, wide)
			}
			p.shoot(what + "-" + screen.name)
		}
	}
	p.view("operate")
	p.fill("restock-food", "2")
	p.fill("restock-pieces", "3")
	p.click("#restock .primary")
	p.untilText("confirm-text", "现剩 2 件，之后为 5 件")
	p.confirm()
	p.untilText("operate-message", "香辣水饺：现剩 5 件。")
	p.setTime("closes-at", "2020-01-01T10:00:00")
	p.untilText("times-fault", "结束时间已过")
	p.untilText("log", "香辣水饺：增加 3 件")
	receiver.isOff(t, p, s)
	look("operate")
	receiver.isSwitchedOn(p)
	p.click("#do-close")
	p.untilText("confirm-text", "从现在起拒绝下单。")
	p.shoot("question")
	p.click("#confirm button[value=no]")
	p.view("orders")
	p.untilText("orders-state", "1 个订单")
	p.untilText("sums-table", "香辣水饺")
	look("orders")
	p.click("#orders-table a")
	p.untilText("order-facts", "买家")
	p.untilText("order-items", "香辣水饺")
	look("order")
}

// receiver is a webhook that wants no events, until it does.
type receiver struct {
	*httptest.Server
	status atomic.Int64
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.status.Store(http.StatusGone)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(r.status.Load()))
	}))
	t.Cleanup(r.Close)
	return r
}

// file writes the file of -webhooks.
func (r *receiver) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooks.csv")
	text := "name,url,secrets,events\n17," + r.URL + ",whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw,\n"
	testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// isOff waits for the page to show the receiver that is off, with a dead letter.
func (r *receiver) isOff(t *testing.T, p *tab, s *shop) {
	t.Helper()
	s.redis.Do(t, "HSET log_"+s.Sale(t)+":to:17:dead 1-1 "+
		`'{"event":{"id":"`+s.Sale(t)+`-log-1-1"},"tries":17,"error":"x"}'`)
	p.until("the receiver", `(() => { `+readsAgain+`
		return document.getElementById("webhooks-table").textContent.includes("已拒收"); })()`)
	p.untilText("webhooks-table", "重新发送")
}

// readsAgain has the list of receivers read again, at most each second: more would keep the browser busy.
const readsAgain = `if (!(Date.now() - window.readAt < 1000)) {
	window.readAt = Date.now(); document.getElementById("webhooks-again").click(); }`

// isSwitchedOn sends the dead letter again, once in vain, and switches the receiver on.
func (r *receiver) isSwitchedOn(p *tab) {
	p.t.Helper()
	p.click("#webhooks-table [data-act=resend]")
	p.untilText("operate-message", "接收方未接受该事件。")
	r.status.Store(http.StatusOK)
	p.click("#webhooks-table [data-act=resend]")
	p.untilText("operate-message", "已重新发送1 个事件。")
	p.click("#webhooks-table [data-act=on]")
	p.untilText("operate-message", "17 已恢复接收事件。")
	p.until("all events", `(() => { `+readsAgain+`
		return document.getElementById("webhooks-table").textContent.includes("无积压"); })()`)
}

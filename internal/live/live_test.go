package live

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"flashsale/internal/figures"
)

// A viewer sees where the sale stands, and then what changes, each as agreed.
func TestStream(t *testing.T) {
	s := openStand(t, 10)
	c := s.join(false, 0)
	c.want(s.hello(s.noOrders()))
	s.pass()
	c.want(quiet(start))

	s.worker.OrdersPlaced.Add(3)
	s.worker.Connections.Set(7)
	s.worker.Calls.Count(s.worker.Calls.Index("POST /orders"), 200, 2*time.Millisecond)
	s.worker.Refusals.Inc(s.worker.Refusals.Index([]byte("CART_EMPTY")))
	s.state = State{Up: true, Ledger: true, LedgerLag: 4}
	s.PublishStock([]int64{4, 4})
	s.pass()
	c.want(event("pace", start+1, fmt.Sprintf(`{"t":%d,"orders":3,"orders_of":"server",`+
		`"refused":{"CART_EMPTY":1},"p50_ms":1.75,"p99_ms":2.49,"connections":7,"redis":"up",`+
		`"ledger_lag":null}`, start+1)) + event("stock", start+1, `{"left":[4,4]}`))

	s.body = `{"id":"s","state":"closed","orders":5}`
	s.pass()
	c.want(event("pace", start+2, fmt.Sprintf(`{"t":%d,"orders":0,"orders_of":"sale","refused":{},`+
		`"p50_ms":1.75,"p99_ms":2.49,"connections":7,"redis":"up","ledger_lag":4}`, start+2)) +
		event("sale", start+2, s.body))

	s.state = State{}
	s.worker.Connections.Set(0)
	s.body = `{"id":"s","state":"closed","orders":9}`
	s.pass()
	s.pass()
	c.want(event("pace", start+3, fmt.Sprintf(`{"t":%d,"orders":4,"orders_of":"sale","refused":{},`+
		`"p50_ms":1.75,"p99_ms":2.49,"connections":0,"redis":"up","ledger_lag":4}`, start+3)) +
		event("sale", start+3, s.body) +
		event("pace", start+4, fmt.Sprintf(`{"t":%d,"orders":0,"orders_of":"sale","refused":{},`+
			`"p50_ms":1.75,"p99_ms":2.49,"connections":0,"redis":"away","ledger_lag":null}`, start+4)))
}

// A viewer ends with what lets it see more, and is told when to come back; the others go on.
func TestUntil(t *testing.T) {
	s := openStand(t, 10)
	s.keys = `[{"key":"k","hits":3}]`
	public, root := s.join(false, 0), s.joinAs(Viewer{Root: true, Until: start + 2})
	public.want(s.hello(s.noOrders()))
	root.want(s.hello(s.noOrders()))
	s.pass()
	root.want(quiet(start) + event("top", start, `{"keys":[{"key":"k","hits":3}]}`))
	s.pass()
	root.want("retry: 1500\n\n")
	root.wantEnd()
	s.awaitViewers(1)
	public.want(quiet(start) + quiet(start+1))
	if s.roots != 0 {
		t.Errorf("%d viewers are root", s.roots)
	}
}

// The time of a sale alone is no change. A comment comes every 15 s.
func TestQuietStream(t *testing.T) {
	s := openStand(t, 10)
	s.body = `{"id":"s","state":"open","now":"2027-01-15T08:00:00.000Z"}`
	c := s.join(false, 0)
	c.want(s.hello(s.noOrders()))
	for second := int64(start); second < start+2*beatSeconds; second++ {
		s.body = fmt.Sprintf(`{"id":"s","state":"open","now":"%d"}`, second)
		s.pass()
		c.want(quiet(second))
		if (second+1)%beatSeconds == 0 {
			c.want(": beat\n\n")
		}
	}
}

// Without the stock and the sale, as while Redis is away at the start, they come later.
func TestStreamBeforeStock(t *testing.T) {
	s := openStand(t, 10)
	s.stock.Store(nil)
	s.body = ""
	c := s.join(false, 0)
	c.want(head + "retry: 3000\n\n" + s.noOrders())
	s.body = `{"id":"s","state":"open"}`
	s.PublishStock([]int64{5, 6})
	s.pass()
	c.want(quiet(start) + event("stock", start, `{"left":[5,6]}`) + event("sale", start, s.body))
}

// The pieces that there have been of each food come with the first stock, and again when some were added.
func TestStockOf(t *testing.T) {
	s := openStand(t, 10)
	s.PublishOf([]int64{7, 7})
	c := s.join(false, 0)
	hello := strings.Replace(s.hello(s.noOrders()), `{"left":[5,6]}`, `{"left":[5,6],"of":[7,7]}`, 1)
	c.want(hello)
	s.PublishStock([]int64{4, 6})
	s.pass()
	c.want(quiet(start) + event("stock", start, `{"left":[4,6]}`))
	s.PublishOf([]int64{7, 9})
	s.pass()
	c.want(quiet(start+1) + event("stock", start+1, `{"left":[4,6],"of":[7,9]}`))
}

// Of many foods only those are sent that have changed, where that is shorter.
func TestStockChange(t *testing.T) {
	few, many := []int64{5, 6, 7}, make([]int64, wholeMax+1)
	some, most := append([]int64{}, many...), append([]int64{}, many...)
	some[0], some[wholeMax] = 3, 4
	for i := range most[:wholeMax] {
		most[i] = 1
	}
	whole := func(n string) string { return `{"left":[` + strings.Repeat(n+",", wholeMax) + `0]}` }
	for _, test := range []struct {
		before, now []int64
		want        string
	}{
		{nil, few, `{"left":[5,6,7]}`}, {[]int64{5, 5, 7}, few, `{"left":[5,6,7]}`},
		{nil, many, whole("0")}, {few, many, whole("0")}, {many, most, whole("1")},
		{many, some, fmt.Sprintf(`{"changed":{"1":3,"%d":4}}`, wholeMax+1)},
	} {
		if got := string(stockChange(test.before, test.now)); got != test.want {
			t.Errorf("from %v to %v: %s, want %s", test.before, test.now, got, test.want)
		}
	}
}

// A viewer that comes back gets what it has missed, and all of the rest; one that was away for long, or
// comes from another server, gets the history.
func TestResume(t *testing.T) {
	s := openStand(t, 10)
	s.join(false, 0)
	for range 3 {
		s.pass()
	}
	s.join(false, start+2).want(s.hello(""))
	s.join(false, start).want(s.hello(quiet(start+1) + quiet(start+2)))
	for _, id := range []int64{start - 1, start + 3, start - 10_000, -1, 0} {
		s.join(false, id).want(s.hello(s.noOrders()))
	}
	for range batchesMax {
		s.pass()
	}
	missed := ""
	for second := int64(start + 4); second < s.second; second++ {
		missed += quiet(second) // without the comments
	}
	s.join(false, start+3).want(s.hello(missed))
	s.join(false, start+2).want(s.hello(s.noOrders()))
}

// Seconds in which nobody has watched are not known one by one.
func TestResumeAfterNobody(t *testing.T) {
	s := openStand(t, 10)
	s.join(false, 0).Close()
	s.pass()
	s.awaitViewers(0)
	s.pass()
	s.pass()
	s.join(false, start).want(s.hello(s.noOrders()))
}

// The history has the orders of the last ten minutes, those that other workers have seen included.
func TestHistory(t *testing.T) {
	s := openStand(t, 10)
	s.worker.OrdersPlaced.Add(4)
	s.pass()
	s.worker.Pace.Set(start-700, 8) // too old
	other, err := figures.Join(s.memory.File(), 1)
	must(t, err)
	defer other.Leave()
	other.Pace.Set(start-599, 9)
	other.Pace.Set(start, 10) // this worker has looked by itself
	orders := strings.Repeat(",0", 598) + ",4"
	want := event("history", start, fmt.Sprintf(`{"from":%d,"orders":[9%s]}`, start-599, orders))
	s.join(false, 0).want(s.hello(want))
	if n, ok := s.worker.Pace.At(start - 1); ok {
		t.Errorf("%d orders are kept of the time before the first look", n)
	}
}

// Root sees the most-hit keys, every 15 s; the public does not, and without root nobody asks for them.
func TestTop(t *testing.T) {
	s := openStand(t, 10)
	public := s.join(false, 0)
	public.want(s.hello(s.noOrders()))
	s.pass()
	public.want(quiet(start))
	if s.tops.Load() != 0 {
		t.Error("the keys are asked for without root")
	}
	s.keys = `[{"key":"k","hits":3}]`
	root := s.join(true, 0)
	root.want(s.hello(s.noOrders()))
	s.pass()
	root.want(quiet(start+1) + event("top", start+1, `{"keys":[{"key":"k","hits":3}]}`))
	public.want(quiet(start + 1))
	second := s.join(true, 0)
	top := event("top", s.id(), `{"keys":[{"key":"k","hits":3}]}`)
	second.want(strings.Replace(s.hello(s.noOrders()), "event: stock", top+"event: stock", 1))
	for second := int64(start + 2); second < start+beatSeconds+2; second++ {
		s.pass()
	}
	if n := s.tops.Load(); n != 2 {
		t.Errorf("the keys are asked for %d times, want 2", n)
	}
}

// However many viewers there are, Redis is asked once a second, and without any not at all.
func TestLooks(t *testing.T) {
	s := openStand(t, 100)
	for range 5 {
		s.pass()
	}
	if n := s.looks.Load(); n != 0 {
		t.Errorf("Redis is asked %d times without a viewer", n)
	}
	for range 50 {
		s.join(false, 0)
	}
	for range 5 {
		s.pass()
	}
	if n := s.looks.Load(); n != 6 {
		t.Errorf("Redis is asked %d times for the first viewer and in 5 seconds, want 6", n)
	}
}

// Over its limit, and three quarters of the connections, the Hub takes no viewer.
func TestLimit(t *testing.T) {
	s := openStand(t, 2)
	first := s.join(false, 0)
	s.join(false, 0)
	if s.Reserve() {
		t.Error("a third viewer gets a place")
	}
	first.Close()
	s.awaitViewers(1)
	if !s.Reserve() {
		t.Error("the place of a viewer that has gone is not free")
	}
	s.Release()
	s.worker.ConnectionsMax.Set(2)
	if s.Reserve() {
		t.Error("viewers take all connections")
	}
	s.worker.ConnectionsMax.Set(8)
	s.End()
	if s.Reserve() {
		t.Error("a viewer gets a place at the end")
	}
}

// Viewers that have gone are noticed, however they went, and so are those that send something.
func TestEndedViewers(t *testing.T) {
	s := openStand(t, 10)
	for name, leave := range map[string]func(*client){
		"closed":      func(c *client) { c.Close() },
		"half-closed": func(c *client) { c.Conn.(*net.TCPConn).CloseWrite() },
		"reset": func(c *client) {
			c.Conn.(*net.TCPConn).SetLinger(0)
			c.Close()
		},
		"talks": func(c *client) { fmt.Fprint(c, "GET") },
	} {
		t.Run(name, func(t *testing.T) {
			stays, c := s.join(false, 0), s.join(false, 0)
			stays.want(s.hello(s.noOrders()))
			leave(c)
			s.awaitViewers(1)
			s.pass()
			stays.want(quiet(s.id()))
			stays.Close()
			s.awaitViewers(0)
		})
	}
	if n := s.worker.ViewersDropped.Value(); n != 0 {
		t.Errorf("%d viewers are counted as slow", n)
	}
}

// All viewers are told when to come back, at different times, and those that want to join as well.
func TestEnd(t *testing.T) {
	s := openStand(t, 10)
	c := s.join(false, 0)
	c.want(s.hello(s.noOrders()))
	late, far := s.connect()
	if !s.Reserve() {
		t.Fatal("a viewer is refused")
	}
	s.End()
	s.Join(Viewer{Stream: NewStream(far, s.limiter), Head: []byte(head)})
	s.awaitViewers(0)
	c.want("retry: 1500\n\n")
	c.wantEnd()
	late.want(s.hello(s.noOrders()) + "retry: 1500\n\n")
	late.wantEnd()
}

// A clock that was set back, or a pause of the process, does no harm.
func TestClock(t *testing.T) {
	s := openStand(t, 10)
	c := s.join(false, 0)
	c.want(s.hello(s.noOrders()))
	s.now = s.now.Add(-time.Hour)
	s.pass()
	c.want(quiet(start - 3600))
	s.now = s.now.Add(2 * time.Hour)
	s.pass()
	c.want(quiet(start + 3600 + 1))
}

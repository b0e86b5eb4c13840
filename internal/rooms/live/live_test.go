package live

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A viewer sees where the sale stands, and then what changes, each as agreed.
func TestStream(t *testing.T) {
	s := openStand(t, 10)
	c := s.join(false, 0)
	c.want(s.hello(s.noOrders()))
	s.pass()
	c.want(quiet(start))

	const busy = `"orders":3,"refused":{"CART_EMPTY":1},"p50_ms":1.75,"p99_ms":2.49,"connections":7,` +
		`"servers":2,"servers_of":3`
	s.pace = busy
	s.state = State{Up: true, Ledger: true, LedgerLag: 4}
	s.PublishStock([]int64{4, 4})
	s.pass()
	c.want(paceEvent(start+1, busy, `"up","ledger_lag":null`) + event("stock", start+1, `{"left":[4,4]}`))

	s.body = `{"id":"s","state":"closed","orders":5}`
	s.pass()
	c.want(paceEvent(start+2, stillness, `"up","ledger_lag":4`) + event("sale", start+2, s.body))

	s.state = State{}
	s.body = `{"id":"s","state":"closed","orders":9}`
	s.pass()
	s.pass()
	c.want(paceEvent(start+3, stillness, `"up","ledger_lag":4`) + event("sale", start+3, s.body) +
		paceEvent(start+4, stillness, `"away","ledger_lag":null`))
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

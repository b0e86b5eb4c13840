package live

import (
	"fmt"
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

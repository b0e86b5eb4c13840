package traffic

import (
	"testing"
	"time"

	"flashsale/internal/testkit/roomtest"
)

// Three servers see the stock at different moments, and pieces are counted once, in their minute.
func TestSold(t *testing.T) {
	onEach(t, DefaultRetention, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		var servers []*Traffic
		for range 3 {
			r := counting(t, cfg)
			r.SoldKeys([]string{"food:1:sold", "food:2:sold"})
			servers = append(servers, r)
		}
		begin := c.Now()
		servers[0].Sold([]int64{3, 0})
		servers[1].Sold([]int64{5, 0})
		c.Add(time.Minute)
		servers[1].Sold([]int64{6, 1})
		servers[2].Sold([]int64{2, 1}) // it lags
		servers[1].flushAll(t)
		servers[0].flushAll(t)
		servers[2].flushAll(t)
		again := counting(t, cfg) // after a restart
		again.SoldKeys([]string{"food:1:sold", "food:2:sold"})
		again.Sold([]int64{6, 1})
		again.flushAll(t)
		got := again.curve(t, "food:1:sold", map[string]string{"last": "2m", "step": "1m"})
		if got.text() != "5 1*" {
			t.Errorf("food 1: %s, want 5 1*", got.text())
		}
		if n := again.total(t, "food:2:sold", begin, begin.Add(time.Hour)); n != 1 {
			t.Errorf("food 2: %d", n)
		}
		cfg.Sale = "next"
		next := counting(t, cfg)
		next.SoldKeys([]string{"food:1:sold", "food:2:sold"})
		next.Sold([]int64{1, 0})
		next.flushAll(t)
		if n := next.total(t, "food:1:sold", begin.Add(-time.Hour), begin.Add(time.Hour)); n != 7 {
			t.Errorf("food 1 in both sales: %d", n)
		}
	})
}

// What is sold while a flush is on its way is flushed after it.
func TestSoldWhileFlushing(t *testing.T) {
	r := New(config(t, roomtest.Nowhere(), DefaultRetention, "UTC", newClock(t, begun)))
	r.Sold([]int64{1})
	sending, _ := r.sold.oldest()
	r.Sold([]int64{2})
	r.sold.flushed(sending)
	if next, found := r.sold.oldest(); !found || next.pieces[0] != 2 {
		t.Errorf("%v, %v wait", next, found)
	}
	r.sold.flushed(soldAt{sending.minute, []int64{2}})
	if next, found := r.sold.oldest(); found {
		t.Errorf("%v waits", next)
	}
}

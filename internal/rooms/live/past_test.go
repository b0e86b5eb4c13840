package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
)

// No order is left out or counts twice: neither those before the first look at the figures, nor those
// of a second in which this process stood still and another worker did not.
func TestOrdersSinceTheFirst(t *testing.T) {
	s := openStand(t, 10)
	other, err := figures.Join(s.memory.File(), 1)
	testkit.Must(t, err)
	defer other.Leave()
	s.stock.Store(nil)
	s.sampler, s.kept, s.second = newSampler(s.memory), 0, 0
	sold := func(n int) { s.body = fmt.Sprintf(`{"id":"s","state":"open","orders":%d}`, n) }

	sold(7)
	s.PublishStock([]int64{5, 6})
	sold(8)
	s.step()
	if n, ok := s.worker.Pace.At(start - 1); ok {
		t.Errorf("%d orders are kept of the time before the sale was known", n)
	}
	sold(10)
	s.pass()
	for second := range int64(3) {
		other.Pace.Set(start+second, 9)
	}
	s.now = s.now.Add(2 * time.Second)
	sold(14)
	s.pass()
	c := s.join(false, 0)
	c.want(s.hello(event("history", s.id(), fmt.Sprintf(`{"from":%d,"orders":[0%s,3,0,0,4]}`, s.second-600,
		strings.Repeat(",0", 595)))))
	sold(16)
	s.pass()
	sale := func(second int64) string { return strings.Replace(quiet(second), "server", "sale", 1) }
	c.want(strings.Replace(sale(s.id()), `"orders":0`, `"orders":2`, 1) + event("sale", s.id(), s.body))
	sold(1) // the next sale
	s.pass()
	c.want(sale(s.id()) + event("sale", s.id(), s.body))
}

// A viewer that comes back gets what it has missed, and all of the rest; one that was away for more than a
// minute gets the history.
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
	for second := int64(start + 3); second < s.second; second++ {
		missed += quiet(second) // without the comments
	}
	s.join(false, start+2).want(s.hello(missed))
	s.join(false, start+1).want(s.hello(s.noOrders()))
}

// Seconds without a viewer are not known one by one: who comes back gets the history.
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
	testkit.Must(t, err)
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

package live

import (
	"fmt"
	"strings"
	"testing"
)

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

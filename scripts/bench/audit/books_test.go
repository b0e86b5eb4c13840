package audit

import (
	"strings"
	"testing"
)

func TestDecodeOrders(t *testing.T) {
	tests := []struct {
		body string
		want int // orders, -1 = an error
	}{
		{`[]`, 0},
		{`[{"id":"a","user_id":2,"items":[{"food_id":1,"count":2}],"total":6},` +
			`{"id":"b","user_id":3,"items":[],"total":0}]`, 2},
		{`[{"id":"a","user_id":2,"items":[],"total":6}`, -1},
		{`[{"id":"a"},`, -1},
		{`{}`, -1},
		{`[{"id":7}]`, -1},
		{``, -1},
	}
	for _, test := range tests {
		var orders []Order
		err := decodeOrders(strings.NewReader(test.body), func(o Order) { orders = append(orders, o) })
		if (err != nil) != (test.want < 0) || err == nil && len(orders) != test.want {
			t.Errorf("%s: %d orders, %v", test.body, len(orders), err)
		}
	}
}

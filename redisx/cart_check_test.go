package redisx

import (
	"slices"
	"strconv"
	"testing"
)

// Each line: a cart before, a change, its code, the cart after. An appended change stands in the cart
// already.
func TestCartScript(t *testing.T) {
	const gone = "1:1,1:1," // a list to which the change was appended, and which is gone
	for _, tc := range []struct {
		name, changes, items string // before: a list, or settled where there are items
		order                bool   // the user has an order
		stop                 int
		change               string
		want                 int64
		wantChanges          string // after
		wantItems            string
	}{
		{"no cart", "", "", false, 0, "1:2,", cartBegan, "1:2,", ""},
		{"no cart, taken away", "", "", false, 0, "1:-2,", cartBegan, "1:-2,", ""},
		{"fits the plain list", "1:1,", "", false, 0, "2:2,    ", cartDone, "1:1,2:2,    ", ""},
		{"does not fit the plain list", "1:1,1:-1,", "", false, 0, "2:2,    ", cartDone, "1:1,1:-1,", "1:0,2:2,"},
		{"over the limit", "1:3,        ", "", false, 0, "2:1,", cartOverLimit, "1:3,        ", "1:3,"},
		{"appended, within the limit", "1:2,2:2,2:1,", "", false, 4, "1:2,", cartDone, "1:2,2:2,2:1,", "1:2,2:1,"},
		{"appended, over the limit", "1:2,2:2,2:1,", "", false, 8, "2:2,", cartOverLimit,
			"1:2,2:2,2:1,", "1:2,2:1,"},
		{"appended and settled since", "1:2,2:2,2:1,", "1:2,", false, 12, "2:1,", cartDone,
			"1:2,2:2,2:1,", "1:2,"},
		{"appended over the limit and settled since", "1:2,2:2,2:1,", "1:2,", false, 8, "2:2,", cartOverLimit,
			"1:2,2:2,2:1,", "1:2,"},
		{"settled", "x", "1:2,2:0,", false, 0, "2:1,", cartDone, "x", "1:2,2:1,"},
		{"settled, over the limit", "x", "1:2,2:1,", false, 0, "2:1,", cartOverLimit, "x", "1:2,2:1,"},
		{"settled, taken away", "x", "1:2,2:1,", false, 0, "1:-3,", cartDone, "x", "1:0,2:1,"},
		{"ordered since", "", "", true, len(gone), "1:1,", cartDone, "", ""},
		{"ordered since, and a new cart", "2:3,   ", "", true, len(gone), "1:1,", cartDone, "2:3,   ", ""},
		{"ordered since, and a new settled cart", "2:3,", "2:1,", true, len(gone), "1:1,", cartDone,
			"2:3,", "2:1,"},
		{"expired since", "", "", false, len(gone), "1:1,", cartBegan, "1:1,", ""},
		{"expired since, and a new cart", "2:1,", "", false, len(gone), "1:1,", cartDone, "2:1,1:1,", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg Config) {
				if tc.order {
					raw(t, cfg, nil, "SET", "o_2", "1:1,")
				}
				switch {
				case tc.items != "":
					raw(t, cfg, nil, "HSET", "c_x", "changes", tc.changes, "items", tc.items)
				case tc.changes != "":
					raw(t, cfg, nil, "SET", "c_x", tc.changes)
				}
				var codes []int64
				raw(t, cfg, &codes, "EVAL", cartRules+cartCheckLua, "2", "o_2", "c_x",
					"3", "3600", "12", strconv.Itoa(tc.stop), tc.change)
				if !slices.Equal(codes, []int64{tc.want}) {
					t.Errorf("codes %v, want %d", codes, tc.want)
				}
				changes, items := "", ""
				if rawString(t, cfg, "TYPE", "c_x") == "hash" {
					changes, items = rawString(t, cfg, "HGET", "c_x", "changes"), rawString(t, cfg, "HGET", "c_x", "items")
				} else {
					changes = rawString(t, cfg, "GET", "c_x")
				}
				if changes != tc.wantChanges || items != tc.wantItems {
					t.Errorf("the cart is %q, %q; want %q, %q", changes, items, tc.wantChanges, tc.wantItems)
				}
			})
		})
	}
}

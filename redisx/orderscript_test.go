package redisx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/testkit"
)

// orderTest is an order: state before, call, outcome, state after.
type orderTest struct {
	name                         string
	order, cart, key             string // before; key of the call
	stock                        int64
	want                         error
	wantOrder, wantCart, wantTTL string // after; "" is no key
	wantStock                    string
}

var orderTests = []orderTest{
	{"placed", "", "1:2,", "", 5, nil, "1:2,|@", "", "-1", "3"},
	{"placed, with spaces", "", "1:2,    ", "", 5, nil, "1:2,    |@", "", "-1", "3"},
	{"placed with key", "", "1:1,", "a b|c", 5, nil, "1:1,|a b|c@", "", "-1", "4"},
	{"last pieces", "", "1:3,", "", 3, nil, "1:3,|@", "", "-1", "0"},
	{"one food in two changes", "", "1:1,1:1,", "", 5, nil, "1:2,|@", "", "-1", "3"},
	{"one food in three changes", "", "1:1,1:1,1:1,", "", 5, nil, "1:3,|@", "", "-1", "2"},
	{"a food taken away", "", "2:1,1:1,2:-1,", "", 5, nil, "1:1,|@", "", "-1", "4"},
	{"a change without effect", "", "1:2,2:2,1:1,", "", 5, nil, "1:3,|@", "", "-1", "2"},
	{"zero counts are left out", "", "2:0,1:1,", "", 5, nil, "1:1,|@", "", "-1", "4"},
	{"has order", "1:1,", "1:2,", "", 5, ErrHasOrder, "1:1,", "1:2,", "-1", "5"},
	{"has order, no cart", "1:1,", "", "", 5, ErrHasOrder, "1:1,", "", "-1", "5"},
	{"has order, key never sent", "1:1,", "1:2,", "k", 5, ErrHasOrder, "1:1,", "1:2,", "-1", "5"},
	{"has order under another key", "1:1,|k1", "1:2,", "k", 5, ErrHasOrder, "1:1,|k1", "1:2,", "-1", "5"},
	{"has order under this key", "1:1,|k", "1:2,", "k", 5, nil, "1:1,|k", "1:2,", "-1", "5"},
	{"has order under this key with a time", "1:1,|k\n1700000000123", "1:2,", "k", 5, nil,
		"1:1,|k\n1700000000123", "1:2,", "-1", "5"},
	{"has order without a key", "1:1,|\n1700000000123", "", "", 5, ErrHasOrder,
		"1:1,|\n1700000000123", "", "-1", "5"},
	{"has order, the key is its time", "1:1,|\n1700000000123", "", "1700000000123", 5, ErrHasOrder,
		"1:1,|\n1700000000123", "", "-1", "5"},
	{"has order under this key with bars", "1:1,|k||1:1,", "", "k||1:1,", 5, nil,
		"1:1,|k||1:1,", "", "-1", "5"},
	{"no cart", "", "", "", 5, ErrCartEmpty, "", "", "-2", "5"},
	{"only zero counts", "", "1:0,2:0,", "", 5, ErrCartEmpty, "", "1:0,2:0,", "-2", "5"},
	{"everything taken away", "", "1:1,1:-1,", "", 5, ErrCartEmpty, "", "1:1,1:-1,", "-2", "5"},
	{"out of stock", "", "1:3,", "", 2, ErrOutOfStock, "", "1:3,", "-2", "2"},
	{"second food out of stock", "", "1:1,2:1,", "", 5, ErrOutOfStock, "", "1:1,2:1,", "-2", "5"},
	{"third food out of stock", "", "1:1,3:1,2:1,", "", 5, ErrOutOfStock, "", "1:1,3:1,2:1,", "-2", "5"},
}

func TestOrderScript(t *testing.T) {
	for _, tc := range orderTests {
		t.Run(tc.name, tc.run)
	}
}

func (tc orderTest) run(t *testing.T) {
	const user = 2
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, tc.stock, 0, 7)
		orderKey, cartKey := "o_2", "c_"+string(cartName(user))
		if tc.order != "" {
			raw(t, cfg, nil, "SET", orderKey, tc.order)
		}
		if tc.cart != "" {
			raw(t, cfg, nil, "SET", cartKey, tc.cart, "EX", "100")
		}
		if err := s.placeOrder(user, cartName(user), []byte(tc.key)); !errors.Is(err, tc.want) {
			t.Errorf("outcome %v, want %v", err, tc.want)
		}
		for key, want := range map[string]string{orderKey: tc.wantOrder, cartKey: tc.wantCart} {
			if got := hidePlaced(rawString(t, cfg, "GET", key)); got != want {
				t.Errorf("%s = %q, want %q", key, got, want)
			}
		}
		if got := rawString(t, cfg, "TTL", orderKey); got != tc.wantTTL {
			t.Errorf("TTL of the order %s, want %s", got, tc.wantTTL)
		}
		if got := rawString(t, cfg, "HGET", s.home().keys.Stock, "1"); got != tc.wantStock {
			t.Errorf("stock %s, want %s", got, tc.wantStock)
		}
		for food, want := range map[string]string{"2": "0", "3": "7"} {
			if got := rawString(t, cfg, "HGET", s.home().keys.Stock, food); got != want {
				t.Errorf("stock of food %s is %s, want %s", food, got, want)
			}
		}
	})
}

// hidePlaced puts "@" in the place of the time of an order that was placed in the last minute.
func hidePlaced(value string) string {
	before, placed, found := strings.Cut(value, "\n")
	ms, err := strconv.ParseInt(placed, 10, 64)
	age := time.Since(time.UnixMilli(ms))
	if !found || err != nil || age < -time.Second || age > time.Minute {
		return value
	}
	return before + "@"
}

// An order goes into the stream of the ledger and is an event, where these streams are there.
func TestStreamsOfAnOrder(t *testing.T) {
	for ledger := range 2 {
		for events := range 2 {
			t.Run(fmt.Sprintf("ledger %d, events %d", ledger, events), func(t *testing.T) {
				onEach(t, func(t *testing.T, cfg Config) { testStreams(t, cfg, ledger, events) })
			})
		}
	}
}

func testStreams(t *testing.T, cfg Config, ledger, events int) {
	s := open(t, cfg, 5)
	k := s.home().keys
	for user := range 3 { // the first one makes the gate
		testkit.Must(t, s.addToCart(uint32(user+2), cartName(user), 1, 2))
	}
	streams := []struct {
		key    string
		there  int
		format string
	}{
		{k.Stream, ledger, "[user %d items 1:2,    ]"},
		{k.Events, events, "[user %d number 0 seq 1 what placed items 1:2,    ]"},
	}
	for _, stream := range streams {
		if stream.there == 1 {
			raw(t, cfg, nil, "XGROUP", "CREATE", stream.key, "group", "0", "MKSTREAM")
		}
	}
	for user, want := range []error{nil, nil, ErrOutOfStock} {
		if err := s.placeOrder(uint32(user+2), cartName(user), nil); err != want {
			t.Errorf("outcome %v, want %v", err, want)
		}
	}
	for _, stream := range streams {
		var entries []radix.StreamEntry
		raw(t, cfg, &entries, "XRANGE", stream.key, "-", "+")
		var got, want string
		for i, e := range entries {
			words := []string{}
			for _, field := range e.Fields {
				words = append(words, field[:]...)
			}
			got += fmt.Sprint(words)
			want += fmt.Sprintf(stream.format, i+2)
		}
		if got != want || len(entries) != 2*stream.there {
			t.Errorf("%s has %s, want %d like %s", stream.key, got, 2*stream.there, stream.format)
		}
	}
}

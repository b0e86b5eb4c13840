package redisx

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// A Redis that has lost the marker of a sale and not the rest is not given another sale.
func TestOpenRefusesLeftovers(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5)
		raw(t, cfg, nil, "XGROUP", "CREATE", s.keys.Stream, StreamGroup, "0", "MKSTREAM")
		for user := range uint32(2) {
			testkit.Must(t, s.addToCart(user+2, cartName(int(user)), 1, 1))
		}
		testkit.Must(t, s.placeOrder(2, cartName(0), nil))
		raw(t, cfg, nil, "DEL", MarkerKey)
		var keys []string
		raw(t, cfg, &keys, "KEYS", "*")
		if len(keys) != 6 { // stock, gate, log, stream, order, cart
			t.Fatalf("keys %q, want 6", keys)
		}
		for left := len(keys); left > 0; left-- { // each of them alone too
			_, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Stock: []int64{5}})
			if !errors.Is(err, ErrLeftover) || !strings.Contains(strings.Join(keys[:left], " "),
				strings.Fields(err.Error()[len(ErrLeftover.Error())+2:])[0]) {
				t.Errorf("beside %q: %v, want ErrLeftover that names one", keys[:left], err)
			}
			if _, err := Find(t.Context(), cfg, catalogPrint, ""); !errors.Is(err, ErrLeftover) {
				t.Errorf("found beside %q: %v, want ErrLeftover", keys[:left], err)
			}
			if n := rawString(t, cfg, "DBSIZE"); n != fmt.Sprint(left) {
				t.Errorf("%s keys are in Redis, want %d", n, left)
			}
			raw(t, cfg, nil, "DEL", keys[left-1])
		}
		if opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint,
			Stock: []int64{5}}); err != nil || !opened.Fresh {
			t.Errorf("after the last key: %+v, %v", opened, err)
		}
	})
}

// Keys of other programs do not keep a sale from being opened.
func TestOpenBesideOtherKeys(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		for _, key := range []string{"o_", "o_x", "o_1x", "xo_1", "c_cache", "c_0123456789abcdefg",
			"stock_prices", "stock_", "orders_2024",
			"orders_abcdefg1", "session_17", "sale_1"} {
			raw(t, cfg, nil, "SET", key, "theirs")
		}
		if opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint,
			Stock: []int64{5}}); err != nil || !opened.Fresh {
			t.Errorf("%+v, %v", opened, err)
		}
	})
}

// In a Redis with very many keys the search stops after its number of steps.
func TestLeftoverSearchIsBounded(t *testing.T) {
	testkit.KeepLog(t)
	cfg := unix(redistest.New(t))
	raw(t, cfg, nil, "EVAL", `for i = 1, 20000 do redis.call('SET', 'other' .. i, 1) end`, "0")
	l, err := pipeline.Dial(t.Context(), cfg.Config)
	testkit.Must(t, err)
	defer l.Close()
	for _, test := range []struct {
		steps int
		all   bool
	}{{3, false}, {leftoverSteps, true}} {
		raw(t, cfg, nil, "CONFIG", "RESETSTAT")
		if key, err := findLeftover(t.Context(), l, cfg, test.steps); err != nil || key != "" {
			t.Fatalf("found %q, %v", key, err)
		}
		_, text, _ := strings.Cut(rawString(t, cfg, "INFO", "commandstats"), "cmdstat_scan:calls=")
		var calls int
		if _, err := fmt.Sscanf(text, "%d,", &calls); err != nil {
			t.Fatal(err)
		}
		if calls > test.steps || test.all != (calls < test.steps) || !test.all && calls != test.steps {
			t.Errorf("%d calls in %d steps", calls, test.steps)
		}
	}
}

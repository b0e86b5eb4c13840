package main

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// floodOf floods a server of this handler with two members, and returns what became of it. Of 100 requests a
// second five are due within 50 ms, at 0, 10, 20, 30 and 40 ms.
func floodOf(t *testing.T, handler http.HandlerFunc) (*stack, *tide) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	user := newShopper(strings.TrimPrefix(server.URL, "http://"), 2)
	s := &stack{probes: &probes{}}
	next := func(int, int) call { return newCart }
	f := flood{crowd: crowdOf([]*shopper{user, user}), right: []answer{"200"}, next: next}
	return s, s.run(t.Context(), f, 50*time.Millisecond, 100)
}

func TestFloodCountsAnswers(t *testing.T) {
	var calls atomic.Int64
	s, seen := floodOf(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 2 {
			http.Error(w, `{"code":"CART_EMPTY"}`, http.StatusForbidden)
		}
	})
	if calls.Load() != 5 || seen.sent != 5 || seen.answers["200"] != 4 || seen.answers["403 CART_EMPTY"] != 1 {
		t.Errorf("%d calls were counted as %+v", calls.Load(), seen)
	}
	if len(s.broken) != 1 || s.broken[0] != "1 of 5 requests were answered 403 CART_EMPTY" {
		t.Errorf("broken: %q", s.broken)
	}
}

func TestFloodSeesLostConnections(t *testing.T) {
	s, seen := floodOf(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if seen.sent == 0 || seen.answers[noAnswer] != seen.sent || len(s.broken) != 1 {
		t.Errorf("%+v, broken: %q", seen, s.broken)
	}
}

func TestAnswerHurts(t *testing.T) {
	for a, want := range map[answer]bool{
		"200": false, "403 CART_EMPTY": false, "500 INTERNAL_ERROR": true, "503": true, noAnswer: true,
	} {
		if a.hurts() != want {
			t.Errorf("%q hurts: %v", a, !want)
		}
	}
}

func TestPercentile99(t *testing.T) {
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(i))
	}
	if got := percentile99(times); got != 990 {
		t.Errorf("p99 of 0 to 999 is %d", got)
	}
	if percentile99(nil) != 0 || percentile99(times[7:8]) != 7 {
		t.Error("p99 of none or one")
	}
}

// Only the long form judges times, and only when they are bad each time.
func TestContrast(t *testing.T) {
	harmless := tide{others: 10 * time.Millisecond, orders: 20 * time.Millisecond}
	good := tide{others: slowdownMax*harmless.others + slowdownFloor, orders: slowdownMax*harmless.orders +
		slowdownFloor}
	late, lateOrders := good, good
	late.others, lateOrders.orders = good.others+1, good.orders+1
	for _, test := range []struct {
		long  bool
		tides []tide
		want  string
	}{
		{false, []tide{late}, ""},
		{true, []tide{good}, ""},
		{true, []tide{late, lateOrders, good}, ""},
		{true, []tide{late, late, late}, "other buyers: p99 25.0 ms under the attack, the bound is 25.0 ms"},
		{true, []tide{late, late, lateOrders},
			"orders of the cart: p99 45.0 ms under the attack, the bound is 45.0 ms"},
	} {
		s, tries := &stack{long: test.long}, 0
		err := s.contrast(func() (*tide, error) {
			tries++
			return &test.tides[tries-1], nil
		}, func(float64) *tide { return &harmless })
		if err != nil || tries != len(test.tides) || strings.Join(s.broken, "|") != test.want {
			t.Errorf("%d tries of %d, broken %q, want %q; %v", tries, len(test.tides), s.broken, test.want, err)
		}
	}
}

// The pattern matches every cart of the user and none of the neighbours.
func TestCartKeys(t *testing.T) {
	for user := range 300 {
		for _, nonce := range []uint64{0, 1, 1<<64 - 1, 0x0123456789abcdef, 15 << 60, 7 << 59} {
			name := base64.RawURLEncoding.EncodeToString(
				binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(user)), nonce))
			for _, other := range []int{user, user + 1, user ^ 2, user + 4, user + 1<<24} {
				// path.Match has the same rules as the patterns of Redis, as far as they are used.
				matched, err := path.Match(cartKeys(other), cartKey(name))
				if err != nil || matched != (other == user) {
					t.Fatalf("%s of user %d matches %s of user %d: %v, %v",
						cartKey(name), user, cartKeys(other), other, matched, err)
				}
			}
		}
	}
}

func TestLongestWrite(t *testing.T) {
	append1, append2 := command("APPEND", "c_a", "1:1,"), command("HSET", "c_a", "changes", "1:1,1:3,")
	long := strings.Repeat("x", 100)
	file := command("SET", "o_7", long) + append1 + append2 + command("APPEND", "c_b", long)
	longest, writes, err := longestWrite([]byte(file+append2[:9]), "c_a")
	if err != nil || longest != len(append2) || writes != 2 {
		t.Errorf("%d writes, the longest %d bytes, %v; want 2 and %d", writes, longest, err, len(append2))
	}
	if _, _, err := longestWrite([]byte("garbage\r\n"), "c_a"); err == nil {
		t.Error("garbage is read without an error")
	}
}

func TestCommandCounts(t *testing.T) {
	info := "# Commandstats\r\ncmdstat_get:calls=12,usec=34,usec_per_call=2.8\r\n" +
		"cmdstat_config|set:calls=1,usec=3\r\n"
	counts, err := parseCommandCounts(info)
	if err != nil || len(counts) != 2 || counts["get"] != 12 || counts["config|set"] != 1 {
		t.Errorf("%v, %v", counts, err)
	}
	if _, err := parseCommandCounts("cmdstat_get:usec=1\r\n"); err == nil {
		t.Error("a line without calls is read without an error")
	}
}

// What the load sends explains a quarter more of the same, at the pace of its APPENDs, but nothing of
// another kind.
func TestExtraCommands(t *testing.T) {
	calm := map[string]float64{"append": 1000, "get": 1000, "hget": 4}
	for _, test := range []struct {
		flooded map[string]float64
		want    float64
	}{
		{map[string]float64{"append": 1250, "hget": 5}, 0},
		{map[string]float64{"append": 100, "hget": 105}, 100},
		{map[string]float64{"append": 900, "get": 1300, "exists": 20}, 70},
		{map[string]float64{"append": 2000, "get": 2500, "hget": 11}, 1},
	} {
		if got := extraCommands(calm, test.flooded); got != test.want {
			t.Errorf("%v: %v commands more, want %v", test.flooded, got, test.want)
		}
	}
}

package redisx

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// sliceCall is a call of a script of slices: the marker before, the call, its code, the marker after, and
// which of its other keys are there then.
type sliceCall struct {
	name   string
	before map[string]string
	script *pipeline.Script
	args   []string
	code   int
	after  map[string]string
	there  string
}

const idOfSale, otherSale = "aaaaaaaa", "bbbbbbbb"

func sliceCalls() []sliceCall {
	made := map[string]string{"id": idOfSale, "paused": "1", "revision": "0"}
	with := func(of map[string]string, more ...string) map[string]string {
		all := maps.Clone(of)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	fill := []string{idOfSale, "group", "3", "4"}
	past := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)
	return []sliceCall{
		{"fill makes the slice", nil, fillScript, fill, fillMade, made, "stock"},
		{"fill replaces the sale before", map[string]string{"id": otherSale, "next_id": idOfSale, "closed": "1"},
			fillScript, fill, fillMade, with(made, "previous", otherSale), "stock"},
		{"fill goes on with the ledger",
			map[string]string{"id": otherSale, "previous": "older", "ledger": "filling"},
			fillScript, fill, fillMade, with(made, "previous", otherSale+" older", "ledger", "on"), "stock stream"},
		{"fill makes it once", with(made, "revision", "7"), fillScript, fill, fillThere,
			with(made, "revision", "7"), ""},

		{"filled is noted", map[string]string{"id": idOfSale, "filling": "1"}, filledScript, []string{idOfSale},
			filledNoted, map[string]string{"id": idOfSale, "revision": "1"}, ""},
		{"filled is noted once", map[string]string{"id": idOfSale, "revision": "4"}, filledScript,
			[]string{idOfSale}, filledNoted, map[string]string{"id": idOfSale, "revision": "4"}, ""},
		{"filled finds another sale", map[string]string{"id": otherSale, "filling": "1"}, filledScript,
			[]string{idOfSale}, filledNoSale, map[string]string{"id": otherSale, "filling": "1"}, ""},

		{"follow opens", made, followScript, []string{idOfSale, "1", "", "", "", ""}, followed,
			map[string]string{"id": idOfSale, "revision": "1", "state": "open"}, "gate"},
		{"follow takes the times", made, followScript, []string{idOfSale, "2", past, "99999999999999", "", ""},
			followed, map[string]string{"id": idOfSale, "revision": "2", "state": "open", "opens_at": past,
				"closes_at": "99999999999999"}, "gate"},
		{"follow schedules", made, followScript, []string{idOfSale, "2", "99999999999999", "", "", ""}, followed,
			map[string]string{"id": idOfSale, "revision": "2", "state": "scheduled",
				"opens_at": "99999999999999"}, ""},
		{"follow pauses", map[string]string{"id": idOfSale, "revision": "1", "state": "open"}, followScript,
			[]string{idOfSale, "2", "", "", "1", ""}, followed,
			map[string]string{"id": idOfSale, "revision": "2", "state": "paused", "paused": "1"}, ""},
		{"follow closes", map[string]string{"id": idOfSale, "revision": "1", "state": "open", "closes_at": past},
			followScript, []string{idOfSale, "3", "", "", "", past}, followed,
			map[string]string{"id": idOfSale, "revision": "3", "state": "closed", "closed": past}, ""},
		{"follow does not go back", with(made, "revision", "5"), followScript,
			[]string{idOfSale, "5", "", "", "", ""}, followed, with(made, "revision", "5"), ""},
		{"follow finds no slice", nil, followScript, []string{idOfSale, "1", "", "", "", ""},
			followNoSlice, nil, ""},
		{"follow finds a slice that ends", with(made, "next_id", otherSale), followScript,
			[]string{idOfSale, "1", "", "", "", ""}, followNoSlice, with(made, "next_id", otherSale), ""},
	}
}

func TestSliceScripts(t *testing.T) {
	for _, tc := range sliceCalls() {
		t.Run(tc.name, func(t *testing.T) {
			redistest.OnEach(t, func(t *testing.T, network, address string) {
				cfg := defaults
				cfg.Network, cfg.Address = network, address
				if tc.before != nil {
					raw(t, cfg, nil, append([]string{"HSET", "marker"}, pairs(tc.before)...)...)
				}
				keys := map[*pipeline.Script][]string{fillScript: {"marker", "stock", "stream"},
					filledScript: {"marker"}, followScript: {"marker", "gate", "log"}}[tc.script]
				l, err := pipeline.Dial(t.Context(), cfg.Config)
				testkit.Must(t, err)
				defer l.Close()
				var code int
				testkit.Must(t, l.Do(tc.script.Eval(&code, keys, tc.args...), cfg.Timeout))
				var after map[string]string
				raw(t, cfg, &after, "HGETALL", "marker")
				there := ""
				for _, key := range keys[1:] {
					var n int
					if raw(t, cfg, &n, "EXISTS", key); n == 1 && there != "" {
						there += " "
					}
					if n == 1 {
						there += key
					}
				}
				if code != tc.code || !maps.Equal(after, tc.after) || there != tc.there {
					t.Errorf("%d, marker %v, keys %q; want %d, %v, %q", code, after, there, tc.code, tc.after,
						tc.there)
				}
			})
		})
	}
}

// A server ends after it has paused only the home slice: the others sell on, until the snapshot of another
// server lets them follow.
func TestHalfDonePause(t *testing.T) {
	cfg := unix(redistest.Start(t))
	cfg.Slices = 3
	s := open(t, cfg, 100, 100)
	home, r := s.home(), stateReply{}
	testkit.Must(t, home.redis.Do(home.changeState(&r, Change{By: "root", State: StatePaused})))
	gates := func() (there []int) {
		for slice := range cfg.Slices {
			var n int
			raw(t, cfg, &n, "EXISTS", cfg.KeysOf(s.ID(), slice).Gate)
			there = append(there, n)
		}
		return there
	}
	if got := gates(); !slices.Equal(got, []int{0, 1, 1}) {
		t.Fatalf("gates %v after a pause of the home slice", got)
	}
	other := joinSale(t, cfg, s.ID(), 2)
	if now, err := other.Snapshot(); err != nil || now.State != StatePaused {
		t.Errorf("%s, %v", now.State, err)
	}
	if got := gates(); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("gates %v after the snapshot", got)
	}
	for user := range uint32(6) { // two of each slice
		testkit.Wants(t, "an order", other.placeOrder(user+2, cartName(int(user)+2), nil), ErrPaused)
	}
}

package redisx

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
)

// Of each clock the narrowest reading of the last minute counts, and only what the readings prove is a skew.
func TestSkew(t *testing.T) {
	const ms = time.Millisecond
	type shown struct { // the clock of a slice, in a call that was sent and answered at these times
		slice                 int
		ahead, sent, received time.Duration
	}
	for name, test := range map[string]struct {
		readings []shown
		now      time.Duration
		want     skew
	}{
		"no reading":              {nil, 0, skew{}},
		"one reading":             {[]shown{{1, 900 * ms, 0, ms}}, ms, skew{}},
		"within the error bounds": {[]shown{{0, 0, 0, 10 * ms}, {1, 10 * ms, 0, 10 * ms}}, ms, skew{}},
		"beyond them": {[]shown{{0, 0, 0, 10 * ms}, {1, 40 * ms, 0, 10 * ms}}, ms,
			skew{29 * ms, 1, 0}},
		"the largest of three": {[]shown{{0, 5 * ms, 0, 0}, {1, -3 * ms, 0, 0}, {2, 0, 0, 0}}, ms,
			skew{7 * ms, 0, 1}},
		"a wide reading after one": {[]shown{{0, 0, 0, 0}, {1, 90 * ms, 0, 0}, {1, 90 * ms, ms, 70 * ms}}, ms,
			skew{89 * ms, 1, 0}},
		"a clock that was set": {[]shown{{0, 0, 0, 0}, {1, 90 * ms, 0, 0}, {1, 0, ms, 9 * ms}}, ms, skew{}},
		"a minute later": {[]shown{{0, 0, 0, 0}, {1, 90 * ms, 0, 0}, {0, 0, 61 * time.Second, 61 * time.Second}},
			61 * time.Second, skew{}},
		"a new reading after a minute": {[]shown{{0, 0, 0, 0}, {1, 90 * ms, 0, 0},
			{0, 0, time.Minute, time.Minute}, {1, 90 * ms, time.Minute, time.Minute + 8*ms}},
			time.Minute + 8*ms, skew{85 * ms, 1, 0}},
	} {
		c := &clocks{best: make([]clockReading, 3)}
		for _, r := range test.readings {
			at := time.Unix(1_700_000_000, 0).Add((r.sent + r.received) / 2).Add(r.ahead)
			c.keep(r.slice, readingOf(at, r.sent, r.received))
		}
		if got := c.skew(test.now); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// twoServers opens a sale with a slice in each of two Redis.
func twoServers(t *testing.T) (s *Sale, servers [2]*miniredis.Miniredis) {
	t.Helper()
	servers = [2]*miniredis.Miniredis{miniredis.RunT(t), miniredis.RunT(t)}
	cfg := defaults
	cfg.Network, cfg.Address, cfg.Slices = "tcp", servers[0].Addr()+","+servers[1].Addr(), 2
	return open(t, cfg, 10), servers
}

// Clocks that differ are named once and when they agree again. While they differ too much no sale is
// scheduled, and all other changes are made.
func TestClocksApart(t *testing.T) {
	s, servers := twoServers(t)
	skewed := func(by time.Duration) SliceStates {
		t.Helper()
		now := time.Now() // these clocks stand still
		servers[0].SetTime(now)
		servers[1].SetTime(now.Add(by))
		found, err := s.Snapshot()
		testkit.Must(t, err)
		return found.Slices
	}
	later := time.Now().Add(time.Hour)
	schedule := Change{By: "root", State: StateScheduled, OpensAt: &later}
	// Where this process stalls between two readings, clocks that stand still seem to differ.
	testkit.Until(t, "clocks that agree", func() bool {
		got := skewed(0)
		return got.Skew < SkewMax/2 && got.All == 2
	})
	log := testkit.CaptureLog(t)
	if got := skewed(2 * time.Second); got.Skew < time.Second {
		t.Errorf("clocks 2 s apart: %+v", got)
	}
	home, second, _ := strings.Cut(s.cfg.Address, ",")
	if text := log.String(); !strings.Contains(text, "ahead="+second+" behind="+home) {
		t.Errorf("the log does not name the clocks: %s", text)
	}
	for _, c := range []Change{schedule, {By: "root", ClosesAt: &later}, {By: "root", State: StateScheduled}} {
		if _, err := s.Change(c); !errors.Is(err, ErrClocksDiffer) || !strings.Contains(err.Error(), second) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	testkit.Wants(t, "a first sale", s.cfg.CheckClocks(t.Context(), Times{ClosesAt: later}), ErrClocksDiffer)
	testkit.Wants(t, "one without times", s.cfg.CheckClocks(t.Context(), Times{}), nil)
	past := time.Now().Add(-time.Hour)
	for _, c := range []Change{{By: "root", State: StatePaused}, {By: "root", State: StateOpen},
		{By: "root", OpensAt: &past}} {
		_, err := s.Change(c)
		testkit.Wants(t, "another change", err, nil)
	}
	testkit.Until(t, "line about clocks that agree", func() bool {
		skewed(0)
		return log.Count("agree again") == 1
	})
	if log.Count("masters differ") != 1 {
		t.Errorf("the log is %s", log)
	}
	current, err := s.Change(schedule)
	if err != nil || current.State != StateScheduled {
		t.Errorf("clocks that agree: %+v, %v", current, err)
	}
}

// A slice whose Redis does not answer is away, one that is not there is lost, and one that misses a change
// is behind. While the home slice is away the last snapshot shows that.
func TestSliceStates(t *testing.T) {
	s, servers := twoServers(t)
	await := func(what string, want SliceStates) {
		t.Helper()
		want.All = 2
		testkit.Until(t, what, func() bool {
			found, _ := s.Snapshot() // fails while the home slice is away
			found.Slices.Skew = 0
			return found.Slices == want
		})
	}
	await("both", SliceStates{})
	other := s.slices[1].keys
	s.cfg.Quiet = true // or it lets the slice follow
	testkit.Must(t, s.home().redis.Do(pipeline.Command(nil, "HINCRBY", MarkerKey, "revision", "1")))
	await("one behind", SliceStates{Behind: 1})
	s.cfg.Quiet = false
	await("both again", SliceStates{})
	servers[1].Del(other.Marker)
	await("one lost", SliceStates{Lost: 1})
	servers[1].Close()
	await("one away", SliceStates{Away: 1})
	servers[0].Close()
	await("both away", SliceStates{Away: 2})
}

package threads

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

func newClock() *roomtest.Clock { return roomtest.NewClock(time.UnixMilli(1_800_000_000_000)) }

func config(redis pipeline.Config, c *roomtest.Clock) Config {
	return Config{Redis: []pipeline.Config{redis}, Fanout: 5, MessagesMax: 20, AgeMax: 24 * time.Hour,
		Sale: "now", Now: c.Now}
}

// onEach runs a test on both engines of Redis.
func onEach(t *testing.T, test func(t *testing.T, cfg Config, c *roomtest.Clock)) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		c := newClock()
		test(t, config(redis, c), c)
	})
}

// open is a Threads that runs until the test ends.
func open(tb testing.TB, cfg Config) *Threads {
	tb.Helper()
	testkit.KeepLog(tb)
	t := New(cfg)
	serve(tb, t.redis)
	return t
}

// keeper is a Keeper that only keeps its connections.
func keeper(tb testing.TB, cfg Config) *Keeper {
	tb.Helper()
	k := NewKeeper(cfg)
	serve(tb, k.redis)
	return k
}

func serve(tb testing.TB, redis *pipeline.Spread) {
	tb.Helper()
	testkit.Background(tb, redis.Run)
	for _, conn := range redis.Conns() {
		testkit.Until(tb, "connection", conn.Up)
	}
}

// wards are those of some parts, or of all.
func (k *Keeper) wards(parts ...int) (list []*ward) {
	for i, address := range k.cfg.Redis {
		own := slices.DeleteFunc(partsOf(i, len(k.cfg.Redis)), func(part int) bool {
			return len(parts) > 0 && !slices.Contains(parts, part)
		})
		if len(own) > 0 {
			list = append(list, k.ward(address, own...))
		}
	}
	return list
}

// drain works until nothing is left to do in some parts, or in all.
func (k *Keeper) drain(tb testing.TB, parts ...int) {
	tb.Helper()
	for _, w := range k.wards(parts...) {
		w.drain(tb)
		w.logs.close()
	}
}

func (w *ward) drain(tb testing.TB) {
	tb.Helper()
	hold := func() {
		testkit.Must(tb, w.hold())
		if len(w.held) < len(w.parts) {
			tb.Fatalf("another keeper has some of the parts %v", w.parts)
		}
	}
	for busy := true; busy; {
		hold()
		busy = w.step(tb)
	}
	hold() // notes how far it has followed
	for busy := true; busy; {
		leases, err := w.due()
		testkit.Must(tb, err)
		for _, l := range leases {
			testkit.Must(tb, w.trimAll(l))
		}
		busy = len(leases) > 0
	}
}

// step follows once.
func (w *ward) step(tb testing.TB) (busy bool) {
	tb.Helper()
	busy, err := w.follow(tb.Context(), 0)
	testkit.Must(tb, err)
	return busy
}

func is(tb testing.TB, err, want error) {
	tb.Helper()
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		tb.Fatalf("%v, want %v", err, want)
	}
}

func at[T any](v T) *T { return &v }

// entries are those of the log of a part.
func (t *Threads) entries(tb testing.TB, part int) (list []Entry) {
	tb.Helper()
	for _, found := range roomtest.Ask[[]radix.StreamEntry](tb, t.redis.Part(part), "XRANGE",
		partKey(part, "log"), "-", "+") {
		list = append(list, entryOf(part, found))
	}
	return list
}

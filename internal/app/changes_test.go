package app

import (
	"context"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// A server logs once what others have changed of its sale since it started.
func TestChangesAreLogged(t *testing.T) {
	log := testkit.CaptureLog(t)
	cfg := settings(t, "-redis", redistest.Memory(t), "-foods", "2", "-users", "3")
	s := openedSale(t, cfg)
	sale, leave, err := redisx.Connect(t.Context(), s.store.redis, s.serving().Sale, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	follower, err := redisx.Follow(t.Context(), s.store.redis, sale.ID())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- follower.Run(ctx) }()
	defer func() { stop(); <-ended }()
	testkit.Until(t, "the follower reaches Redis", func() bool {
		_, err := follower.Changes(sale.ID())
		return err == nil
	})
	closes := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, change := range []redisx.Change{{By: "root", State: redisx.StatePaused},
		{By: "terminal", ClosesAt: &closes}} {
		if _, err := sale.Change(change); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := sale.Restock(redisx.Restock{By: "root", Food: 2, Add: 5}); err != nil {
		t.Fatal(err)
	}
	note := pipeline.Command(nil, "XADD", "log_"+sale.ID(), "*", "by", "root", "what", "stock", "food", "x")
	link, err := pipeline.Dial(t.Context(), s.store.redis.Home())
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if err := link.Do(note, testkit.Patience); err != nil {
		t.Fatal(err)
	}
	logChanges(follower, sale.ID())
	logChanges(follower, sale.ID())
	for _, line := range []string{`before=open after=paused`, `by=terminal`, `closes_at=2100-01-02T03:04:05Z`,
		`msg="the stock of a food has changed" sale=` + sale.ID() + ` by=root at=20`,
		`food_id=2 before=1000 after=1005`,
		`level=ERROR msg="a change of the sale cannot be read" sale=` + sale.ID() + ` error="entry `} {
		if log.Count(line) != 1 {
			t.Errorf("%q is logged %d times, want once:\n%s", line, log.Count(line), log)
		}
	}
}

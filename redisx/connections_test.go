package redisx

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// endedLoop is an event loop that has ended: a connection on it never serves.
type endedLoop struct{ pipeline.Loop }

func (endedLoop) AtEnd(func(time.Time) time.Time) {}
func (endedLoop) Post(func()) bool                { return false }

var threeLooks = regexp.MustCompile(`cmdstat_hgetall:calls=([3-9]|\d\d)`)

// As long as only the connection for reads serves, a sale is not ready and its stock is not published:
// every order would get 503.
func TestNotReadyWithoutConnectionForChanges(t *testing.T) {
	server := redistest.Start(t)
	cfg := unix(server)
	opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Stock: []int64{5}})
	testkit.Must(t, err)
	cfg.Loop = endedLoop{}
	s := Join(cfg, opened.Sale, 1, usersMax)
	running, stop := context.WithCancel(context.Background())
	var connections sync.WaitGroup
	connections.Go(func() { s.Run(running) })
	t.Cleanup(func() {
		stop()
		connections.Wait()
	})
	testkit.Until(t, "reads are answered", func() bool { return s.Check() == nil })
	if _, err := s.Ready(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("ready: %v, want ErrUnavailable", err)
	}
	server.Do(t, "CONFIG RESETSTAT")
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		s.Snapshots(ctx, time.Hour, func(found Snapshot) { t.Errorf("published %v", found) },
			func() { t.Error("the sale is gone") })
	})
	testkit.Until(t, "three looks at the stock", func() bool {
		return threeLooks.MatchString(rawString(t, cfg, "INFO", "commandstats"))
	})
	cancel()
	looking.Wait()
}

package pipeline

import (
	"sync"
	"testing"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// Each batch is counted with its calls, its wait and its round trip, and each lost connection that was made
// again.
func TestFigures(t *testing.T) { onEngines(t, testFigures) }

func testFigures(t *testing.T, loop Loop) {
	server := redistest.Start(t)
	count := figures.Private()
	c := connect(t, unix(server), Options{Loop: loop, Figures: &count.Redis, Waiting: &count.QueueCalls})
	const callers, each = 8, 20
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for range each {
				if err := do(c, NewCall().Integer("INCR", []byte("n"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calling.Wait()
	r := &count.Redis
	sizes := r.BatchCalls.Read()
	batches := sizes.Count
	if sizes.Sum != callers*each || batches == 0 || batches > callers*each {
		t.Errorf("sizes %+v, want %d calls", sizes, callers*each)
	}
	if wait, trip := r.QueueWait.Read(), r.RoundTrip.Read(); wait.Count != batches || trip.Count != batches ||
		trip.Sum == 0 {
		t.Errorf("%d batches: waits %+v, round trips %+v", batches, wait, trip)
	}
	if r.Reconnects.Value() != 0 || r.Overloads.Value() != 0 {
		t.Errorf("%d connections made again, %d calls refused", r.Reconnects.Value(), r.Overloads.Value())
	}
	server.Do(t, "CLIENT KILL TYPE normal SKIPME yes")
	testkit.Until(t, "another connection", func() bool {
		return do(c, NewCall().Integer("INCR", []byte("n"))) == nil && r.Reconnects.Value() == 1
	})
}

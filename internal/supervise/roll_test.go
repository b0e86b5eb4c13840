package supervise

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// processes returns the process IDs of all workers that were started so far.
func (s *sale) processes() []int {
	var list []int
	for _, start := range s.started() {
		list = append(list, start[1])
	}
	return list
}

func TestRollFailsNoRequest(t *testing.T) {
	s := startSale(t, 2, time.Minute, play{Generation: 1})
	var asked, failed atomic.Int64
	var clients sync.WaitGroup
	done := make(chan struct{})
	for i := range 8 {
		var client *http.Client
		if i%2 == 0 {
			client = newcomer()
		} else {
			client = regular(t)
		}
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.ask(client); err != nil {
					failed.Add(1)
					t.Error(err)
					return
				}
				asked.Add(1)
			}
		})
	}
	replaced := s.processes()
	for generation := 2; generation <= 3; generation++ {
		before := asked.Load()
		testkit.Must(t, s.Roll(t.Context(), s.handover(play{Generation: generation})))
		testkit.Until(t, "list of starts", func() bool { return len(s.started()) == 2*generation })
		// The clients never pause, so each replaced worker answers its last requests and ends.
		for _, process := range replaced {
			testkit.Until(t, "end of a replaced worker", func() bool { return gone(process) })
		}
		replaced = s.processes()
		testkit.Until(t, "requests", func() bool { return asked.Load() > before+100 || failed.Load() > 0 })
	}
	close(done)
	clients.Wait()
	t.Logf("%d requests, %d failed", asked.Load(), failed.Load())
	for slot := range 2 {
		if got := s.mustAsk(s.regularOf(slot)); got.generation != 3 || got.process != s.last(slot) {
			t.Errorf("slot %d answered %+v, want generation 3 from process %d", slot, got, s.last(slot))
		}
	}
}

func TestCrashAfterRollUsesTheNewHandover(t *testing.T) {
	s := startSale(t, 1, time.Second, play{Generation: 1})
	testkit.Must(t, s.Roll(t.Context(), s.handover(play{Generation: 2})))
	testkit.Until(t, "list of starts", func() bool { return len(s.started()) == 2 })
	kill(t, s.last(0))
	testkit.Until(t, "restart", func() bool { return len(s.started()) == 3 })
	if got := s.mustAsk(newcomer()); got.generation != 2 {
		t.Errorf("answer %+v, want generation 2", got)
	}
}

func TestRollThatFailsLeavesTheOldWorker(t *testing.T) {
	for name, c := range map[string]struct {
		part  play
		limit time.Duration
		want  string
	}{
		"ends": {play{Generation: 2, Exit: []int{0}}, readyLimit,
			"sale worker 0 ended before it was ready: exit status 3; its message is above"},
		"never ready": {play{Generation: 2, Hang: true}, time.Second, "sale worker 0 was not ready within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSale(t, 2, time.Second, play{Generation: 1})
			old := s.mustAsk(s.regularOf(0))
			s.slots[0].readyLimit = c.limit
			err := s.Roll(t.Context(), s.handover(c.part))
			if want := "cannot replace sale worker 0, the old one stays: " + c.want; err == nil ||
				err.Error() != want {
				t.Errorf("Roll returned %v, want %q", err, want)
			}
			if got := s.mustAsk(s.regularOf(0)); got != old {
				t.Errorf("answer %+v after the failed roll, %+v before", got, old)
			}
			kill(t, old.process)
			testkit.Until(t, "restart", func() bool { return s.last(0) != old.process })
			if got := s.mustAsk(s.regularOf(0)); got.generation != 1 {
				t.Errorf("answer %+v after a crash, want generation 1", got)
			}
			if list := s.started(); len(list) != 3 {
				t.Errorf("%d workers became ready, want 3", len(list))
			}
		})
	}
}

// Where one slot cannot be replaced, those before it serve what they served before.
func TestRollThatFailsIsRolledBack(t *testing.T) {
	s := startSale(t, 2, time.Second, play{Generation: 1})
	err := s.Roll(t.Context(), s.handover(play{Generation: 2, Exit: []int{1}}))
	const want = "cannot replace sale worker 1, the old one stays: " +
		"sale worker 1 ended before it was ready: exit status 3; its message is above"
	if err == nil || err.Error() != want {
		t.Errorf("Roll returned %v, want %s", err, want)
	}
	for slot := range 2 { // the worker of the new handover accepts until its signal to retire is there
		testkit.Until(t, "the handover before", func() bool {
			return s.mustAsk(s.regularOf(slot)).generation == 1
		})
	}
	// Two, the worker of the new handover, and its successor.
	testkit.Until(t, "four starts", func() bool { return len(s.started()) == 4 })
}

func TestReplacedWorkerServesItsConnectionsToTheirEnd(t *testing.T) {
	s := startSale(t, 1, time.Hour, play{})
	guest := regular(t)
	replaced := s.mustAsk(guest).process
	testkit.Must(t, s.Roll(t.Context(), s.handover(play{})))
	// The replaced worker goes on to answer on the open connection, and closes it with the answer after
	// its SIGHUP.
	if got := s.mustAsk(guest).process; got != replaced {
		t.Errorf("open connection was answered by process %d, want the replaced %d", got, replaced)
	}
	testkit.Until(t, "change of worker", func() bool { return s.mustAsk(guest).process != replaced })
	testkit.Until(t, "end of the replaced worker", func() bool { return gone(replaced) })
}

func TestReplacedWorkerThatStaysIsKilled(t *testing.T) {
	s := startSale(t, 1, 10*time.Millisecond, play{Stubborn: true})
	replaced := s.last(0)
	testkit.Must(t, s.Roll(t.Context(), s.handover(play{})))
	testkit.Until(t, "end of the replaced worker", func() bool { return gone(replaced) })
	testkit.Until(t, "list of starts", func() bool { return len(s.started()) == 2 })
	if got := s.mustAsk(newcomer()); got.process != s.last(0) {
		t.Errorf("answer %+v, want process %d", got, s.last(0))
	}
	if list := s.started(); len(list) != 2 {
		t.Errorf("%d workers were started, want 2: a replaced one is not started again", len(list))
	}
}

func TestStopIncludesReplacedWorkers(t *testing.T) {
	s := startSale(t, 1, time.Hour, play{})
	response, err := newcomer().Get("http://" + s.address + "/wait")
	testkit.Must(t, err)
	defer response.Body.Close()
	replaced := s.last(0)
	testkit.Must(t, s.Roll(t.Context(), s.handover(play{})))
	if gone(replaced) {
		t.Error("replaced worker did not wait for its connection")
	}
	s.stop() // would take an hour if the replaced worker were not told
	if !gone(replaced) {
		t.Error("replaced worker was left behind")
	}
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "begun done" {
		t.Errorf("answer %q, %v; want \"begun done\"", text, err)
	}
}

func TestRollWaitsNoLongerThanItsContext(t *testing.T) {
	s := openSale(t, 1, time.Second, play{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	testkit.Wants(t, "a supervisor that does not run", s.Roll(ctx, s.handover(play{})), context.Canceled)
	s.slots[0].socket.close()
}

package supervise

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// clock is the part of a worker of the second role. Its slots are counted from clockSlots in the list of
// starts.
type clock struct{ Tick int }

const clockSlots = 100

// tick is a worker without a socket: it writes its line and waits for the end.
func tick(w *Worker) error {
	var part clock
	if err := w.Value(&part); err != nil {
		return err
	}
	if w.Listener != nil || len(w.Files) != 2 || part.Tick == 0 {
		return fmt.Errorf("a clock got listener %v, files %v, part %+v", w.Listener, w.Files, part)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	if err := w.Ready(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w.Files["starts"], "%d %d\n", clockSlots+w.Slot, os.Getpid()); err != nil {
		return err
	}
	<-signals
	os.Exit(0)
	return nil
}

// startRoles runs two workers of the sale and two clocks.
func startRoles(t *testing.T) *sale {
	clocks := Role{Name: clockRole, Count: 2, Processors: 3}
	return openRoles(t, time.Minute, play{Generation: 1}, saleWorkers(2, "127.0.0.1:0"), clocks).start()
}

// Each role has its own number of workers, its own value and files, its sockets or none, and its processors.
func TestRoles(t *testing.T) {
	s := startRoles(t)
	if got := s.Address(clockRole); got != "" {
		t.Errorf("the clocks listen on %q", got)
	}
	if got := listening(t, s.address); got != 2 {
		t.Errorf("%d sockets listen, want 2", got)
	}
	for slot := range 2 {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.last(clockSlots+slot)))
		testkit.Must(t, err)
		for _, want := range []string{"GOMAXPROCS=3", fmt.Sprintf("%s=clock/%d", roleVariable, slot)} {
			if !strings.Contains(string(environment)+"\x00", want+"\x00") {
				t.Errorf("environment of clock %d lacks %s", slot, want)
			}
		}
	}
	s.stop()
	for _, process := range s.processes() {
		if !gone(process) {
			t.Errorf("worker %d is left behind", process)
		}
	}
}

// A crash in one role does not disturb the others.
func TestCrashInAnotherRole(t *testing.T) {
	s := startRoles(t)
	guest := s.regularOf(0)
	before := s.mustAsk(guest)
	killed := s.last(clockSlots + 1)
	kill(t, killed)
	testkit.Until(t, "restart", func() bool { return s.last(clockSlots+1) != killed })
	if got := s.mustAsk(guest); got != before {
		t.Errorf("the sale answers %+v, before the crash %+v", got, before)
	}
	if list := s.started(); len(list) != 5 {
		t.Errorf("%d workers were started, want 5", len(list))
	}
}

// A role without sockets has none to give up, however long its back-off.
func TestLongBackoffWithoutSocket(t *testing.T) {
	s := startRoles(t)
	for range 4 { // the fourth delay is longer than socketKept
		killed := s.last(clockSlots)
		kill(t, killed)
		testkit.Until(t, "restart", func() bool { return s.last(clockSlots) != killed })
	}
	if got := listening(t, s.address); got != 2 {
		t.Errorf("%d sockets listen, want 2", got)
	}
}

func TestRollReplacesEveryRole(t *testing.T) {
	s := startRoles(t)
	replaced := s.processes()
	testkit.Must(t, s.Roll(t.Context(), s.handover(play{Generation: 2})))
	testkit.Until(t, "list of starts", func() bool { return len(s.started()) == 8 })
	for _, process := range replaced {
		testkit.Until(t, "end of a replaced worker", func() bool { return gone(process) })
	}
	if got := s.mustAsk(newcomer()); got.generation != 2 {
		t.Errorf("answer %+v, want generation 2", got)
	}
}

// When the worker of one role cannot start, all roles end.
func TestFirstWorkerOfARoleEndsBeforeItIsReady(t *testing.T) {
	clocks := Role{Name: clockRole, Count: 1}
	// no tick: the clock refuses its part
	s := openRoles(t, time.Second, play{}, saleWorkers(1, "127.0.0.1:0"), clocks)
	s.run()
	want := "clock worker 0 ended before it was ready: exit status 1; its message is above"
	if err := <-s.result; err == nil || err.Error() != want {
		t.Errorf("Run returned %v, want %q", err, want)
	}
}

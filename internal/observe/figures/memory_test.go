package figures

import (
	"bufio"
	"flashsale/internal/testkit"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newMemory(t *testing.T, workers int) *Memory {
	t.Helper()
	m, err := New(workers)
	testkit.Must(t, err)
	t.Cleanup(func() { m.File().Close() })
	return m
}

func join(t *testing.T, m *Memory, slot int) *Worker {
	t.Helper()
	w, err := Join(m.File(), slot)
	testkit.Must(t, err)
	t.Cleanup(w.Leave)
	return w
}

// workerVariable makes TestKilledWorker play the worker, which inherits the memory as its first extra file.
const workerVariable = "FIGURES_TEST_WORKER"

// The counters of a worker that was killed stay, and the next one goes on; its gauges do not count any more.
func TestKilledWorker(t *testing.T) {
	if os.Getenv(workerVariable) != "" {
		w, err := Join(os.NewFile(3, "figures"), 1)
		testkit.Must(t, err)
		w.OrdersPlaced.Add(5)
		w.Calls.Count(w.Calls.Index("POST /login"), 200, time.Millisecond)
		w.Connections.Set(7)
		fmt.Println("counted")
		select {} // until it is killed
	}
	m := newMemory(t, 2)
	for round := uint64(1); round <= 2; round++ {
		worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWorker$")
		worker.Env = append(os.Environ(), workerVariable+"=1")
		worker.ExtraFiles = []*os.File{m.File()}
		output, err := worker.StdoutPipe()
		testkit.Must(t, err)
		testkit.Must(t, worker.Start())
		if line, err := bufio.NewReader(output).ReadString('\n'); line != "counted\n" {
			t.Fatalf("worker prints %q, %v", line, err)
		}
		if running := m.Running(1); len(running) != 1 || running[0].Connections.Value() != 7 {
			t.Errorf("round %d: %d workers run", round, len(running))
		}
		testkit.Must(t, worker.Process.Kill())
		_ = worker.Wait()
		if n := len(m.Running(1)) + len(m.Running(0)); n != 0 {
			t.Errorf("round %d: %d workers run after the kill", round, n)
		}
		if n := m.Counters(1).OrdersPlaced.Value(); n != 5*round {
			t.Errorf("round %d: %d orders, want %d", round, n, 5*round)
		}
		if n := Sum(Requests.Read(m)); n != float64(round) {
			t.Errorf("round %d: %v requests", round, n)
		}
	}
	if n := m.Counters(0).OrdersPlaced.Value(); n != 0 {
		t.Errorf("the other slot has %d orders", n)
	}
}

// While a worker replaces another one both count, each with gauges of its own. New gauges begin with 0.
func TestOverlap(t *testing.T) {
	m := newMemory(t, 3)
	old, next := join(t, m, 2), join(t, m, 2)
	old.OrdersPlaced.Inc()
	next.OrdersPlaced.Inc()
	old.Connections.Set(3)
	next.Connections.Set(4)
	sum := func() (open int64) {
		for _, g := range m.Running(2) {
			open += g.Connections.Value()
		}
		return open
	}
	if n := m.Counters(2).OrdersPlaced.Value(); n != 2 || sum() != 7 {
		t.Errorf("%d orders and %d connections, want 2 and 7", n, sum())
	}
	old.Leave()
	if sum() != 4 {
		t.Errorf("%d connections after the old worker's end, want 4", sum())
	}
	third := join(t, m, 2)
	if n := len(m.Running(2)); n != 2 || third.Connections.Value() != 0 || sum() != 4 {
		t.Errorf("%d workers with %d connections; the new one has %d", n, sum(), third.Connections.Value())
	}
	if n := len(m.Running(0)) + len(m.Running(1)); n != 0 {
		t.Errorf("%d workers in the other slots", n)
	}
}

// The times of a call are those of all workers, whatever the status. A call that never came has no times.
func TestTimesOf(t *testing.T) {
	m := newMemory(t, 2)
	first, second := join(t, m, 0), join(t, m, 1)
	first.Calls.Count(first.Calls.Index("POST /login"), 200, time.Second)
	first.Calls.Count(first.Calls.Index("POST /orders"), 200, time.Millisecond)
	second.Calls.Count(second.Calls.Index("POST /orders"), 503, time.Second)
	if got := m.TimesOf("POST /orders"); got.Count != 2 || got.Sum != uint64(time.Second+time.Millisecond) {
		t.Errorf("%d values that are %d ns together", got.Count, got.Sum)
	}
	if got := m.TimesOf("GET /gone"); got.Count != 0 {
		t.Errorf("a call that never came has %+v", got)
	}
}

// More workers than there are gauges still count.
func TestManyReplaced(t *testing.T) {
	m := newMemory(t, 1)
	for range livesMax + 2 {
		join(t, m, 0).OrdersPlaced.Inc()
	}
	if n := len(m.Running(0)); n != livesMax || m.Counters(0).OrdersPlaced.Value() != livesMax+2 {
		t.Errorf("%d workers are seen, %d orders", n, m.Counters(0).OrdersPlaced.Value())
	}
}

// What a file cannot hold is an error, not a fault at the first count. The file cannot be cut.
func TestJoinRefuses(t *testing.T) {
	m := newMemory(t, 1)
	if _, err := Join(m.File(), 1); err == nil {
		t.Error("a slot behind the end is joined")
	}
	if err := m.File().Truncate(0); err == nil {
		t.Error("the memory can be cut")
	}
	fd, err := unix.MemfdCreate("empty", unix.MFD_CLOEXEC)
	testkit.Must(t, err)
	empty := os.NewFile(uintptr(fd), "empty")
	defer empty.Close()
	if _, err := Join(empty, 0); err == nil {
		t.Error("an empty file is joined")
	}
}

// A worker sees what the others count, and cannot change it.
func TestView(t *testing.T) {
	m := newMemory(t, 2)
	first, second := join(t, m, 0), join(t, m, 1)
	view, err := View(m.File())
	testkit.Must(t, err)
	first.OrdersPlaced.Add(3)
	second.OrdersPlaced.Add(4)
	second.Connections.Set(5)
	if view.Slots() != 2 || view.Counters(0).OrdersPlaced.Value() != 3 ||
		view.Counters(1).OrdersPlaced.Value() != 4 {
		t.Errorf("%d slots with %d and %d orders", view.Slots(), view.Counters(0).OrdersPlaced.Value(),
			view.Counters(1).OrdersPlaced.Value())
	}
	if running := view.Running(1); len(running) != 1 || running[0].Connections.Value() != 5 {
		t.Errorf("the second slot has %d workers", len(running))
	}
	if got := protections(t, m.File()); !slices.Contains(got, "r--s") {
		t.Errorf("the file is mapped as %q, want also as one to be read only", got)
	}
}

// protections are how this process has mapped a file, as /proc has it.
func protections(t *testing.T, file *os.File) (found []string) {
	t.Helper()
	info, err := file.Stat()
	testkit.Must(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	testkit.Must(t, err)
	inode := fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); fields[4] == inode {
			found = append(found, fields[1])
		}
	}
	return found
}

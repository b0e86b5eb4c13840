package compare

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
)

const (
	watchSamples     = 120                    // in a soak, if the shortest interval allows
	watchIntervalMin = 250 * time.Millisecond // a worker stands still while it counts its goroutines
	watchTimeout     = 5 * time.Second        // for one count of a worker's goroutines
	startTimeout     = 20 * time.Second       // for every worker to start
)

func watchInterval(d time.Duration) time.Duration { return max(watchIntervalMin, d/watchSamples) }

// Measure is one of the figures that must not grow.
type Measure string

const (
	// resident, without the catalogue's image, which all processes share and touch bit by bit
	memory     Measure = "memory, MB"
	threads    Measure = "threads"
	files      Measure = "files"
	goroutines Measure = "goroutines"
)

// gauge is a figure of one process.
type gauge struct {
	process string // name and pid, for goroutines the worker's number
	store   bool
	measure Measure
}

// watcher samples the processes of a server.
type watcher struct {
	roots    []int
	profiles int // port of worker 0's profiles, the others' follow
	workers  int
	interval time.Duration
	http     http.Client
	samples  []sample
}

// sample is one reading of all gauges, without those that could not be read.
type sample map[gauge]float64

func newWatcher(roots []int, profiles, workers int, interval time.Duration) *watcher {
	return &watcher{roots: roots, profiles: profiles, workers: workers, interval: interval,
		http: http.Client{Transport: &http.Transport{Proxy: nil}, Timeout: watchTimeout}}
}

// awaitWorkers waits until every worker serves its profiles: a server is ready with its first worker.
func (w *watcher) awaitWorkers(ctx context.Context) error {
	worker := 0
	return testkit.Await(ctx, "profiles of all workers", startTimeout, func() bool {
		for ; worker < w.workers; worker++ {
			if _, err := w.goroutines(worker); err != nil {
				return false
			}
		}
		return true
	})
}

// start begins to take samples; stop ends that and returns the errors.
func (w *watcher) start() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.watch(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func (w *watcher) watch(ctx context.Context) error {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	defer w.http.CloseIdleConnections()
	for {
		now, err := w.look()
		if err != nil {
			return fmt.Errorf("cannot watch the server: %w", err)
		}
		w.samples = append(w.samples, now)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look reads all gauges, without children of a store: they rewrite its log and end.
func (w *watcher) look() (sample, error) {
	table, err := proc.All()
	if err != nil {
		return nil, err
	}
	now := sample{}
	picked := proc.Tree(table, w.roots...)
	for _, p := range picked {
		ofStore := slices.ContainsFunc(picked,
			func(other proc.Stat) bool { return other.PID == p.Parent && isStore(other.Name) })
		if !ofStore {
			now.addProcess(p)
		}
	}
	for worker := range w.workers {
		if n, err := w.goroutines(worker); err == nil {
			now[gauge{"worker " + strconv.Itoa(worker), false, goroutines}] = float64(n)
		}
	}
	return now, nil
}

// addProcess adds the gauges of a process, unless it has ended since the table was read.
func (s sample) addProcess(p proc.Stat) {
	status, err1 := proc.ReadStatus(p.PID)
	descriptors, err2 := proc.Files(p.PID)
	if errors.Join(err1, err2) != nil {
		return
	}
	name, store := p.Name+" "+strconv.Itoa(p.PID), isStore(p.Name)
	s[gauge{name, store, memory}] = float64(status.Resident-status.Shared) / (1 << 20)
	s[gauge{name, store, threads}] = float64(status.Threads)
	s[gauge{name, store, files}] = float64(descriptors)
}

// goroutines asks a worker for their number.
func (w *watcher) goroutines(worker int) (n int, err error) {
	response, err := w.http.Get(fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/goroutine?debug=1",
		w.profiles+worker))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("cannot read goroutines of worker %d: %w", worker, err)
	}
	if _, err := fmt.Sscanf(line, "goroutine profile: total %d", &n); err != nil {
		return 0, fmt.Errorf("cannot read goroutines of worker %d from %.40q: %w", worker, line, err)
	}
	return n, nil
}

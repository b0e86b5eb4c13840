package supervise

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
)

// play is the part that a test worker plays; it travels as the handover's value, with the list of starts
// as a file.
type play struct {
	Generation int
	Exit       []int // slots in which the worker ends before it is ready
	Hang       bool  // never becomes ready
	Stubborn   bool  // ignores every signal that can be ignored
	Secret     string
}

// The test binary itself is the worker, and the supervisor of the test that kills one.
func TestMain(m *testing.M) {
	// The race detector would make every worker's exit last a second.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	worker, err := Inherited()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case worker != nil:
		err := work(worker)
		fmt.Fprintln(os.Stderr, "test worker:", err)
		os.Exit(1)
	case os.Getenv(supervisorRole) != "":
		err := superviseUntilKilled()
		fmt.Fprintln(os.Stderr, "test supervisor:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// work serves as a worker and returns only when something went wrong.
func work(w *Worker) error {
	var part play
	if w.Role == clockRole {
		return tick(w)
	}
	if err := w.Value(&part); err != nil {
		return err
	}
	for _, slot := range part.Exit {
		if slot == w.Slot {
			os.Exit(3)
		}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	if part.Hang {
		select {}
	}

	var open guests
	retiring, stopping := make(chan struct{}), make(chan struct{})
	server := &http.Server{Handler: handler(w.Slot, part.Generation, retiring, stopping), ConnState: open.count}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		server.Serve(w.Listener)
	}()
	if err := w.Ready(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w.Files["starts"], "%d %d\n", w.Slot, os.Getpid()); err != nil {
		return err
	}
	for got := range signals {
		switch {
		case part.Stubborn:
		case got == syscall.SIGTERM:
			close(stopping)
			if err := server.Shutdown(context.Background()); err != nil {
				return err
			}
			os.Exit(0)
		case got == syscall.SIGHUP:
			close(retiring)
			w.Listener.Close()
			<-closed // no connection is on its way from the queue to the count any more
			go func() {
				open.Wait()
				os.Exit(0)
			}()
		}
	}
	return nil
}

// guests counts open connections.
type guests struct{ sync.WaitGroup }

func (g *guests) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		g.Add(1)
	case http.StateClosed:
		g.Done()
	}
}

// handler answers "slot process generation". /wait begins its answer at once and ends it when the worker
// stops.
func handler(slot, generation int, retiring, stopping <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-retiring:
			w.Header().Set("Connection", "close")
		default:
		}
		fmt.Fprintf(w, "%d %d %d", slot, os.Getpid(), generation)
	})
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begun ")
		w.(http.Flusher).Flush()
		<-stopping
		io.WriteString(w, "done")
	})
	return mux
}

func TestInheritedOutsideOfASupervisor(t *testing.T) {
	if w, err := Inherited(); w != nil || err != nil {
		t.Errorf("Inherited() = %v, %v in a process that is no worker", w, err)
	}
	for role, want := range map[string]string{"sale/0": "cannot read handover",
		"sale/first": "cannot read FLASHSALE_WORKER",
		"0":          "cannot read FLASHSALE_WORKER"} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), roleVariable+"="+role)
		output, err := cmd.CombinedOutput()
		if err == nil || err.Error() != "exit status 2" {
			t.Errorf("role %q: %v, want exit status 2", role, err)
		}
		if !strings.Contains(string(output), want) || !strings.Contains(string(output), "unset it") {
			t.Errorf("role %q: message %q, want %q", role, output, want)
		}
	}
}

func TestHandoverArrivesWhole(t *testing.T) {
	value := strings.Repeat("<é\"", (valueMost-2)/5)
	files := map[string]*os.File{}
	var names []string
	for i := range filesMost {
		name := fmt.Sprintf("%0*d", fileNameMost, i)
		names, files[name] = append(names, name), os.Stdin
	}
	sent, err := Handover{saleRole: {value, files}}.pack(saleWorkers(1, "127.0.0.1:0"))
	testkit.Must(t, err)
	sealed, err := sent.seal()
	testkit.Must(t, err)
	defer sealed.Close()
	got, err := unseal(sealed)
	if err != nil || !slices.Equal(got.Files, names) || !got.Listens {
		t.Fatalf("got files %q, a socket %v, %v", got.Files, got.Listens, err)
	}
	var arrived string
	if err := (&Worker{value: got.Value}).Value(&arrived); err != nil || arrived != value {
		t.Errorf("got %d bytes of %d, %v", len(arrived), len(value), err)
	}
}

func TestHandoverLimits(t *testing.T) {
	many := map[string]*os.File{}
	for i := range filesMost + 1 {
		many[fmt.Sprint(i)] = os.Stdin
	}
	for want, handover := range map[string]Handover{
		"its value has 1048577 bytes, the limit is 1048576": {
			saleRole: {Value: strings.Repeat("a", valueMost-1)}},
		"it has 65 files, the limit is 64": {saleRole: {Files: many}},
		`it has a file named ""; a name has 1 to 64 bytes and is there once`: {
			saleRole: {Files: map[string]*os.File{"": os.Stdin}}},
		"json: unsupported type: chan int":  {saleRole: {Value: make(chan int)}},
		"the handover has nothing for them": {},
	} {
		s, err := New(Config{Roles: []Role{saleWorkers(1, "127.0.0.1:0")}})
		testkit.Must(t, err)
		want = "cannot hand over to sale workers: " + want
		if err := s.Run(t.Context(), handover); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

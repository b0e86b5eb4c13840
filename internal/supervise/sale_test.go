package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// The roles of the tests: the workers of a sale, and another kind without sockets.
const (
	saleRole  = "sale"
	clockRole = "clock"
)

// sale is a supervisor under test.
type sale struct {
	*Supervisor
	address string
	t       *testing.T
	part    play     // of the first workers
	starts  *os.File // one line "slot process" per worker that became ready
	cancel  context.CancelFunc
	result  chan error
}

// openSale makes a supervisor of a sale on any free port. It does not run yet.
func openSale(t *testing.T, workers int, drain time.Duration, part play) *sale {
	t.Helper()
	return openRoles(t, drain, part, saleWorkers(workers, "127.0.0.1:0"))
}

func saleWorkers(count int, address string) Role {
	return Role{Name: saleRole, Count: count, Address: address, Setting: "-app-port (APP_PORT)", Processors: 1}
}

func openRoles(t *testing.T, drain time.Duration, part play, roles ...Role) *sale {
	t.Helper()
	testkit.KeepLog(t)
	starts, err := os.OpenFile(filepath.Join(t.TempDir(), "starts"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	testkit.Must(t, err)
	t.Cleanup(func() { starts.Close() })
	s := &sale{t: t, part: part, starts: starts, result: make(chan error, 1)}
	s.Supervisor, err = New(Config{Roles: roles, Drain: drain})
	testkit.Must(t, err)
	s.address = s.Address(saleRole)
	return s
}

// handover gives every role its part and the list of starts, and the clocks a file of their own before it.
func (s *sale) handover(part play) Handover {
	return Handover{
		saleRole: {Value: part, Files: map[string]*os.File{"starts": s.starts}},
		clockRole: {Value: clock{Tick: part.Generation}, Files: map[string]*os.File{"starts": s.starts,
			"a": os.Stdin}},
	}
}

// run runs the supervisor until the end of the test at the latest.
func (s *sale) run() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		s.result <- s.Run(ctx, s.handover(s.part))
		close(s.result)
	}()
	s.t.Cleanup(func() {
		cancel()
		<-s.result
	})
}

// stop ends the supervisor and fails the test if that is not in order.
func (s *sale) stop() {
	s.t.Helper()
	s.cancel()
	if err := <-s.result; err != nil {
		s.t.Errorf("Run returned %v", err)
	}
}

// startSale runs a supervisor and waits until all its workers are ready.
func startSale(t *testing.T, workers int, drain time.Duration, part play) *sale {
	t.Helper()
	return openSale(t, workers, drain, part).start()
}

// start runs the supervisor and waits until all its workers are ready.
func (s *sale) start() *sale {
	s.t.Helper()
	s.run()
	select {
	case <-s.Ready():
	case err := <-s.result:
		s.t.Fatalf("Run returned %v before the workers were ready", err)
	}
	// Each worker writes its line just after it has told that it is ready.
	testkit.Until(s.t, "list of starts", func() bool { return len(s.started()) == len(s.slots) })
	return s
}

// started returns the slot and process of each worker that became ready, in that order.
func (s *sale) started() [][2]int {
	s.t.Helper()
	text, err := os.ReadFile(s.starts.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	var list [][2]int
	for line := range strings.Lines(string(text)) {
		var start [2]int
		if _, err := fmt.Sscan(line, &start[0], &start[1]); err == nil && strings.HasSuffix(line, "\n") {
			list = append(list, start)
		}
	}
	return list
}

// last returns the process of the last worker that became ready in the slot.
func (s *sale) last(slot int) int {
	s.t.Helper()
	list := s.started()
	for i := len(list) - 1; i >= 0; i-- {
		if list[i][0] == slot {
			return list[i][1]
		}
	}
	s.t.Fatalf("no worker started in slot %d", slot)
	return 0
}

// answer is a test worker's reply.
type answer struct{ slot, process, generation int }

// ask sends one request through the client.
func (s *sale) ask(client *http.Client) (answer, error) {
	// A POST is not sent a second time by the client when the server closes the connection under it.
	response, err := client.Post("http://"+s.address+"/", "text/plain", strings.NewReader("?"))
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	var a answer
	_, err = fmt.Sscan(string(text), &a.slot, &a.process, &a.generation)
	return a, err
}

// mustAsk sends one request through the client.
func (s *sale) mustAsk(client *http.Client) answer {
	s.t.Helper()
	a, err := s.ask(client)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// newcomer returns a client that opens a new connection for each request.
func newcomer() *http.Client {
	return &http.Client{Timeout: testkit.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
}

// regular returns a client that keeps one connection open.
func regular(t *testing.T) *http.Client {
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: testkit.Patience, Transport: transport}
}

// regularOf returns a client that keeps a connection to the worker of the slot.
func (s *sale) regularOf(slot int) *http.Client {
	s.t.Helper()
	for range 1000 {
		if client := regular(s.t); s.mustAsk(client).slot == slot {
			return client
		}
	}
	s.t.Fatalf("1000 connections and none went to slot %d", slot)
	return nil
}

func kill(t *testing.T, process int) {
	t.Helper()
	testkit.Must(t, syscall.Kill(process, syscall.SIGKILL))
}

// gone reports whether a process has ended and was waited for.
func gone(process int) bool { return errors.Is(syscall.Kill(process, 0), syscall.ESRCH) }

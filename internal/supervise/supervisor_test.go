package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/child"
)

// supervisorRole makes the test binary a supervisor that runs until it is killed.
const supervisorRole = "SUPERVISE_TEST_SUPERVISOR"

// sale is a supervisor under test.
type sale struct {
	*Supervisor
	t      *testing.T
	starts *os.File // one line "slot process" per worker that became ready
	cancel context.CancelFunc
	result chan error
}

// openSale makes a supervisor on any free port. It does not run yet.
func openSale(t *testing.T, workers int, drain time.Duration, part play) *sale {
	t.Helper()
	starts, err := os.OpenFile(filepath.Join(t.TempDir(), "starts"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { starts.Close() })
	s := &sale{t: t, starts: starts, result: make(chan error, 1)}
	s.Supervisor, err = New(Config{Workers: workers, Address: "127.0.0.1:0", Drain: drain}, s.handover(part))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sale) handover(part play) Handover {
	return Handover{Values: part.values(s.t), Files: []*os.File{s.starts}}
}

// run runs the supervisor until the end of the test at the latest.
func (s *sale) run() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		s.result <- s.Run(ctx)
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
	s := openSale(t, workers, drain, part)
	s.run()
	select {
	case <-s.Ready():
	case err := <-s.result:
		t.Fatalf("Run returned %v before the workers were ready", err)
	}
	// Each worker writes its line just after it has said that it is ready.
	within(t, "list of starts", func() bool { return len(s.started()) == workers })
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

// answer is what a test worker says about itself.
type answer struct{ slot, process, generation int }

// ask sends one request through the client.
func (s *sale) ask(client *http.Client) (answer, error) {
	// A POST is not sent a second time by the client when the server closes the connection under it.
	response, err := client.Post("http://"+s.Address()+"/", "text/plain", strings.NewReader("?"))
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
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
}

// regular returns a client that keeps one connection open.
func regular(t *testing.T) *http.Client {
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: 20 * time.Second, Transport: transport}
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
	if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// gone reports whether a process has ended and was waited for.
func gone(process int) bool { return errors.Is(syscall.Kill(process, 0), syscall.ESRCH) }

// within polls until condition holds, for at most twenty seconds.
func within(t *testing.T, what string, condition func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(20 * time.Second); !condition(); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within twenty seconds", what)
		}
	}
}

func TestWorkersServeOnePort(t *testing.T) {
	s := startSale(t, 3, time.Second, play{Secret: "correct horse"})
	for slot := range 3 {
		if got := s.mustAsk(s.regularOf(slot)); got.process != s.last(slot) {
			t.Errorf("slot %d is served by process %d, want %d", slot, got.process, s.last(slot))
		}
		var seen []string
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.last(slot), file))
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, strings.Split(string(text), "\x00")...)
		}
		visible := strings.Join(seen, "\n")
		if strings.Contains(visible, "correct horse") {
			t.Error("a value of the handover is visible to ps")
		}
		for _, want := range []string{os.Args[0], "GOMAXPROCS=1", fmt.Sprintf("%s=%d", roleVariable, slot)} {
			if !strings.Contains(visible, want) {
				t.Errorf("arguments and environment of worker %d lack %s", slot, want)
			}
		}
	}
	s.stop()
	if conn, err := net.Dial("tcp", s.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after the stop: %v, %v; want connection refused", conn, err)
	}
	if list := s.started(); len(list) != 3 {
		t.Errorf("%d workers were started, want 3", len(list))
	}
}

func TestPortInUse(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	other := startSale(t, 1, time.Second, play{})
	for _, address := range []string{plain.Addr().String(), other.Address()} {
		want := "cannot listen on " + address + ": another program uses that port; stop it or choose another port"
		if _, err := New(Config{Workers: 2, Address: address}, Handover{}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestNewRefusesBadSettings(t *testing.T) {
	for want, cfg := range map[string]Config{
		"cannot supervise 0 workers, the least is 1":   {Workers: 0, Address: "127.0.0.1:0"},
		"cannot listen on 127.0.0.1:70000: listen tcp": {Workers: 1, Address: "127.0.0.1:70000"},
	} {
		if _, err := New(cfg, Handover{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestFirstWorkerEndsBeforeItIsReady(t *testing.T) {
	s := openSale(t, 2, time.Second, play{Exit: []int{1}})
	s.run()
	want := "worker 1 ended before it was ready: exit status 3; its message is above"
	if err := <-s.result; err == nil || err.Error() != want {
		t.Errorf("Run returned %v, want %q", err, want)
	}
	select {
	case <-s.Ready():
		t.Error("supervisor is ready")
	default:
	}
	for _, start := range s.started() {
		if !gone(start[1]) {
			t.Errorf("worker %d is left behind", start[0])
		}
	}
	if err := s.Roll(t.Context(), s.handover(play{})); !errors.Is(err, ErrStopped) {
		t.Errorf("Roll returned %v, want ErrStopped", err)
	}
}

func TestFirstWorkerIsNeverReady(t *testing.T) {
	s := openSale(t, 1, time.Second, play{Hang: true})
	s.slots[0].readyLimit = 100 * time.Millisecond
	s.run()
	want := "worker 0 was not ready within 100ms"
	if err := <-s.result; err == nil || err.Error() != want {
		t.Errorf("Run returned %v, want %q", err, want)
	}
}

func TestStopBeforeTheFirstWorkerIsReady(t *testing.T) {
	s := openSale(t, 2, time.Hour, play{Hang: true})
	s.run()
	s.stop()
}

func TestStopAnswersWhatIsInFlight(t *testing.T) {
	s := startSale(t, 1, time.Minute, play{})
	response, err := newcomer().Get("http://" + s.Address() + "/wait")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	s.stop()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "begun done" {
		t.Errorf("answer %q, %v; want \"begun done\"", text, err)
	}
}

func TestStopKillsAWorkerThatDoesNotEnd(t *testing.T) {
	s := startSale(t, 1, 10*time.Millisecond, play{Stubborn: true})
	start := time.Now()
	s.stop()
	if took, least := time.Since(start), 10*time.Millisecond+killGrace; took < least || took > 10*least {
		t.Errorf("stop took %v, want little more than %v", took, least)
	}
	if !gone(s.last(0)) {
		t.Error("worker lives")
	}
}

// superviseUntilKilled runs a supervisor whose workers hold the files inherited as descriptors 3 and 4.
func superviseUntilKilled() error {
	files := []*os.File{os.NewFile(3, "starts"), os.NewFile(4, "life")}
	s, err := New(Config{Workers: 2, Address: "127.0.0.1:0"}, Handover{Values: []byte("{}"), Files: files})
	if err != nil {
		return err
	}
	go func() {
		<-s.Ready()
		fmt.Println(s.Address())
	}()
	return s.Run(context.Background())
}

func TestWorkersEndWithTheirKilledSupervisor(t *testing.T) {
	// The pipe ends when nobody holds its other end any more: neither the supervisor nor a worker.
	life, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer life.Close()
	starts, err := os.Create(filepath.Join(t.TempDir(), "starts"))
	if err != nil {
		t.Fatal(err)
	}
	defer starts.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), supervisorRole+"=1")
	cmd.ExtraFiles = []*os.File{starts, held}
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	held.Close()
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(line)
	s := &sale{Supervisor: &Supervisor{address: address}, t: t}
	s.mustAsk(newcomer())

	kill(t, cmd.Process.Pid)
	cmd.Wait()
	life.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := life.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("a worker lives after kill -9 of its supervisor: %v", err)
	}
	next, err := New(Config{Workers: 1, Address: address}, Handover{})
	if err != nil {
		t.Fatalf("port is not free after kill -9 of the supervisor: %v", err)
	}
	next.slots[0].socket.close()
}

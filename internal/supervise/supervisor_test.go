package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
)

// supervisorRole makes the test binary a supervisor that runs until it is killed.
const supervisorRole = "SUPERVISE_TEST_SUPERVISOR"

func TestWorkersServeOnePort(t *testing.T) {
	s := startSale(t, 3, time.Second, play{Secret: "correct horse"})
	for slot := range 3 {
		if got := s.mustAsk(s.regularOf(slot)); got.process != s.last(slot) {
			t.Errorf("slot %d is served by process %d, want %d", slot, got.process, s.last(slot))
		}
		var seen []string
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.last(slot), file))
			testkit.Must(t, err)
			seen = append(seen, strings.Split(string(text), "\x00")...)
		}
		visible := strings.Join(seen, "\n")
		if strings.Contains(visible, "correct horse") {
			t.Error("a value of the handover is visible to ps")
		}
		for _, want := range []string{os.Args[0], "GOMAXPROCS=1", fmt.Sprintf("%s=sale/%d", roleVariable, slot)} {
			if !strings.Contains(visible, want) {
				t.Errorf("arguments and environment of worker %d lack %s", slot, want)
			}
		}
	}
	s.stop()
	if conn, err := net.Dial("tcp", s.address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after the stop: %v, %v; want connection refused", conn, err)
	}
	if list := s.started(); len(list) != 3 {
		t.Errorf("%d workers were started, want 3", len(list))
	}
}

func TestPortInUse(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer plain.Close()
	other := startSale(t, 1, time.Second, play{})
	for _, address := range []string{plain.Addr().String(), other.address} {
		want := "cannot listen on " + address + ": another program uses that port; " +
			"stop it or choose another with -app-port (APP_PORT)"
		if _, err := New(Config{Roles: []Role{saleWorkers(2, address)}}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestSocketStaysNonBlockingWhenHandedOver(t *testing.T) {
	s, err := listen("127.0.0.1:0")
	testkit.Must(t, err)
	defer s.close()
	file, err := s.file()
	testkit.Must(t, err)
	defer file.Close()
	file.Fd() // as os/exec does; it clears the flag on files that package os has set it on
	flags, err := unix.FcntlInt(uintptr(s), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("socket has flags %#x, %v; want O_NONBLOCK", flags, err)
	}
}

func TestNewRefusesBadSettings(t *testing.T) {
	for want, roles := range map[string][]Role{
		"cannot supervise 0 sale workers, the least is 1":             {saleWorkers(0, "127.0.0.1:0")},
		"cannot listen on 127.0.0.1:70000: listen tcp":                {saleWorkers(1, "127.0.0.1:70000")},
		"cannot supervise without a role":                             {},
		`cannot supervise role "": each role needs a name of its own`: {{Count: 1}},
		`cannot supervise role "sale": each role needs a name of its own`: {saleWorkers(1, ""),
			saleWorkers(1, "")},
	} {
		if _, err := New(Config{Roles: roles}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestFirstWorkerEndsBeforeItIsReady(t *testing.T) {
	s := openSale(t, 2, time.Second, play{Exit: []int{1}})
	s.run()
	want := "sale worker 1 ended before it was ready: exit status 3; its message is above"
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
	testkit.Wants(t, "Roll returned", s.Roll(t.Context(), s.handover(play{})), ErrStopped)
}

func TestFirstWorkerIsNeverReady(t *testing.T) {
	s := openSale(t, 1, time.Second, play{Hang: true})
	s.slots[0].readyLimit = 100 * time.Millisecond
	s.run()
	want := "sale worker 0 was not ready within 100ms"
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
	response, err := newcomer().Get("http://" + s.address + "/wait")
	testkit.Must(t, err)
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
	if took, least := time.Since(start), 10*time.Millisecond+killGrace; took < least {
		t.Errorf("stop took %v, want at least %v", took, least)
	}
	if !gone(s.last(0)) {
		t.Error("worker lives")
	}
}

// superviseUntilKilled runs a supervisor; its workers hold the files that it inherited as descriptors 3
// and 4.
func superviseUntilKilled() error {
	files := map[string]*os.File{"starts": os.NewFile(3, "starts"), "life": os.NewFile(4, "life")}
	s, err := New(Config{Roles: []Role{saleWorkers(2, "127.0.0.1:0")}})
	if err != nil {
		return err
	}
	go func() {
		<-s.Ready()
		fmt.Println(s.Address(saleRole))
	}()
	return s.Run(context.Background(), Handover{saleRole: {play{}, files}})
}

func TestWorkersEndWithTheirKilledSupervisor(t *testing.T) {
	// The pipe ends once neither the supervisor nor a worker holds its other end.
	life, held, err := os.Pipe()
	testkit.Must(t, err)
	defer life.Close()
	starts, err := os.Create(filepath.Join(t.TempDir(), "starts"))
	testkit.Must(t, err)
	defer starts.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), supervisorRole+"=1")
	cmd.ExtraFiles = []*os.File{starts, held}
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, child.Start(cmd, syscall.SIGKILL))
	held.Close()
	line, err := bufio.NewReader(output).ReadString('\n')
	testkit.Must(t, err)
	address := strings.TrimSpace(line)
	s := &sale{address: address, t: t}
	s.mustAsk(newcomer())

	kill(t, cmd.Process.Pid)
	cmd.Wait()
	life.SetReadDeadline(time.Now().Add(testkit.Patience))
	if _, err := life.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("a worker lives after kill -9 of its supervisor: %v", err)
	}
	// A process that ends closes its files one by one, perhaps the pipe first.
	testkit.Until(t, "free port", func() bool {
		next, err := New(Config{Roles: []Role{saleWorkers(1, address)}})
		if err == nil {
			next.Close()
		}
		return err == nil
	})
}

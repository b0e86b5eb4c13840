package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
)

// parentRole makes the test binary a process that starts a child and is then killed.
const parentRole = "CHILD_TEST_PARENT"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(parentRole) != "":
		parent()
	case os.Getenv(programRole) != "":
		tellProgram()
	}
	os.Exit(m.Run())
}

func parent() {
	sleep := exec.Command("sleep", "60")
	sleep.ExtraFiles = []*os.File{os.NewFile(3, "life")}
	if err := Start(sleep, syscall.SIGTERM); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("started\n")
	select {}
}

func TestChildEndsWhenItsParentIsKilled(t *testing.T) {
	// The pipe ends once neither the parent nor its child holds its other end.
	life, held, err := os.Pipe()
	testkit.Must(t, err)
	defer life.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), parentRole+"=1")
	cmd.ExtraFiles = []*os.File{held}
	output, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, Start(cmd, syscall.SIGKILL))
	held.Close()
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "started\n" {
		t.Fatalf("parent wrote %q, %v", line, err)
	}
	testkit.Must(t, cmd.Process.Kill())
	life.SetReadDeadline(time.Now().Add(testkit.Patience))
	if _, err := life.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("child lives after kill -9 of its parent: %v", err)
	}
	cmd.Wait()
}

// The main thread does not end with a goroutine that is locked to it, so no test may run there.
func init() { runtime.LockOSThread() }

func TestChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	cat := exec.Command("cat")
	input, err := cat.StdinPipe()
	testkit.Must(t, err)
	output, err := cat.StdoutPipe()
	testkit.Must(t, err)
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		if err := Start(cat, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		thread <- syscall.Gettid()
	}()
	asked := <-thread
	testkit.Until(t, "end of the thread", func() bool {
		return errors.Is(syscall.Tgkill(os.Getpid(), asked, 0), syscall.ESRCH)
	})
	if _, err := io.WriteString(input, "alive\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "alive\n" {
		t.Fatalf("cat answered %q, %v", line, err)
	}
	input.Close()
	testkit.Must(t, cat.Wait())
}

func TestChildLeadsItsOwnProcessGroup(t *testing.T) {
	cmd, ended := shell(t, "echo ready; read line")
	group, err := syscall.Getpgid(cmd.Process.Pid)
	if err != nil || group != cmd.Process.Pid {
		t.Errorf("process group %d, %v; want that of the child, %d", group, err, cmd.Process.Pid)
	}
	Finish(cmd.Process, ended, syscall.SIGKILL, time.Minute)
}

func TestFinishLetsAChildEndByItself(t *testing.T) {
	cmd, ended := shell(t, "trap 'exit 7' TERM; echo ready; read line")
	if Finish(cmd.Process, ended, syscall.SIGTERM, time.Minute) {
		t.Error("child was killed")
	}
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if Finish(cmd.Process, ended, syscall.SIGTERM, time.Minute) {
		t.Error("child that had ended was killed")
	}
}

func TestFinishKillsAChildThatDoesNotEnd(t *testing.T) {
	cmd, ended := shell(t, "trap '' TERM; echo ready; read line")
	if !Finish(cmd.Process, ended, syscall.SIGTERM, 50*time.Millisecond) {
		t.Error("child was not killed")
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("child ended with %v", cmd.ProcessState)
	}
}

func TestStartReportsWhatCannotBeStarted(t *testing.T) {
	testkit.Wants(t, "error", Start(exec.Command("/nowhere/program"), syscall.SIGTERM), os.ErrNotExist)
}

func TestBackoff(t *testing.T) {
	var b Backoff
	for i, step := range []struct{ alive, want time.Duration }{
		{0, 100 * time.Millisecond},
		{0, 200 * time.Millisecond},
		{9 * time.Second, 400 * time.Millisecond},
		{0, 800 * time.Millisecond},
		{0, time.Second},
		{0, time.Second},
		{10 * time.Second, 100 * time.Millisecond},
		{0, 200 * time.Millisecond},
	} {
		if got := b.After(step.alive); got != step.want {
			t.Errorf("step %d: delay %v, want %v", i, got, step.want)
		}
	}
}

// shell starts a script that writes "ready" and waits until it has. Its standard input stays open, so
// that the script can wait by reading from it.
func shell(t *testing.T, script string) (*exec.Cmd, <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, Start(cmd, syscall.SIGKILL))
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "ready\n" {
		t.Fatalf("script wrote %q, %v", line, err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	return cmd, ended
}

// Only children that ask for it are scheduled in batches; the policy of the thread that forks is as before.
func TestStartBatch(t *testing.T) {
	for _, test := range []struct {
		start func(*exec.Cmd, syscall.Signal) error
		want  uint32
	}{{StartBatch, unix.SCHED_BATCH}, {Start, unix.SCHED_NORMAL}, {StartBatch, unix.SCHED_BATCH}} {
		cmd := exec.Command("sleep", "60")
		testkit.Must(t, test.start(cmd, syscall.SIGKILL))
		attr, err := unix.SchedGetAttr(cmd.Process.Pid, 0)
		if err != nil || attr.Policy != test.want {
			t.Errorf("policy %+v, %v; want %d", attr, err, test.want)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// programRole makes the test binary print Program for each line that it reads.
const programRole = "CHILD_TEST_PROGRAM"

func tellProgram() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(Program())
	}
	os.Exit(0)
}

// Program is the path of the binary only while the binary stands there.
func TestProgram(t *testing.T) {
	binary, err := os.ReadFile("/proc/self/exe")
	testkit.Must(t, err)
	path := filepath.Join(t.TempDir(), "program")
	testkit.Must(t, os.WriteFile(path, binary, 0o700))
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), programRole+"=1")
	input, err := cmd.StdinPipe()
	testkit.Must(t, err)
	output, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	defer cmd.Wait()
	defer input.Close()
	answers := bufio.NewReader(output)
	expect := func(when, want string) {
		t.Helper()
		if _, err := io.WriteString(input, "?\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); strings.TrimSpace(line) != want {
			t.Errorf("%s: %q, %v; want %q", when, line, err, want)
		}
	}
	expect("in its place", path)
	testkit.Must(t, os.Remove(path))
	expect("removed", "/proc/self/exe")
	testkit.Must(t, os.WriteFile(path, binary, 0o700))
	expect("replaced", "/proc/self/exe")
}

package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
)

func TestParse(t *testing.T) {
	const rest = " S 7 1 2 0 -1 4194560 1 2 3 4 100 50 20 10 20 0 8 0 12 34\n"
	for name, line := range map[string]string{
		"redis-server": "42 (redis-server)" + rest,
		"a b":          "42 (a b)" + rest,
		") Z 1 (":      "42 () Z 1 ()" + rest,
		"x\ny":         "42 (x\ny)" + rest,
		"":             "42 ()" + rest,
	} {
		got, err := Parse([]byte(line))
		want := Stat{PID: 42, Parent: 7, Name: name, State: 'S', CPU: 1500 * time.Millisecond,
			ReapedCPU: 300 * time.Millisecond}
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "42", "(x)" + rest, ")42 (x", "42 (x)", "42 (x) S 7 1", "a (x)" + rest,
		"42 (x) SS 7 1 2 0 -1 4194560 1 2 3 4 100 50 20 10", "42 (x) S b 1 2 0 -1 4194560 1 2 3 4 100 50 20 10"} {
		if got, err := Parse([]byte(line)); err == nil {
			t.Errorf("%q is read as %+v", line, got)
		}
	}
}

// The name stands between the first opening and the last closing bracket.
func FuzzParse(f *testing.F) {
	line, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte("1 (a) b (c)) Z 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := Parse(line)
		if err != nil {
			return
		}
		before, _, _ := strings.Cut(string(line), "(")
		rest, found := strings.CutPrefix(string(line), before+"("+s.Name+")")
		if !found || strings.Contains(rest, ")") {
			t.Errorf("the name in %q is read as %q", line, s.Name)
		}
	})
}

func TestRead(t *testing.T) {
	s, err := Read(os.Getpid())
	if err != nil || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Dead() || !Alive(os.Getpid()) {
		t.Errorf("this process is read as %+v, %v", s, err)
	}
	if want := filepath.Base(os.Args[0]); !strings.HasPrefix(want, s.Name) {
		t.Errorf("this process has the name %q, want the first bytes of %q", s.Name, want)
	}
	if _, err := Read(1 << 30); !errors.Is(err, fs.ErrNotExist) || Alive(1<<30) {
		t.Errorf("a process that is not there: %v", err)
	}
}

// start runs a program that ends with the test.
func start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the only error is that it has ended
		_ = cmd.Wait()
	})
	return cmd
}

func TestAliveTellsAZombieFromARunningProcess(t *testing.T) {
	if !Alive(os.Getpid()) {
		t.Error("this process is not alive")
	}
	cmd := exec.Command("cat")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !Alive(cmd.Process.Pid) {
		t.Error("running child is not alive")
	}
	input.Close()
	// Wait for its end, but leave it as a zombie.
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if Alive(cmd.Process.Pid) {
		t.Error("zombie is alive")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if Alive(cmd.Process.Pid) {
		t.Error("child that is gone is alive")
	}
}

// The children of a process are those that live and run that program.
func TestChildren(t *testing.T) {
	first, second := start(t, "sleep", "60"), start(t, "sleep", "60")
	check := func(program string, want ...int) {
		t.Helper()
		found, err := Children(os.Getpid(), program)
		slices.Sort(found)
		slices.Sort(want)
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("children with program %s: %v, %v; want %v", program, found, err, want)
		}
	}
	check("sleep", first.Process.Pid, second.Process.Pid)
	check("slee")
	if err := second.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, second.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	check("sleep", first.Process.Pid)
	if _, err := ReadStatus(second.Process.Pid); err == nil {
		t.Error("a child that has ended has a status")
	}
}

func TestTree(t *testing.T) {
	table := []Stat{{PID: 4, Parent: 3}, {PID: 1}, {PID: 2, Parent: 1}, {PID: 3, Parent: 2},
		{PID: 5, Parent: 1}}
	var picked []int
	for _, s := range Tree(table, 2) {
		picked = append(picked, s.PID)
	}
	if !slices.Equal(picked, []int{2, 3, 4}) {
		t.Errorf("the tree below 2 is %v", picked)
	}
	all, err := All()
	if own := Tree(all, os.Getpid()); err != nil || len(own) == 0 || own[0].PID != os.Getpid() {
		t.Errorf("the tree of this process is %v, %v", own, err)
	}
}

func TestWords(t *testing.T) {
	arguments, err := Arguments(os.Getpid())
	if err != nil || !slices.Equal(arguments, os.Args) {
		t.Errorf("arguments %q, %v; want %q", arguments, err, os.Args)
	}
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"A=1", "B=x y"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	// The kernel writes it down a moment after Start has seen the program begin.
	testkit.Until(t, "environment of the child", func() bool {
		env, err := Environ(cmd.Process.Pid)
		return err == nil && slices.Equal(env, cmd.Env)
	})
}

func TestUsage(t *testing.T) {
	pid := os.Getpid()
	status, err := ReadStatus(pid)
	if err != nil || status.Resident < 1<<20 || status.Resident > 1<<32 || status.Threads < 1 ||
		status.Shared < 0 {
		t.Errorf("status %+v, %v", status, err)
	}
	before, err := Files(pid)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if after, err := Files(pid); err != nil || after != before+1 {
		t.Errorf("%d open files, %v; want %d", after, err, before+1)
	}
	whole, err1 := CPUTime(pid)
	thread, err2 := MainThreadTime(pid)
	stat, err3 := Read(pid)
	if err := errors.Join(err1, err2, err3); err != nil || whole <= 0 || thread <= 0 ||
		stat.CPU > whole+time.Second {
		t.Errorf("CPU time %v, of the main thread %v, in ticks %v; %v", whole, thread, stat.CPU, err)
	}
	for _, text := range []string{"", "Name:\tx\nThreads:\t1\n",
		"Name:\tx\nVmRSS:\tx kB\nRssShmem:\t0 kB\nThreads:\t1\n", "\nVmRSS:"} {
		if s, err := parseStatus(text); err == nil {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}

func TestResidentMemoryOfOwnProcess(t *testing.T) {
	before, err := ReadStatus(os.Getpid())
	if err != nil || before.Resident < 1<<20 || before.Resident%1024 != 0 {
		t.Fatalf("resident memory %d, %v", before.Resident, err)
	}
	const more = 32 << 20
	block, err := syscall.Mmap(-1, 0, more, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(block) }()
	for i := 0; i < more; i += 4096 {
		block[i] = 1
	}
	after, err := ReadStatus(os.Getpid())
	if err != nil || after.Resident < before.Resident+more/2 {
		t.Errorf("resident memory %d, was %d, %v", after.Resident, before.Resident, err)
	}
}

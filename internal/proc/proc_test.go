package proc_test

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

	"golang.org/x/sys/unix"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
)

// start runs a program that ends with the test.
func start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"A=1", "B=x y"}
	testkit.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the only error is that it has ended
		_ = cmd.Wait()
	})
	return cmd
}

// kill ends a process and leaves it as a zombie.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	testkit.Must(t, cmd.Process.Kill())
	testkit.Must(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
}

// The table has this process and its child, whatever bytes are in the child's name.
func TestAll(t *testing.T) {
	const name = ") Z 1 ("
	odd := filepath.Join(t.TempDir(), name)
	testkit.Must(t, os.Symlink(testkit.Need(t, "sleep"), odd))
	child := start(t, odd, "60").Process.Pid
	table, err := proc.All()
	testkit.Must(t, err)
	find := func(pid int) proc.Stat {
		t.Helper()
		i := slices.IndexFunc(table, func(s proc.Stat) bool { return s.PID == pid })
		if i < 0 {
			t.Fatalf("process %d is not in the table", pid)
		}
		return table[i]
	}
	own := filepath.Base(os.Args[0])
	if s := find(os.Getpid()); s.Parent != os.Getppid() || !strings.HasPrefix(own, s.Name) {
		t.Errorf("this process is read as %+v", s)
	}
	if s := find(child); s.Parent != os.Getpid() || s.Name != name {
		t.Errorf("its child is read as %+v", s)
	}
}

func TestAliveTellsAZombieFromARunningProcess(t *testing.T) {
	child := start(t, "sleep", "60")
	pid := child.Process.Pid
	if !proc.Alive(os.Getpid()) || !proc.Alive(pid) {
		t.Error("this process or its child is not alive")
	}
	if kill(t, child); proc.Alive(pid) {
		t.Error("a zombie is alive")
	}
	_ = child.Wait() // killed
	if _, err := proc.Arguments(pid); proc.Alive(pid) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a child that is gone is alive, or gives %v", err)
	}
}

// The children of a process are those that live and run that program.
func TestChildren(t *testing.T) {
	first, second := start(t, "sleep", "60"), start(t, "sleep", "60")
	check := func(program string, want ...int) {
		t.Helper()
		found, err := proc.Children(os.Getpid(), program)
		slices.Sort(found)
		slices.Sort(want)
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("children with program %s: %v, %v; want %v", program, found, err, want)
		}
	}
	check("sleep", first.Process.Pid, second.Process.Pid)
	check("slee")
	kill(t, second)
	check("sleep", first.Process.Pid)
	if _, err := proc.ReadStatus(second.Process.Pid); err == nil {
		t.Error("a child that has ended has a status")
	}
}

func TestTree(t *testing.T) {
	table := []proc.Stat{{PID: 4, Parent: 3}, {PID: 1}, {PID: 2, Parent: 1}, {PID: 3, Parent: 2},
		{PID: 5, Parent: 1}}
	var picked []int
	for _, s := range proc.Tree(table, 2) {
		picked = append(picked, s.PID)
	}
	if !slices.Equal(picked, []int{2, 3, 4}) {
		t.Errorf("the tree below 2 is %v", picked)
	}
}

func TestWords(t *testing.T) {
	arguments, err := proc.Arguments(os.Getpid())
	if err != nil || !slices.Equal(arguments, os.Args) {
		t.Errorf("arguments %q, %v; want %q", arguments, err, os.Args)
	}
	child := start(t, "sleep", "60")
	// The kernel writes it down a moment after Start has seen the program begin.
	testkit.Until(t, "environment of the child", func() bool {
		env, err := proc.Environ(child.Process.Pid)
		return err == nil && slices.Equal(env, child.Env)
	})
}

func TestUsage(t *testing.T) {
	pid := os.Getpid()
	before, err := proc.Files(pid)
	testkit.Must(t, err)
	file, err := os.Open(os.DevNull)
	testkit.Must(t, err)
	defer file.Close()
	if after, err := proc.Files(pid); err != nil || after != before+1 {
		t.Errorf("%d open files, %v; want %d", after, err, before+1)
	}
	thread, err1 := proc.MainThreadTime(pid)
	whole, err2 := proc.CPUTime(pid)
	if err := errors.Join(err1, err2); err != nil || thread <= 0 || whole < thread {
		t.Errorf("CPU time %v, of the main thread %v; %v", whole, thread, err)
	}
}

func TestResidentMemoryOfOwnProcess(t *testing.T) {
	before, err := proc.ReadStatus(os.Getpid())
	if err != nil || before.Resident < 1<<20 || before.Resident > 1<<32 || before.Threads < 1 ||
		before.Shared < 0 {
		t.Fatalf("status %+v, %v", before, err)
	}
	const more = 32 << 20
	block, err := syscall.Mmap(-1, 0, more, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	testkit.Must(t, err)
	defer func() { _ = syscall.Munmap(block) }()
	for i := 0; i < more; i += 4096 {
		block[i] = 1
	}
	after, err := proc.ReadStatus(os.Getpid())
	if err != nil || after.Resident < before.Resident+more/2 {
		t.Errorf("resident memory %d, was %d, %v", after.Resident, before.Resident, err)
	}
}

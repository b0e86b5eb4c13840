package process

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/child"
)

func TestParseStat(t *testing.T) {
	const rest = " S 12 7 7 0 -1 4194624 160606 0 0 0 4915 1353 30 4 20 0 5 0 55527 87449600"
	tests := []struct {
		stat string
		want Process
		ok   bool
	}{
		{"45 (redis-server)" + rest, Process{45, 12, "redis-server", 340 * time.Millisecond}, true},
		{"45 (odd (name) 9)" + rest, Process{45, 12, "odd (name) 9", 340 * time.Millisecond}, true},
		{"45 (short) S 12 7", Process{}, false},
		{"45 redis-server" + rest, Process{}, false},
		{"x (y)" + rest, Process{}, false},
		{"", Process{}, false},
	}
	for _, test := range tests {
		got, err := parseStat([]byte(test.stat))
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%s: %+v, %v", test.stat, got, err)
		}
	}
}

func TestTree(t *testing.T) {
	table := []Process{{PID: 9, Parent: 7}, {PID: 1}, {PID: 7, Parent: 5}, {PID: 5, Parent: 1},
		{PID: 8, Parent: 1}, {PID: 6, Parent: 5}}
	var pids []int
	for _, p := range Tree(table, []int{5, 7}) {
		pids = append(pids, p.PID)
	}
	if slices.Sort(pids); !slices.Equal(pids, []int{5, 6, 7, 9}) {
		t.Errorf("tree = %v", pids)
	}
}

// The CPU clock is the same account as that of getrusage, and rises with work done.
func TestCPUTimeOfOwnProcess(t *testing.T) {
	low := OwnCPU()
	got, err := CPUTime(os.Getpid())
	high := OwnCPU()
	// The kernel splits the time into user and system, each in microseconds, rounded down.
	if slack := 2 * time.Microsecond; err != nil || got < low-slack || got > high+slack {
		t.Errorf("CPU time %v, %v; getrusage says %v before and %v after", got, err, low, high)
	}
	for later := got; later-got < 20*time.Millisecond; {
		if later, err = CPUTime(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := CPUTime(1 << 23); err == nil {
		t.Error("a process above the highest pid has CPU time")
	}
}

func TestResidentMemoryOfOwnProcess(t *testing.T) {
	before, err := ResidentMemory(os.Getpid())
	if err != nil || before < 1<<20 || before%1024 != 0 {
		t.Fatalf("resident memory %d, %v", before, err)
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
	if after, err := ResidentMemory(os.Getpid()); err != nil || after < before+more/2 {
		t.Errorf("resident memory %d, was %d, %v", after, before, err)
	}
}

// Time of a child counts while it runs and stays counted when it has ended.
func TestUsageCountsChildren(t *testing.T) {
	const work = `i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo; read x`
	cmd := exec.Command("sh", "-c", work)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	before, err3 := ReadUsage([]int{os.Getpid()})
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if err := child.Start(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil { // its work is done
		t.Fatal(err)
	}
	worked, err := CPUTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	running, err := ReadUsage([]int{os.Getpid()})
	if err != nil || len(running.Workers) != 1 || running.Redis != 0 || running.App-before.App < worked {
		t.Errorf("running: %+v, before %+v, the child worked %v, %v", running, before, worked, err)
	}
	stdin.Close()
	if err := cmd.Wait(); !cmd.ProcessState.Exited() { // read at the end of input is an exit code of 1
		t.Fatal(err)
	}
	ended, err := ReadUsage([]int{os.Getpid()})
	if err != nil || ended.App-before.App < worked-2*clockTick {
		t.Errorf("ended: %+v, before %+v, the child worked %v, %v", ended, before, worked, err)
	}
}

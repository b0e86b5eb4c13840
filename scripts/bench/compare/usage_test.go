package compare

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
)

// tick is the unit of a process's time once it has ended.
const tick = 10 * time.Millisecond

// Time of a child counts while it runs and stays counted when it has ended.
func TestUsageCountsChildren(t *testing.T) {
	cmd := exec.Command("sh", "-c", `i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo; read x`)
	stdin, err := cmd.StdinPipe()
	testkit.Must(t, err)
	stdout, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	own := []int{os.Getpid()}
	before, err := ReadUsage(own)
	testkit.Must(t, err)
	testkit.Must(t, child.Start(cmd, syscall.SIGKILL))
	_, err = stdout.Read(make([]byte, 1)) // its work is done
	testkit.Must(t, err)
	worked, err := proc.CPUTime(cmd.Process.Pid)
	testkit.Must(t, err)
	running, err := ReadUsage(own)
	testkit.Must(t, err)
	alone, err := ReadUsage([]int{cmd.Process.Pid})
	if err != nil || len(alone.Workers) != 1 || alone.Redis != 0 {
		t.Errorf("the child alone: %+v, %v", alone, err)
	}
	stdin.Close()
	if err := cmd.Wait(); !cmd.ProcessState.Exited() { // read at the end of input is an exit code of 1
		t.Fatal(err)
	}
	ended, err := ReadUsage(own)
	testkit.Must(t, err)
	if running.App-before.App < worked || ended.App-before.App < worked-2*tick {
		t.Errorf("before %+v, running %+v, ended %+v, the child worked %v", before, running, ended, worked)
	}
}

func TestSpread(t *testing.T) {
	tests := []struct {
		numbers []float64
		want    Spread
	}{
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{4, 1}, Spread{2.5, 1, 4}},
		{[]float64{9, 1, 5}, Spread{5, 1, 9}},
		{[]float64{8, 2, 4, 1}, Spread{3, 1, 8}},
	}
	for _, test := range tests {
		if got := NewSpread(test.numbers); got != test.want {
			t.Errorf("newSpread(%v) = %v, want %v", test.numbers, got, test.want)
		}
	}
}

// The machine is twice as slow in the second round, for both: the ratio does not change.
func TestRatioIsByRound(t *testing.T) {
	cost := func(total float64) Trial { return Trial{CPU: OrderCPU{Total: total}} }
	base := []Trial{cost(40), cost(80), cost(50)}
	side := []Trial{cost(60), cost(120), cost(100)}
	if got, want := ratio(side, base, func(t Trial) float64 { return t.CPU.Total }),
		(Spread{1.5, 1.5, 2}); got != want {
		t.Errorf("ratio = %v, want %v", got, want)
	}
}

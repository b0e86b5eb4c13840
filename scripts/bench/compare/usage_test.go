package compare

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/store/child"
)

// tick is the unit of a process's time once it has ended.
const tick = 10 * time.Millisecond

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
	worked, err := proc.CPUTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	running, err := ReadUsage([]int{os.Getpid()})
	if err != nil || running.App-before.App < worked {
		t.Errorf("running: %+v, before %+v, the child worked %v, %v", running, before, worked, err)
	}
	alone, err := ReadUsage([]int{cmd.Process.Pid})
	if err != nil || len(alone.Workers) != 1 || alone.Redis != 0 {
		t.Errorf("the child alone: %+v, %v", alone, err)
	}
	stdin.Close()
	if err := cmd.Wait(); !cmd.ProcessState.Exited() { // read at the end of input is an exit code of 1
		t.Fatal(err)
	}
	ended, err := ReadUsage([]int{os.Getpid()})
	if err != nil || ended.App-before.App < worked-2*tick {
		t.Errorf("ended: %+v, before %+v, the child worked %v, %v", ended, before, worked, err)
	}
}

// Package child starts, finds and ends child processes. A child that it starts never outlives this process.
//
// It does not know the work of a child, keeps no list of children and does not restart them: callers do. It
// is slow only in that all forks of the process pass through one thread, one after another.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/background"
)

const (
	backoffFirst = 100 * time.Millisecond
	backoffMost  = time.Second // service must be back within 2 s of the end of a fault
	// A child that lived this long is healthy: when it ends, the delays begin anew.
	healthyAge = 10 * time.Second
)

type fork struct {
	cmd    *exec.Cmd
	batch  bool
	result chan<- error
}

var forks = sync.OnceValue(func() chan<- fork {
	requests := make(chan fork)
	go func() {
		// The kernel sends a child its parent-death signal when the *thread* that forked it ends. A
		// goroutine may be moved off any thread and idle threads may end, so one goroutine keeps one
		// thread for the life of the process.
		runtime.LockOSThread()
		for request := range requests {
			if request.batch { // the child inherits it from this thread
				schedule(unix.SCHED_BATCH)
			}
			err := request.cmd.Start()
			if request.batch {
				schedule(unix.SCHED_NORMAL)
			}
			request.result <- err
		}
	}()
	return requests
})

// Start starts cmd as a child that the kernel sends signal to when this process ends, even by kill -9.
// The child leads a process group of its own, so that Ctrl-C in a terminal reaches only this process,
// which decides on the order of the stop. The caller must call cmd.Wait. The error is that of cmd.Start.
func Start(cmd *exec.Cmd, signal syscall.Signal) error { return start(cmd, signal, false) }

// StartBatch is Start for a child that works off a queue: when it wakes it does not interrupt the process
// that runs (SCHED_BATCH). Worker and Redis wake each other so often that the interruptions would make an
// order dearer; the figures are in scripts/bench/TUNING.md.
func StartBatch(cmd *exec.Cmd, signal syscall.Signal) error { return start(cmd, signal, true) }

func start(cmd *exec.Cmd, signal syscall.Signal, batch bool) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = signal
	cmd.SysProcAttr.Setpgid = true
	result := make(chan error)
	forks() <- fork{cmd, batch, result}
	return <-result
}

// schedule sets the policy of this thread. Where that is forbidden the child is only slower.
func schedule(policy uint32) {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy}, 0)
}

// Finish sends signal to a child, waits until ended is closed (by the caller's goroutine in cmd.Wait),
// and kills the child when that takes longer than limit. It returns once the child has ended and reports
// whether it had to kill.
func Finish(
	process *os.Process, ended <-chan struct{}, signal syscall.Signal, limit time.Duration,
) (killed bool) {
	// The only possible error is that the process has ended already.
	_ = process.Signal(signal)
	select {
	case <-ended:
		return false
	case <-time.After(limit):
		_ = process.Kill()
		<-ended
		return true
	}
}

// Backoff computes the delays before a child that ended is started again. The zero value is ready for use.
type Backoff struct{ ends int } // in a row

// After returns the delay before the next start of a child that ended at age alive. The delays are those of
// background.Delay; they begin anew after a child that had lived for healthyAge.
func (b *Backoff) After(alive time.Duration) time.Duration {
	if alive >= healthyAge {
		b.ends = 0
	}
	b.ends++
	return background.Delay(b.ends, backoffFirst, backoffMost)
}

// Program returns the path by which this process starts its own program again. That is the path of
// its binary, so that ps and pgrep show the program's name. Where another file has taken that path since,
// it is /proc/self/exe: the binary that runs, shown as "exe".
func Program() string {
	const running = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return running
	}
	named, err := os.Stat(path)
	if err != nil {
		return running
	}
	own, err := os.Stat(running)
	if err != nil || !os.SameFile(named, own) {
		return running
	}
	return path
}

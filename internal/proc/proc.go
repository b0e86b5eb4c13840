// Package proc reads about processes in /proc (man 5 proc): their parents and states, the CPU time, memory
// and files that they use, the arguments and environment that they were started with.
//
// It only reads: it starts, signals and awaits no process. A process may end at any time: then the error
// wraps fs.ErrNotExist or ESRCH. It is slow where it lists all processes of the machine, one file for each.
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ, 100 a second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// Stat is the line /proc/PID/stat, as far as it is used.
type Stat struct {
	PID, Parent int
	Name        string        // of the thread that began the process, cut to 15 bytes; any byte may be in it
	ReapedCPU   time.Duration // user and system time of its children that have ended and were waited for

	state   string // R, S, D, T, Z, ...
	threads int
}

// read reads the line of one process.
func read(p procfs.Proc) (Stat, error) {
	s, err := p.Stat()
	return Stat{PID: s.PID, Parent: s.PPID, Name: s.Comm, ReapedCPU: time.Duration(s.CUTime+s.CSTime) * tick,
		state: s.State, threads: s.NumThreads}, err
}

// of calls ask with a process.
func of[T any](pid int, ask func(procfs.Proc) (T, error)) (answer T, err error) {
	p, err := procfs.NewProc(pid)
	if err == nil {
		answer, err = ask(p)
	}
	if err != nil {
		err = fmt.Errorf("cannot read process: %w", err)
	}
	return answer, err
}

// dead reports whether the process has ended and only waits for its parent to notice.
func (s Stat) dead() bool { return s.state == "Z" || s.state == "X" }

// Alive reports whether the process runs or is stopped. Signal 0 is no test: a dead process accepts it until
// its parent waits for it, and a careless parent never does.
func Alive(pid int) bool {
	s, err := of(pid, read)
	return err == nil && !s.dead()
}

// All lists the processes of the machine, dead ones too.
func All() ([]Stat, error) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("cannot read process table: %w", err)
	}
	var table []Stat
	for _, p := range processes {
		s, err := read(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended since it was listed
		} else if err != nil {
			return nil, fmt.Errorf("cannot read process: %w", err)
		}
		table = append(table, s)
	}
	return table, nil
}

// Tree picks from a table the processes roots and all their descendants, parents before children.
func Tree(table []Stat, roots ...int) []Stat {
	var picked []Stat
	for _, s := range table {
		if slices.Contains(roots, s.PID) {
			picked = append(picked, s)
		}
	}
	for i := 0; i < len(picked); i++ {
		for _, s := range table {
			known := slices.ContainsFunc(picked, func(p Stat) bool { return p.PID == s.PID })
			if s.Parent == picked[i].PID && !known {
				picked = append(picked, s)
			}
		}
	}
	return picked
}

// Children lists the living children of a process that run a program of this name.
func Children(parent int, program string) ([]int, error) {
	table, err := All()
	var found []int
	for _, s := range table {
		if s.Parent == parent && !s.dead() && programOf(s.PID) == program {
			found = append(found, s.PID)
		}
	}
	return found, err
}

// programOf returns the program's name from the command line, "" when the process has ended. redis-server
// writes its address behind its name there.
func programOf(pid int) string {
	arguments, err := Arguments(pid)
	if err != nil || len(arguments) == 0 {
		return ""
	}
	path, _, _ := strings.Cut(arguments[0], " ")
	return filepath.Base(path)
}

// Arguments are the words of the process's command line as others see them.
func Arguments(pid int) ([]string, error) { return of(pid, procfs.Proc.CmdLine) }

// Environ is the environment that the process was started with, as NAME=value; only its owner and root may
// read it.
func Environ(pid int) ([]string, error) { return of(pid, procfs.Proc.Environ) }

// Files counts the open file descriptors of a process.
func Files(pid int) (int, error) { return of(pid, procfs.Proc.FileDescriptorsLen) }

// Status is the memory and the threads of a process.
type Status struct {
	Resident int64 // bytes of physical memory
	Shared   int64 // bytes of it that are shared memory, counted for each process that maps them
	Threads  int64
}

// ReadStatus reads the status of a process. A dead process is an error, even if its parent has not waited
// for it.
func ReadStatus(pid int) (Status, error) {
	memory, err := of(pid, procfs.Proc.NewStatus)
	if err != nil {
		return Status{}, err
	}
	line, err := of(pid, read)
	if err == nil && memory.VmRSS == 0 {
		err = fmt.Errorf("cannot read process: %d has no memory, so it has ended", pid)
	}
	return Status{Resident: int64(memory.VmRSS), Shared: int64(memory.RssShmem),
		Threads: int64(line.threads)}, err
}

// CPUTime is the user and system time of a process, all its threads, since it began, in nanoseconds from the
// process's own clock (man 3 clock_getcpuclockid). /proc has steps of 10 ms only.
func CPUTime(pid int) (time.Duration, error) {
	const processClock = 2 // CPUCLOCK_SCHED of a whole process
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|processClock), &t); err != nil {
		return 0, fmt.Errorf("cannot read CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// MainThreadTime is the CPU time of the thread that began the process. redis-server runs commands in that
// thread.
func MainThreadTime(pid int) (time.Duration, error) {
	spent, err := of(pid, procfs.Proc.Schedstat)
	return time.Duration(spent.RunningNanoseconds), err
}

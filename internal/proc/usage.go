package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Status is the memory and the threads of a process, from /proc/PID/status.
type Status struct {
	Resident int64 // bytes of physical memory
	Shared   int64 // bytes of it that are shared memory, counted for each process that maps them
	Threads  int64
}

// ReadStatus reads the status of a process; one that has ended is an error, also while its parent has not
// waited for it.
func ReadStatus(pid int) (Status, error) {
	text, err := readFile(pid, "status")
	if err != nil {
		return Status{}, err
	}
	return parseStatus(string(text))
}

func parseStatus(text string) (s Status, err error) {
	for _, field := range []struct {
		name string
		unit int64
		into *int64
	}{{"VmRSS", 1 << 10, &s.Resident}, {"RssShmem", 1 << 10, &s.Shared}, {"Threads", 1, &s.Threads}} {
		_, rest, found := strings.Cut(text, "\n"+field.name+":")
		words := strings.Fields(rest)
		if !found || len(words) == 0 {
			return Status{}, fmt.Errorf("cannot read process: no %s, so it has ended", field.name)
		}
		number, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return Status{}, fmt.Errorf("cannot read process: %w", err)
		}
		*field.into = number * field.unit
	}
	return s, nil
}

// Files counts the open file descriptors of a process.
func Files(pid int) (int, error) {
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read process: %w", err)
	}
	return len(descriptors), nil
}

// CPUTime is the user and system time of a process, all its threads, since it began: Stat.CPU in
// nanoseconds, from the process's own clock (man 3 clock_getcpuclockid).
func CPUTime(pid int) (time.Duration, error) {
	const processClock = 2 // CPUCLOCK_SCHED of a whole process
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|processClock), &t); err != nil {
		return 0, fmt.Errorf("cannot read CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// MainThreadTime is the CPU time of the thread that began the process. redis-server works in that one.
func MainThreadTime(pid int) (time.Duration, error) {
	text, err := readFile(pid, "schedstat")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	nanoseconds, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read CPU time of process %d: %w", pid, err)
	}
	return time.Duration(nanoseconds), nil
}

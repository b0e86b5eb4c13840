// Package process starts the servers that bench needs and measures what processes use, from the kernel's own
// accounts.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of times in /proc/PID/stat: USER_HZ, 100 a second on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// Process is one line of the machine's process table.
type Process struct {
	PID, Parent int
	Name        string
	Reaped      time.Duration // user and system time of its children that have ended
}

// Read reads the process table from /proc.
func Read() ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("cannot read process table: %w", err)
	}
	var table []Process
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if gone(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("cannot read process table: %w", err)
		}
		p, err := parseStat(stat)
		if err != nil {
			return nil, err
		}
		table = append(table, p)
	}
	return table, nil
}

// gone reports whether a process ended between being listed and being read.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// parseStat reads /proc/PID/stat (man 5 proc). The name stands in brackets and may hold blanks and brackets
// itself.
func parseStat(stat []byte) (Process, error) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return Process{}, fmt.Errorf("cannot read process table: no name in %.80q", stat)
	}
	rest := strings.Fields(string(stat[end+1:])) // from field 3 on
	if len(rest) < 15 {
		return Process{}, fmt.Errorf("cannot read process table: too few fields in %.80q", stat)
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(string(stat[:open])))
	parent, err2 := strconv.Atoi(rest[1])
	childrenUser, err3 := strconv.ParseInt(rest[13], 10, 64)
	childrenSystem, err4 := strconv.ParseInt(rest[14], 10, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return Process{}, fmt.Errorf("cannot read process table: %w", err)
	}
	return Process{PID: pid, Parent: parent, Name: string(stat[open+1 : end]),
		Reaped: time.Duration(childrenUser+childrenSystem) * clockTick}, nil
}

// Tree picks the roots and all that descends from them.
func Tree(table []Process, roots []int) []Process {
	var picked []Process
	for _, p := range table {
		if slices.Contains(roots, p.PID) {
			picked = append(picked, p)
		}
	}
	for i := 0; i < len(picked); i++ {
		for _, p := range table {
			known := slices.ContainsFunc(picked, func(q Process) bool { return q.PID == p.PID })
			if p.Parent == picked[i].PID && !known {
				picked = append(picked, p)
			}
		}
	}
	return picked
}

// CPUTime is the user and system time of a process, all its threads, since it began: the same figure that
// /proc/PID/stat gives in ticks of 10 ms, here in nanoseconds from the process's CPU clock (man 3
// clock_getcpuclockid).
func CPUTime(pid int) (time.Duration, error) {
	const processClock = 2 // CPUCLOCK_SCHED of a whole process
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|processClock), &t); err != nil {
		return 0, fmt.Errorf("cannot read CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// OwnCPU is the user and system time that this process has used so far.
func OwnCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Errorf("cannot read own CPU time: %w", err)) // only a wrong argument fails
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ResidentMemory is the physical memory of a process in bytes.
func ResidentMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read memory of process %d: %w", pid, err)
	}
	kilobytes, err := StatusField(status, "VmRSS")
	if err != nil {
		return 0, fmt.Errorf("cannot read memory of process %d: %w", pid, err)
	}
	return kilobytes << 10, nil
}

// StatusField is a number in /proc/PID/status (man 5 proc); one with a unit is in kilobytes.
func StatusField(status []byte, name string) (int64, error) {
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value),
				"kB")), 10, 64)
		}
	}
	return 0, fmt.Errorf("no %s: the process has ended", name)
}

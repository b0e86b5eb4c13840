// Package proc reads about processes in /proc (man 5 proc): their parents and states, the CPU time, memory
// and files that they use, the arguments and environment that they were started with.
//
// It only looks: it starts, signals and waits for nothing. A process may end between two looks, so every
// figure comes with an error. It is slow where it lists all processes of the machine, one file for each.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ, 100 a second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// Stat is the line /proc/PID/stat, as far as it is used.
type Stat struct {
	PID, Parent int
	Name        string        // of the thread that began the process, cut to 15 bytes; any byte may be in it
	State       byte          // R, S, D, T, Z, ...
	CPU         time.Duration // user and system time of all its threads, in steps of 10 ms
	ReapedCPU   time.Duration // the same of its children that have ended and were waited for
}

// Read reads the line of one process. The error wraps fs.ErrNotExist when there is no such process.
func Read(pid int) (Stat, error) {
	line, err := readFile(pid, "stat")
	if err != nil {
		return Stat{}, err
	}
	return Parse(line)
}

// Parse reads a line of /proc/PID/stat. The name stands in brackets and may hold blanks, brackets and line
// ends itself.
func Parse(line []byte) (Stat, error) {
	begin, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if begin < 1 || end < begin {
		return Stat{}, fmt.Errorf("cannot read process: no name in %.80q", line)
	}
	fields := strings.Fields(string(line[end+1:])) // from field 3, the state, on
	if len(fields) < 15 || len(fields[0]) != 1 {
		return Stat{}, fmt.Errorf("cannot read process: too few fields in %.80q", line)
	}
	numbers := append([]string{strings.TrimSpace(string(line[:begin])), fields[1]}, fields[11:15]...)
	var values [6]int64 // pid, parent, user and system time, user and system time of reaped children
	for i, text := range numbers {
		var err error
		if values[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return Stat{}, fmt.Errorf("cannot read process: %w", err)
		}
	}
	return Stat{
		PID: int(values[0]), Parent: int(values[1]), Name: string(line[begin+1 : end]), State: fields[0][0],
		CPU: time.Duration(values[2]+values[3]) * tick, ReapedCPU: time.Duration(values[4]+values[5]) * tick,
	}, nil
}

// Dead reports whether the process has ended and only waits for its parent to notice.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

// Alive reports whether the process runs or is stopped. Signal 0 does not tell: a process that has ended
// takes it until its parent waits for it, and a careless parent never does.
func Alive(pid int) bool {
	s, err := Read(pid)
	return err == nil && !s.Dead()
}

// All lists the processes of the machine, dead ones too.
func All() ([]Stat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("cannot read process table: %w", err)
	}
	var table []Stat
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		s, err := Read(pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it ended between the list and the look
		} else if err != nil {
			return nil, err
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
		if s.Parent == parent && !s.Dead() && programOf(s.PID) == program {
			found = append(found, s.PID)
		}
	}
	return found, err
}

// programOf is the program's name as it stands in the command line, where redis-server puts its address
// behind it; "" when the process has ended.
func programOf(pid int) string {
	arguments, err := Arguments(pid)
	if err != nil || len(arguments) == 0 {
		return ""
	}
	path, _, _ := strings.Cut(arguments[0], " ")
	return filepath.Base(path)
}

// Arguments are the words of the process's command line as others see them.
func Arguments(pid int) ([]string, error) { return words(pid, "cmdline") }

// Environ is the environment that the process was started with, as NAME=value; only its owner and root may
// read it.
func Environ(pid int) ([]string, error) { return words(pid, "environ") }

func words(pid int, file string) ([]string, error) {
	text, err := readFile(pid, file)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), nil
}

func readFile(pid int, name string) ([]byte, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return nil, fmt.Errorf("cannot read process: %w", err)
	}
	return text, nil
}

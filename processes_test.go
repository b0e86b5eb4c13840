package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// children returns the child processes that call themselves by this name.
func children(t *testing.T, parent int, name string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if of, alive := parentOf(pid); alive && of == parent && nameOf(pid) == name {
			found = append(found, pid)
		}
	}
	return found
}

// parentOf returns the parent of a process; not alive when it has ended, also when nobody has waited for it yet.
func parentOf(pid int) (parent int, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// "ID (command) state parent ...", where the command may hold anything.
	var state string
	if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err != nil {
		return 0, false
	}
	return parent, state != "Z" && state != "X"
}

// nameOf is the program's name as it stands in the command line, where redis-server puts its address behind it.
func nameOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "" // it has just ended
	}
	first, _, _ := bytes.Cut(line, []byte("\x00"))
	first, _, _ = bytes.Cut(first, []byte(" "))
	return filepath.Base(string(first))
}

func awaitEnd(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		within(t, fmt.Sprintf("end of process %d", pid), func() bool { _, alive := parentOf(pid); return !alive })
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

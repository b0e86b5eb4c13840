package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Find returns the living children of a process whose program has this name.
func Find(parent int, name string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("cannot read process table: %w", err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if of, alive := Parent(pid); alive && of == parent && nameOf(pid) == name {
			found = append(found, pid)
		}
	}
	return found, nil
}

// Parent returns the parent of a process; not alive when it has ended, also when nobody has waited for it
// yet.
func Parent(pid int) (parent int, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// "ID (command) state parent ...", where the command may hold anything (man 5 proc).
	var state string
	if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err != nil {
		return 0, false
	}
	return parent, state != "Z" && state != "X"
}

// nameOf is the program's name as it stands in the command line, where redis-server puts its address
// behind it.
func nameOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "" // it has just ended
	}
	first, _, _ := bytes.Cut(line, []byte("\x00"))
	first, _, _ = bytes.Cut(first, []byte(" "))
	return filepath.Base(string(first))
}

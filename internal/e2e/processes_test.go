package e2e

import (
	"fmt"
	"syscall"
	"testing"

	"flashsale/internal/proc"
)

// children returns the child processes that call themselves by this name.
func children(t *testing.T, parent int, name string) []int {
	t.Helper()
	found, err := proc.Children(parent, name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func awaitEnd(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		within(t, fmt.Sprintf("end of process %d", pid), func() bool { return !proc.Alive(pid) })
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

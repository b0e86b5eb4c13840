package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
)

// visible is the part of a process's start that other programs of the same user can see.
func visible(t *testing.T, pid int) string {
	t.Helper()
	arguments, err := proc.Arguments(pid)
	testkit.Must(t, err)
	environment, err := proc.Environ(pid)
	testkit.Must(t, err)
	return strings.Join(append(arguments, environment...), "\n")
}

func awaitEnd(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		testkit.Until(t, fmt.Sprintf("end of process %d", pid), func() bool { return !proc.Alive(pid) })
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	testkit.Must(t, syscall.Kill(pid, syscall.SIGKILL))
}

package launch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
)

// parentVariable makes TestMariaDBDiesWithItsProcess play the process that is killed.
const parentVariable = "MARIADBTEST_PARENT"

func TestMariaDBDiesWithItsProcess(t *testing.T) {
	if os.Getenv(parentVariable) != "" {
		server := StartMariaDB(t)
		fmt.Printf("\nport %d\n", server.Port)
		select {}
	}
	needMariaDB(t)
	temporary, err := os.MkdirTemp("", "maria") // the killed process cannot clean up after itself
	testkit.Must(t, err)
	defer os.RemoveAll(temporary)
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMariaDBDiesWithItsProcess$")
	parent.Env = append(os.Environ(), parentVariable+"=1", "TMPDIR="+temporary)
	output, err := parent.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, parent.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "port ") {
	}
	pid := serverProcess(t, temporary)
	testkit.Must(t, parent.Process.Signal(syscall.SIGKILL))
	_ = parent.Wait() // killed
	testkit.Until(t, "end of mariadbd after its parent's", func() bool { return !proc.Alive(pid) })
}

func serverProcess(t *testing.T, temporary string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(temporary, "sale*", "pid"))
	if err != nil || len(files) != 1 {
		t.Fatalf("pid files are %q, want one", files)
	}
	text, err := os.ReadFile(files[0])
	testkit.Must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	testkit.Must(t, err)
	if !proc.Alive(pid) {
		t.Fatalf("mariadbd %d does not run before its parent is killed", pid)
	}
	return pid
}

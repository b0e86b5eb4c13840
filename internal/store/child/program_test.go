package child

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// programRole makes the test binary print Program for each line that it reads.
const programRole = "CHILD_TEST_PROGRAM"

func tellProgram() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(Program())
	}
	os.Exit(0)
}

// Program is the path of the binary only while the binary stands there.
func TestProgram(t *testing.T) {
	binary, err := os.ReadFile("/proc/self/exe")
	testkit.Must(t, err)
	path := filepath.Join(t.TempDir(), "program")
	testkit.Must(t, os.WriteFile(path, binary, 0o700))
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), programRole+"=1")
	input, err := cmd.StdinPipe()
	testkit.Must(t, err)
	output, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	defer cmd.Wait()
	defer input.Close()
	answers := bufio.NewReader(output)
	expect := func(when, want string) {
		t.Helper()
		if _, err := io.WriteString(input, "?\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); strings.TrimSpace(line) != want {
			t.Errorf("%s: %q, %v; want %q", when, line, err, want)
		}
	}
	expect("in its place", path)
	testkit.Must(t, os.Remove(path))
	expect("removed", "/proc/self/exe")
	testkit.Must(t, os.WriteFile(path, binary, 0o700))
	expect("replaced", "/proc/self/exe")
}

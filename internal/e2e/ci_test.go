package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// A package has longer than Go's 10 minutes, also in its second try.
func TestCITest(t *testing.T) {
	folder, path := t.TempDir(), t.TempDir() // where the script runs, and a PATH with another go
	script, program := filepath.Join(folder, ".ci/test"), filepath.Join(path, "go")
	testkit.WriteFile(t, script, testkit.ReadFile(t, root+".ci/test"))
	testkit.WriteFile(t, program, `#!/usr/bin/env bash
		echo "$*" >>calls
		[[ $(wc -l <calls) == 1 ]] || exit 0
		printf '%s\n' '--- FAIL: TestSlow (1.00s)' FAIL $'FAIL\tflashsale/slow\t1.0s'
		exit 1`)
	testkit.Must(t, os.Chmod(program, 0o755))
	cmd := exec.Command("bash", script, "-race", "-short", "./slow", "./fast")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "failed once, and passed alone: flashsale/slow TestSlow") {
		t.Errorf("%v %s", err, out)
	}
	const want = "test -timeout 40m -p 3 -race -short ./slow ./fast\n" +
		"test -timeout 40m -p 3 -race -short -count=1 -run ^(TestSlow)$ flashsale/slow\n"
	if calls := testkit.ReadFile(t, filepath.Join(folder, "calls")); calls != want {
		t.Errorf("calls of go:\n%swant\n%s", calls, want)
	}
}

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// script is a script of .ci, with programs in the place of those that it would find on PATH.
type script struct {
	folder string // with the folder .ci, where it runs
	path   string // a PATH
}

// newScript copies a script to a folder of its own. The programs are shell, by name.
func newScript(t *testing.T, name string, programs map[string]string) script {
	t.Helper()
	s := script{t.TempDir(), t.TempDir()}
	for _, name := range []string{".ci/" + name, "scripts/stand.sh"} {
		copied := filepath.Join(s.folder, name)
		testkit.WriteFile(t, copied, testkit.ReadFile(t, filepath.Join(root, name)))
		testkit.Must(t, os.Chmod(copied, 0o755))
	}
	for name, text := range programs {
		program := filepath.Join(s.path, name)
		testkit.WriteFile(t, program, "#!/usr/bin/env bash\n"+text+"\n")
		testkit.Must(t, os.Chmod(program, 0o755))
	}
	return s
}

// run runs the script, in a folder that no other one's git knows, and returns all that it writes.
func (s script) run(path string, words ...string) (out string, err error) {
	cmd := exec.Command("bash", words...)
	cmd.Dir = s.folder
	for _, line := range os.Environ() {
		if !strings.HasPrefix(line, "GIT_") {
			cmd.Env = append(cmd.Env, line)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+path, "GIT_CEILING_DIRECTORIES="+filepath.Dir(s.folder))
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// Where git refuses, .ci/columns fails, and does not take the silence for a list without a long line.
func TestColumns(t *testing.T) {
	testkit.Need(t, "git")
	s := newScript(t, "columns", nil)
	path := os.Getenv("PATH")
	if out, err := s.run(path, ".ci/columns"); err == nil {
		t.Errorf("without a repository it passes: %q", out)
	}
	silent := newScript(t, "columns", map[string]string{"git": ""})
	if out, err := silent.run(silent.path+":"+path, ".ci/columns"); err == nil {
		t.Errorf("without a file it passes: %q", out)
	}
	if out, err := s.run(path, "-c", "git init -q"); err != nil {
		t.Fatal(out)
	}
	if out, err := s.run(path, ".ci/columns"); err != nil || out != "" {
		t.Errorf("short lines: %v %q", err, out)
	}
	testkit.WriteFile(t, filepath.Join(s.folder, "b.go"),
		strings.Repeat("ä", 109)+"\n"+strings.Repeat("ä", 110))
	testkit.WriteFile(t, filepath.Join(s.folder, "a.go"), "")
	for name, change := range map[string]string{"added": "git add .", "one is gone": "git add . && rm a.go"} {
		if out, err := s.run(path, "-c", change); err != nil {
			t.Fatal(out)
		}
		if out, err := s.run(path, ".ci/columns"); err == nil || !strings.Contains(out, "b.go:2:") ||
			strings.Contains(out, "b.go:1:") {
			t.Errorf("%s: a long line passes, or a short one does not: %v %q", name, err, out)
		}
		testkit.WriteFile(t, filepath.Join(s.folder, "a.go"), "")
	}
}

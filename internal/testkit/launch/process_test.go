package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// shell is a program that carries out a script.
func shell(script string, env ...string) Program {
	return Program{Path: "sh", Args: []string{"-c", script}, Env: env}
}

func TestProgramGetsItsEnvironmentAndFiles(t *testing.T) {
	t.Setenv("SECRET", "of the tests")
	p := shell(`echo "out $A$SECRET"; echo "err" >&2; exit 7`, "A=1").Launch(t)
	if code := p.ExitCode(t); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	out, err := testkit.ReadFile(t, p.Stdout), testkit.ReadFile(t, p.Log)
	if out != "out 1\n" || err != "err\n" || p.Written(t) != out+err {
		t.Errorf("written: %q, %q", out, err)
	}
	if p.Logged(t, "err") != 1 || p.Running() {
		t.Error("the log has no line, or the program still runs")
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a program that has ended: %v", err)
	}

	// A second run adds to the files.
	one := filepath.Join(t.TempDir(), "log")
	for range 2 {
		shell("echo both; echo both >&2").in(one).Launch(t).ExitCode(t)
	}
	if text := testkit.ReadFile(t, one); text != strings.Repeat("both\n", 4) {
		t.Errorf("the one file has %q", text)
	}
}

func (p Program) in(log string) Program {
	p.Log = log
	return p
}

func TestProgramThatCannotBeStarted(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for _, p := range []Program{{Path: "/nowhere/program", Log: log}, {Path: "true", Log: "/nowhere/log"}} {
		if _, err := p.Start(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestStopAndKill(t *testing.T) {
	frozen := shell(`trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done`).Launch(t)
	testkit.Until(t, "trap", func() bool { return testkit.ReadFile(t, frozen.Stdout) == "ready\n" })
	frozen.Send(t, syscall.SIGSTOP)
	if frozen.Stop() || frozen.State().ExitCode() != 3 {
		t.Errorf("a frozen program did not end in order: %v", frozen.State())
	}
	deaf := shell("trap '' TERM; exec sleep 60").Launch(t)
	deaf.Kill()
	if status := deaf.State().Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("the killed program: %v", deaf.State())
	}
	deaf.Kill() // a second time does no harm
}

// Await is an error with the log if the program ends instead, but not if it reached the state before its
// end.
func TestAwaitSeesTheEnd(t *testing.T) {
	p := shell("echo broken >&2; exit 1").Launch(t)
	err := p.Await(t.Context(), "answer", time.Minute, func() bool { return false })
	if err == nil || !strings.Contains(err.Error(), "no answer: sh has ended (exit status 1)\nbroken\n") {
		t.Errorf("error %v", err)
	}
	if err := p.Await(t.Context(), "answer", time.Minute, func() bool { return true }); err != nil {
		t.Errorf("a state that is there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	long := shell("exec sleep 60").Launch(t)
	if err := long.Await(ctx, "answer", time.Minute, func() bool { return false }); err == nil {
		t.Error("the end of the context is no error")
	}
}

// Free ports stay away from those of outgoing connections, and are given once.
func TestFreePorts(t *testing.T) {
	var outgoing int
	_, err := fmt.Sscan(testkit.ReadFile(t, "/proc/sys/net/ipv4/ip_local_port_range"), &outgoing)
	testkit.Must(t, err)
	first, err := FreePorts(4)
	testkit.Must(t, err)
	if outgoing > 2*portLeast && (first < portLeast || first+3 >= outgoing) {
		t.Errorf("ports %d to %d, want some from %d to %d", first, first+3, portLeast, outgoing-1)
	}
	if !areFree(first, 4) {
		t.Errorf("ports %d to %d are in use", first, first+3)
	}
	if take(first-1, 2) || take(first+3, 2) {
		t.Errorf("ports %d to %d can be given again", first, first+3)
	}
}

// Package logtest keeps the log of the code under test out of the way of tests that pass.
package logtest

import (
	"bytes"
	"log/slog"
	"os"
	"sync"
	"testing"
)

// kept is where the log goes once a test has asked for it.
var kept = struct {
	install sync.Once
	mu      sync.Mutex
	tests   map[*bytes.Buffer]struct{} // of the tests that run
}{tests: map[*bytes.Buffer]struct{}{}}

// Keep holds back what is logged from now until tb ends, and shows it only if tb has failed. A log knows no
// tests: those that run at the same time hold each other's lines too.
func Keep(tb testing.TB) {
	tb.Helper()
	install()
	lines := &bytes.Buffer{}
	kept.mu.Lock()
	kept.tests[lines] = struct{}{}
	kept.mu.Unlock()
	tb.Cleanup(func() {
		kept.mu.Lock()
		delete(kept.tests, lines)
		kept.mu.Unlock()
		if tb.Failed() && lines.Len() > 0 {
			tb.Logf("the log:\n%s", lines)
		}
	})
}

// install makes the log go to the tests, once.
func install() {
	kept.install.Do(func() { slog.SetDefault(slog.New(slog.NewTextHandler(writer{}, nil))) })
}

// writer gives each line to the tests that run, or to the standard error where none does.
type writer struct{}

func (writer) Write(line []byte) (int, error) {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if len(kept.tests) == 0 {
		return os.Stderr.Write(line)
	}
	for lines := range kept.tests {
		lines.Write(line)
	}
	return len(line), nil
}

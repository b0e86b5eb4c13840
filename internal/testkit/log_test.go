package testkit

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// fake is a test that ends when it is told to.
type fake struct {
	testing.TB
	failed  bool
	cleanup func()
	shown   string
}

func (f *fake) Helper()                         {}
func (f *fake) Failed() bool                    { return f.failed }
func (f *fake) Cleanup(do func())               { f.cleanup = do }
func (f *fake) Logf(format string, args ...any) { f.shown += fmt.Sprintf(format, args...) }

func TestKeepLog(t *testing.T) {
	passes, fails, silent := &fake{}, &fake{failed: true}, &fake{failed: true}
	KeepLog(passes)
	KeepLog(silent)
	silent.cleanup()
	KeepLog(fails)
	slog.Info("one", "n", 1)
	slog.Warn("two")
	fails.cleanup()
	slog.Error("three")
	passes.cleanup()
	if passes.shown != "" || silent.shown != "" {
		t.Errorf("shown by a test that passed %q, by one without a log %q", passes.shown, silent.shown)
	}
	for text, want := range map[string]bool{"level=INFO msg=one n=1": true, "level=WARN msg=two": true,
		"three": false} {
		if strings.Contains(fails.shown, text) != want {
			t.Errorf("shown by a test that failed: %q; want %q in it: %v", fails.shown, text, want)
		}
	}
}

package testkit

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
)

// keptLog has the log from the first KeepLog on.
var keptLog = struct {
	install sync.Once
	mu      sync.Mutex
	tests   map[*bytes.Buffer]struct{} // of the running tests
}{tests: map[*bytes.Buffer]struct{}{}}

// KeepLog holds back the log from now until tb ends, and shows it only if tb has failed. A log line does not
// name its test: tests that run at the same time hold each other's lines too.
func KeepLog(tb testing.TB) {
	tb.Helper()
	installLog()
	lines := &bytes.Buffer{}
	keptLog.mu.Lock()
	keptLog.tests[lines] = struct{}{}
	keptLog.mu.Unlock()
	tb.Cleanup(func() {
		keptLog.mu.Lock()
		delete(keptLog.tests, lines)
		keptLog.mu.Unlock()
		if tb.Failed() && lines.Len() > 0 {
			tb.Logf("the log:\n%s", lines)
		}
	})
}

// installLog sends the log to the tests.
func installLog() {
	keptLog.install.Do(func() { slog.SetDefault(slog.New(slog.NewTextHandler(logWriter{}, nil))) })
}

// logWriter gives each line to the running tests, or to the standard error if no test runs.
type logWriter struct{}

func (logWriter) Write(line []byte) (int, error) {
	keptLog.mu.Lock()
	defer keptLog.mu.Unlock()
	if len(keptLog.tests) == 0 {
		return os.Stderr.Write(line)
	}
	for lines := range keptLog.tests {
		lines.Write(line)
	}
	return len(line), nil
}

// LogLines are the lines logged while a test runs.
type LogLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// CaptureLog takes the whole log from now until the test ends.
func CaptureLog(tb testing.TB) *LogLines {
	tb.Helper()
	installLog() // a KeepLog that came first in this test would take the lines away
	l, before := &LogLines{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	tb.Cleanup(func() { slog.SetDefault(before) })
	return l
}

// Write adds a line.
func (l *LogLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// Count counts a text in the log.
func (l *LogLines) Count(text string) int { return strings.Count(l.String(), text) }

// String is the log so far.
func (l *LogLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

package logtest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// Lines are what is logged while a test runs.
type Lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Capture takes everything that is logged from now until the test ends.
func Capture(tb testing.TB) *Lines {
	tb.Helper()
	install() // a Keep that came first in this test would take the lines away
	l, before := &Lines{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	tb.Cleanup(func() { slog.SetDefault(before) })
	return l
}

// Write adds a line.
func (l *Lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// Count is the number of times that a text has been logged.
func (l *Lines) Count(text string) int { return strings.Count(l.String(), text) }

// String is everything that has been logged so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

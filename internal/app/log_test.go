package app

import (
	"io"
	"strings"
	"testing"

	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
)

// A log that is not read does not block those who log. What did not fit is counted once it is read again.
func TestLogNeverBlocks(t *testing.T) {
	read, write := io.Pipe() // a write waits until it is read
	w := newLogWriter(write)
	var dropped figures.Counter
	w.count(&dropped)
	log := newLog(w, config.LogText, nil)
	const lines = 3 * logLinesMax
	for range lines {
		log.Warn("a line")
	}
	var text strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&text, read)
	}()
	w.flush()
	write.Close()
	<-done
	written := strings.Count(text.String(), "a line")
	if written < logLinesMax || written > logLinesMax+1 { // one was being written
		t.Errorf("%d lines are written, want about %d", written, logLinesMax)
	}
	if !strings.Contains(text.String(), "lines of the log were dropped") {
		t.Error("the lines that were dropped are not counted")
	}
	if n := dropped.Value(); n != uint64(lines-written) {
		t.Errorf("%d dropped lines are counted, want %d", n, lines-written)
	}
}

package app

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"flashsale/internal/config"
	"flashsale/internal/observe/accesslog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/supervise"
)

// newLog makes the log of this process. The lines of a worker have its number or role, and
// its process ID.
func newLog(out io.Writer, format string, worker *supervise.Worker) *slog.Logger {
	var handler slog.Handler = slog.NewTextHandler(out, nil)
	if format == config.LogJSON {
		handler = slog.NewJSONHandler(out, nil)
	}
	log := slog.New(handler)
	switch {
	case worker == nil:
	case worker.Role == saleRole:
		log = log.With("worker", worker.Slot, "pid", os.Getpid())
	default:
		log = log.With("role", worker.Role, "pid", os.Getpid())
	}
	return log
}

// newAccessLog makes the access log of a worker, nil if it is off. Its lines look like those of the log and
// go to the same place, but not through the log's queue: they would fill it, and more important lines would
// be dropped.
func (p *program) newAccessLog(
	cfg *config.Config, inherited *supervise.Worker, count *figures.Worker,
) *accesslog.Log {
	if cfg.AccessLog == 0 {
		return nil
	}
	return accesslog.New(accesslog.Config{
		Every: cfg.AccessLog, Out: p.stderr, Dropped: &count.LogLinesDropped,
		NewLogger: func(out io.Writer) *slog.Logger { return newLog(out, cfg.LogFormat, inherited) },
	})
}

const (
	logLinesMax = 1024        // waiting to be written
	logFlush    = time.Second // the longest wait for them at the end of the process
)

// logWriter writes lines to a writer that may block, such as a halted terminal or a pipe that is not read.
// Write itself never blocks: the event loop logs, and all clients of the worker would wait. When too many
// lines wait, further lines are dropped and counted.
type logWriter struct {
	out     io.Writer
	lines   chan logLine
	dropped atomic.Int64
	counter atomic.Pointer[figures.Counter] // of dropped lines; may be nil
}

// logLine is a line, or a request to close written once all earlier lines are written.
type logLine struct {
	text    []byte
	written chan struct{}
}

func newLogWriter(out io.Writer) *logWriter {
	w := &logWriter{out: out, lines: make(chan logLine, logLinesMax)}
	go w.run()
	return w
}

// Write puts a line into the queue. It never fails.
func (w *logWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- logLine{text: bytes.Clone(line)}:
	default:
		w.dropped.Add(1)
		if counter := w.counter.Load(); counter != nil {
			counter.Inc()
		}
	}
	return len(line), nil
}

// count adds dropped lines to a figure from now on.
func (w *logWriter) count(dropped *figures.Counter) { w.counter.Store(dropped) }

func (w *logWriter) run() {
	for line := range w.lines {
		if line.written != nil {
			close(line.written)
			continue
		}
		_, _ = w.out.Write(line.text) // an error of the log cannot be logged
		if n := w.dropped.Swap(0); n > 0 {
			fmt.Fprintf(w.out, "flashsale: %d lines of the log were dropped: the log was not read fast enough\n", n)
		}
	}
}

// flush waits until all lines so far are written, at most logFlush.
func (w *logWriter) flush() {
	limit := time.After(logFlush)
	written := make(chan struct{})
	select {
	case w.lines <- logLine{written: written}:
	case <-limit:
		return
	}
	select {
	case <-written:
	case <-limit:
	}
}

// Package accesslog logs a line for some requests, or for all: the call, the caller, the outcome and the
// time it took. The server hands over a Record, which costs no system call and no wait; a goroutine writes
// the lines. When that is too slow, records are dropped and counted.
//
// A Record has no field that may hold a secret: no path, query, header or body.
package accesslog

import (
	"bytes"
	"context"
	"hash/maphash"
	"io"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"flashsale/internal/logpace"
	"flashsale/internal/observe/figures"
)

const (
	recordsMax = 4096        // waiting to be written
	stopWait   = time.Second // the longest wait for them at the end
	// Lines that are written together stay whole in a pipe that several processes write to (PIPE_BUF).
	pipeBytes = 4096
	lineBytes = 768 // more than a line has
)

// Config is what a Log needs.
type Config struct {
	Every     int                              // one request in Every has a line
	Out       io.Writer                        // may block
	NewLogger func(out io.Writer) *slog.Logger // makes the log's form
	Dropped   *figures.Counter                 // counts the lines that are dropped
}

// Log is an access log. Takes and Add are safe for concurrent use.
type Log struct {
	cfg     Config
	seed    maphash.Seed
	seen    atomic.Uint64 // requests
	records chan Record
	full    logpace.Pace

	lines  bytes.Buffer // that are not written yet
	logger *slog.Logger // to lines
}

// New makes a Log. It writes nothing before Run.
func New(cfg Config) *Log {
	l := &Log{cfg: cfg, seed: maphash.MakeSeed(), records: make(chan Record, recordsMax)}
	l.logger = cfg.NewLogger(&l.lines)
	return l
}

// Takes reports whether a request that is answered with this status has a line. It must be called once for
// each request. Of every Config.Every requests one has a line, at random: calls often come in a fixed order,
// and each n-th request could always be the same call. A failure of the server always has one.
func (l *Log) Takes(status int) bool {
	every, n := uint64(l.cfg.Every), l.seen.Add(1)-1
	sampled := every == 1 || n%every == maphash.Comparable(l.seed, n/every)%every
	return sampled || status >= 500
}

// Record is what a line tells of a request.
type Record struct {
	Time       time.Time // of the reply
	RequestID  string
	Method     string
	Route      string // the pattern of the path: the path itself may hold a secret
	User       uint32 // 0 without a user
	Operator   string // name of who is no user, "" without an operator
	Status     int
	Code       string // of an error reply
	BytesIn    int64  // of the request's body
	BytesOut   int64  // of the reply's body
	Took       time.Duration
	Client     netip.Addr
	Connection string // how it is served

	TraceID, SpanID string // of the caller (W3C Trace Context), "" without a trace
}

// Add hands a record over. It does not wait.
func (l *Log) Add(r *Record) {
	select {
	case l.records <- *r:
	default:
		l.cfg.Dropped.Inc()
		if n := l.full.Due(r.Time); n > 0 {
			slog.Warn("lines of the access log are dropped: it is not read as fast as they come", "dropped", n)
		}
	}
}

// Run writes the lines until ctx ends, and then the records that still wait. It returns within a second
// after that, even where the log is not read.
func (l *Log) Run(ctx context.Context) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.write(ctx.Done())
	}()
	<-ctx.Done()
	select {
	case <-written:
	case <-time.After(stopWait):
	}
	return nil
}

func (l *Log) write(stop <-chan struct{}) {
	for {
		select {
		case r := <-l.records:
			l.line(&r)
		case <-stop:
			for len(l.records) > 0 {
				r := <-l.records
				l.line(&r)
			}
			return
		}
	}
}

// line makes a line. Lines that come fast are written together.
func (l *Log) line(r *Record) {
	line := slog.NewRecord(r.Time, slog.LevelInfo, "request", 0)
	line.AddAttrs(slog.String("request_id", r.RequestID), slog.String("method", r.Method),
		slog.String("route", r.Route), slog.Int("status", r.Status))
	if r.Code != "" {
		line.AddAttrs(slog.String("code", r.Code))
	}
	if r.User != 0 {
		line.AddAttrs(slog.Uint64("user", uint64(r.User)))
	}
	if r.Operator != "" {
		line.AddAttrs(slog.String("operator", r.Operator))
	}
	line.AddAttrs(slog.Int64("bytes_in", r.BytesIn), slog.Int64("bytes_out", r.BytesOut),
		slog.Int64("duration_us", r.Took.Microseconds()), slog.String("client", r.Client.String()),
		slog.String("connection", r.Connection))
	if r.TraceID != "" {
		line.AddAttrs(slog.String("trace_id", r.TraceID), slog.String("span_id", r.SpanID))
	}
	_ = l.logger.Handler().Handle(context.Background(), line) // a buffer takes everything
	if len(l.records) == 0 || l.lines.Len() > pipeBytes-lineBytes {
		_, _ = l.cfg.Out.Write(l.lines.Bytes()) // an error of the log cannot be logged
		l.lines.Reset()
	}
}

package accesslog

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
)

func newText(out io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, nil)).With("worker", 1)
}

func newLog(every int, out io.Writer) *Log {
	return New(Config{Every: every, Out: out, NewLogger: newText, Dropped: &figures.Counter{}})
}

// sink keeps what is written.
type sink struct {
	text bytes.Buffer
	most int // bytes of one Write
}

func (s *sink) Write(b []byte) (int, error) {
	s.most = max(s.most, len(b))
	return s.text.Write(b)
}

// start runs a log. The function that it returns stops it.
func start(t *testing.T, l *Log) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

var order = Record{
	Time: time.Date(2026, 11, 11, 20, 0, 0, 123e6, time.UTC), RequestID: "a1b2",
	Method: "POST", Route: "/orders", User: 7, Status: 403, Code: "FOOD_OUT_OF_STOCK",
	BytesIn: 46, BytesOut: 60, Took: 1234567 * time.Nanosecond,
	Client: netip.MustParseAddr("203.0.113.5"), Connection: "loop",
	TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7",
}

func TestLines(t *testing.T) { synctest.Test(t, testLines) }

func testLines(t *testing.T) {
	var out sink
	l := newLog(1, &out)
	stop := start(t, l)
	l.Add(&order)
	l.Add(&Record{Time: order.Time, RequestID: "c3", Method: "GET", Route: "/foods", Status: 200,
		BytesOut: 9000, Client: netip.MustParseAddr("2001:db8::1"), Connection: "tls"})
	stop() // writes what waits
	want := "time=2026-11-11T20:00:00.123Z level=INFO msg=request worker=1 request_id=a1b2 method=POST " +
		"route=/orders status=403 code=FOOD_OUT_OF_STOCK user=7 bytes_in=46 bytes_out=60 duration_us=1234 " +
		"client=203.0.113.5 connection=loop trace_id=4bf92f3577b34da6a3ce929d0e0e4736 " +
		"span_id=00f067aa0ba902b7\n" +
		"time=2026-11-11T20:00:00.123Z level=INFO msg=request worker=1 request_id=c3 method=GET route=/foods " +
		"status=200 bytes_in=0 bytes_out=9000 duration_us=0 client=2001:db8::1 connection=tls\n"
	if got := out.text.String(); got != want {
		t.Errorf("lines\n%s\nwant\n%s", got, want)
	}
}

// Exactly one request of each run of n has a line, at changing places.
func TestSample(t *testing.T) {
	const every, runs = 100, 200
	l := newLog(every, io.Discard)
	places := map[int]bool{}
	for run := range runs {
		taken := 0
		for place := range every {
			if l.Takes(200) {
				places[place] = true
				taken++
			}
		}
		if taken != 1 {
			t.Fatalf("%d lines for the requests of run %d, want 1", taken, run)
		}
	}
	// By chance it is a few more than 60, see the coupon collector's problem.
	if len(places) < every/2 {
		t.Errorf("the lines of %d runs are at %d places only: a call that comes regularly is never there", runs,
			len(places))
	}
}

func TestTakes(t *testing.T) {
	all, few := newLog(1, io.Discard), newLog(1<<30, io.Discard)
	sampled := 0
	for range 100 {
		for _, status := range []int{200, 404, 499} {
			if !all.Takes(status) {
				t.Fatalf("%d: no line, want one for all", status)
			}
			if few.Takes(status) {
				sampled++
			}
		}
		for _, status := range []int{500, 503} {
			if !few.Takes(status) {
				t.Fatalf("%d: no line of a failure", status)
			}
		}
	}
	if sampled > 1 {
		t.Errorf("%d lines of one in %d", sampled, 1<<30)
	}
}

// A log that is not read delays no request. Lines that do not fit are counted and logged; the others are
// written when the log is read again.
func TestNeverBlocks(t *testing.T) {
	now := time.Now()
	synctest.Test(t, func(t *testing.T) { testNeverBlocks(t, now) })
}

func testNeverBlocks(t *testing.T, now time.Time) {
	told := testkit.CaptureLog(t)
	read, write := io.Pipe() // a write waits until it is read
	l := newLog(1, write)
	stop := start(t, l)
	r := order
	r.Time = now
	l.Add(&r)
	synctest.Wait() // the line is being written from here on
	const more = 10
	for range recordsMax + more {
		l.Add(&r)
	}
	if got := l.cfg.Dropped.Value(); got != more {
		t.Errorf("%d dropped lines are counted, want %d", got, more)
	}
	if told.Count("lines of the access log are dropped") != 1 {
		t.Errorf("the log is %q, want one line of what is dropped", told)
	}
	text := make(chan string)
	go func() {
		all, err := io.ReadAll(read)
		if err != nil {
			t.Error(err)
		}
		text <- string(all)
	}()
	stop()
	write.Close()
	if got := strings.Count(<-text, "msg=request"); got != 1+recordsMax {
		t.Errorf("%d lines are written, want %d", got, 1+recordsMax)
	}
}

// The end does not wait for a log that is not read.
func TestStopsUnread(t *testing.T) { synctest.Test(t, testStopsUnread) }

func testStopsUnread(t *testing.T) {
	read, write := io.Pipe()
	defer read.Close() // ends the write
	l := newLog(1, write)
	stop := start(t, l)
	l.Add(&order)
	before := time.Now()
	if stop(); time.Since(before) != stopWait {
		t.Errorf("the end took %v, want %v", time.Since(before), stopWait)
	}
}

// Lines that wait are written together, each Write with whole lines that fit a pipe.
func TestWritesTogether(t *testing.T) { synctest.Test(t, testWritesTogether) }

func testWritesTogether(t *testing.T) {
	var out sink
	l := newLog(1, &out)
	const count = 1000
	r := order
	r.RequestID = strings.Repeat("i", 128)
	for range count {
		l.Add(&r)
	}
	stop := start(t, l)
	stop() // writes what waits
	if n := bytes.Count(out.text.Bytes(), []byte("\n")); n != count {
		t.Errorf("%d lines are written, want %d", n, count)
	}
	if line := out.text.Len() / count; out.most > pipeBytes || out.most < pipeBytes/2 || line > lineBytes {
		t.Errorf("%d bytes are written at once, a line has %d", out.most, line)
	}
}

func TestDoesNotAllocate(t *testing.T) {
	l := newLog(3, io.Discard)
	l.records = make(chan Record, 200)
	if n := testkit.Allocations(func() {
		if l.Takes(200) {
			l.Add(&order)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

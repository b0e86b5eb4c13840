package figures

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"flashsale/internal/testkit"
)

func TestHistogramBounds(t *testing.T) {
	var d Durations
	for _, took := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, 100*time.Microsecond + 1,
		time.Second, 5 * time.Second, time.Hour} {
		d.Observe(took)
	}
	h := d.Read()
	want := [bucketsMax]uint64{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 6, 7}
	sum := uint64(200*time.Microsecond + 1 + 6*time.Second + time.Hour)
	if h.Cumulative != want || h.Count != 7 || h.Sum != sum {
		t.Errorf("%+v, want %v with a sum of %d", h, want, sum)
	}
	var s Sizes
	for _, size := range []int{1, 2, 3, 256, 257} {
		s.Observe(size)
	}
	sizes := s.Read()
	if got := sizes.Cumulative[:10]; fmt.Sprint(got) != "[1 2 3 3 3 3 3 3 4 5]" || sizes.Count != 5 ||
		sizes.Sum != 519 {
		t.Errorf("sizes %v, %d, %d", got, sizes.Count, sizes.Sum)
	}
	twice := sizes
	twice.Add(sizes)
	if twice.Count != 10 || twice.Sum != 1038 || twice.Cumulative[9] != 10 || twice.Cumulative[0] != 2 {
		t.Errorf("added up %+v", twice)
	}
}

// A label keeps its index; what has no room counts as other, and a long text is cut.
func TestLabels(t *testing.T) {
	var l Labelled
	for i := range labelsMax + 10 {
		text := fmt.Appendf(nil, "label %d", i)
		first := l.Index(text)
		if again := l.Index(text); again != first || (first == Other) != (i >= labelsMax-1) {
			t.Fatalf("%s has the indexes %d and %d", text, first, again)
		}
		l.Inc(first)
	}
	got := By(l.Values())
	if len(got) != labelsMax || got["other"] != 11 || got["label 0"] != 1 || got["label 126"] != 1 {
		t.Errorf("%d labels: %v", len(got), got)
	}
	var long Labelled
	text := []byte(strings.Repeat("x", labelBytes+1))
	long.Inc(long.Index(text))
	if long.Index(text) != 1 || By(long.Values())[string(text[:labelBytes])] != 1 {
		t.Errorf("a long label: %v", By(long.Values()))
	}
}

// A label that a killed worker was writing is passed over.
func TestHalfWrittenLabel(t *testing.T) {
	var l Labelled
	l.labels[1].state.Store(labelWritten)
	l.Inc(l.Index([]byte("a")))
	if got := By(l.Values()); l.Index([]byte("a")) != 2 || got["a"] != 1 || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// Many goroutines count under the same labels at once, and nothing is lost.
func TestConcurrentLabels(t *testing.T) {
	var l Labelled
	var counting sync.WaitGroup
	const goroutines, each = 8, 500
	for range goroutines {
		counting.Go(func() {
			for i := range each {
				l.Inc(l.Index(fmt.Appendf(nil, "label %d", i%20)))
			}
		})
	}
	counting.Wait()
	sums := By(l.Values())
	for i := range 20 {
		if n := sums[fmt.Sprint("label ", i)]; n != goroutines*each/20 {
			t.Errorf("label %d has %v, want %d", i, n, goroutines*each/20)
		}
	}
}

func TestCalls(t *testing.T) {
	w := Private()
	login := w.Calls.Index("POST /login")
	w.Calls.Count(login, 200, time.Millisecond)
	w.Calls.Count(login, 204, time.Millisecond)
	w.Calls.Count(login, 403, time.Second)
	w.Calls.Count(Other, 0, 0) // no status
	var got []string
	for _, v := range w.Calls.Requests() {
		got = append(got, fmt.Sprint(v.Labels, v.Number))
	}
	for _, v := range w.Calls.Times() {
		got = append(got, fmt.Sprint(v.Labels, v.Histogram.Count, v.Histogram.Sum))
	}
	want := []string{"[other 500] 1", "[POST /login 200] 1", "[POST /login 204] 1", "[POST /login 403] 1",
		"[other 5xx] 1 0", "[POST /login 2xx] 2 2000000", "[POST /login 4xx] 1 1000000000"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Counting neither allocates nor waits: the order path does it.
func TestCountingDoesNotAllocate(t *testing.T) {
	w := Private()
	call, reason := w.Calls.Index("POST /orders"), []byte("FOOD_OUT_OF_STOCK")
	w.Refusals.Index(reason)
	if n := testkit.Allocations(func() {
		w.Calls.Count(call, 403, time.Millisecond)
		w.Refusals.Inc(w.Refusals.Index(reason))
		w.Redis.BatchCalls.Observe(3)
		w.OrdersPlaced.Inc()
		w.Connections.Set(4)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Gauges of different workers do not share a cache line, and 8-byte counters are aligned in the mapping.
func TestLayout(t *testing.T) {
	if size := unsafe.Sizeof(Gauges{}); size%64 != 0 {
		t.Errorf("gauges have %d bytes", size)
	}
	if slotBytes%8 != 0 {
		t.Errorf("a slot has %d bytes", slotBytes)
	}
}

// A board holds the last text that fits, and is read whole also while it is written.
func TestBoard(t *testing.T) {
	var b Board
	if text, version := b.Read(nil, 0); len(text) > 0 || version != 0 {
		t.Errorf("a new board has %q, version %d", text, version)
	}
	if b.Write(make([]byte, BoardMax+1)) {
		t.Error("a text that is too long was written")
	}
	short, long := bytes.Repeat([]byte{'s'}, 13), bytes.Repeat([]byte{'l'}, BoardMax)
	var writing sync.WaitGroup
	writing.Go(func() {
		for range 200 {
			if !b.Write(long) || !b.Write(short) {
				t.Error("a text was not written")
			}
		}
	})
	for i := 0; i < 200; i++ {
		text, version := b.Read(nil, 0)
		if version > 0 && !bytes.Equal(text, long) && !bytes.Equal(text, short) {
			t.Fatalf("read %d bytes of two texts", len(text))
		}
	}
	writing.Wait()
	text, version := b.Read([]byte("kept "), 0)
	if string(text) != "kept "+string(short) {
		t.Errorf("read %q", text)
	}
	if text, again := b.Read(nil, version); len(text) > 0 || again != version {
		t.Errorf("the same text is read again: %q", text)
	}
}

func TestQuantile(t *testing.T) {
	var d Durations
	if _, ok := d.Read().Quantile(0.5); ok {
		t.Error("there is a median of no values")
	}
	d.Observe(time.Hour)
	earlier := d.Read()
	for range 4 {
		d.Observe(80 * time.Microsecond) // the bucket from 0 to 100 us
	}
	for range 4 {
		d.Observe(2 * time.Millisecond) // from 1 to 2.5 ms
	}
	for share, want := range map[float64]float64{0.25: 50e3, 0.5: 100e3, 0.75: 1.75e6, 1: 2.5e6} {
		if got, ok := d.Read().Since(earlier).Quantile(share); !ok || got != want {
			t.Errorf("quantile %v is %v, want %v", share, got, want)
		}
	}
	if got, ok := earlier.Quantile(0.5); !ok || got != 5e9 {
		t.Errorf("the median beyond the last bound is %v, want %v", got, 5e9)
	}
}

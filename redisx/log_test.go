package redisx

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// logEntries are all entries of the log of a sale.
func logEntries(t *testing.T, s *Sale) (entries []LogEntry) {
	t.Helper()
	for scan := s.ScanLog(); ; {
		page, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return entries
		}
		testkit.Must(t, err)
		entries = append(entries, page...)
	}
}

// logOf is the log of a sale in one line, times by their names.
func logOf(t *testing.T, s *Sale) string {
	t.Helper()
	var lines []string
	for _, e := range logEntries(t, s) {
		line := e.By + " " + e.What
		switch times := func(at Times) string {
			return fmt.Sprintf("{%s} {%s}", nameOf(at.OpensAt), nameOf(at.ClosesAt))
		}; e.What {
		case LogOpened:
			line += fmt.Sprint(" ", e.Pieces, " ", times(e.TimesAfter))
		case LogState:
			line += fmt.Sprintf(" %s %s", e.StateBefore, e.StateAfter)
		case LogTimes:
			line += " " + times(e.TimesBefore) + "-" + times(e.TimesAfter)
		case LogStock:
			line += fmt.Sprintf(" %d: %d%+d=%d", e.Food, e.StockBefore, e.Add, e.StockAfter)
		}
		if age := time.Since(e.At); age < -time.Second || age > time.Minute {
			t.Errorf("%s: %v ago", line, age)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

// A log of many pages is read whole and in order.
func TestLogPages(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 0)
		const restocks = ScanCount + 10
		for range restocks {
			if _, _, err := s.Restock(Restock{By: "terminal", Food: 1, Add: 1}); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Split(logOf(t, s), ", ")
		if last := fmt.Sprintf("terminal stock 1: %d+1=%d", restocks-1, restocks); len(lines) != restocks+1 ||
			lines[restocks] != last {
			t.Errorf("%d lines, the last %s; want %s", len(lines), lines[len(lines)-1], last)
		}
		raw(t, cfg, nil, "XADD", logPrefix+s.ID(), "*", "by", "root", "what", "stock", "food", "x")
		scan := s.ScanLog()
		if _, err := scan.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := scan.Next(t.Context())
		const want = `: cannot read its field food: strconv.ParseInt: parsing "x": invalid syntax`
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v", err)
		}
		raw(t, cfg, nil, "DEL", logPrefix+s.ID())
		if log := logOf(t, s); log != "" {
			t.Errorf("no log is read as %s", log)
		}
	})
}

// A follower reads what is logged after it was made, once, page by page, and all of a sale that follows.
func TestFollowerChanges(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 0)
		f, err := Follow(t.Context(), cfg, s.ID())
		testkit.Must(t, err)
		testkit.Background(t, f.Run)
		changes := func(sale string, want int) (entries []LogEntry) {
			t.Helper()
			entries, err := f.Changes(sale)
			if err != nil || len(entries) != want {
				t.Fatalf("%d changes, %v, want %d", len(entries), err, want)
			}
			return entries
		}
		testkit.Until(t, "the follower reaches Redis", func() bool {
			_, err := f.Changes(s.ID())
			return err == nil
		})
		for range ScanCount + 1 {
			if _, _, err := s.Restock(Restock{By: "root", Food: 1, Add: 1}); err != nil {
				t.Fatal(err)
			}
		}
		changes(s.ID(), ScanCount)
		if last := changes(s.ID(), 1)[0]; last.By != "root" || last.StockAfter != ScanCount+1 {
			t.Errorf("the last change is %+v", last)
		}
		changes(s.ID(), 0)
		for _, food := range []string{"x", "1"} {
			raw(t, cfg, nil, "XADD", logPrefix+s.ID(), "*", "by", "root", "what", "stock", "food", food, "add", "1",
				"before", "1", "after", "2")
		}
		entries, err := f.Changes(s.ID())
		if err == nil || errors.Is(err, ErrUnavailable) || len(entries) != 1 || entries[0].Food != 1 {
			t.Errorf("beside an entry that cannot be read: %+v, %v; want the other one", entries, err)
		}
		changes(s.ID(), 0)
		raw(t, cfg, nil, "XADD", logPrefix+"next", "*", "by", "terminal", "what", "state", "before", "closed",
			"after", "open")
		if first := changes("next", 1)[0]; first.StateAfter != StateOpen {
			t.Errorf("the next sale begins with %+v", first)
		}
	})
}

package history

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"
)

// ErrNotLinearizable is a history that no order of events explains.
var ErrNotLinearizable = errors.New("not linearizable")

const (
	partLimit = time.Minute // for the search in one part
	shownMax  = 12          // events of the bad part in the report
	badMax    = 20          // bad parts that are compared for the shortest one
)

// Verdict is the result of a check.
type Verdict struct {
	Events, Parts int
	Undecided     []string // parts for which the time was too short
	Bad           []string // parts that no order of events explains
	Shortest      []Event  // the shortest beginning of a bad part that is bad by itself
}

// Check checks a history.
func Check(events []Event) Verdict {
	all := make([]*Event, len(events))
	for i := range events {
		all[i] = &events[i]
	}
	cut := parts(all)
	v := Verdict{Events: len(events), Parts: len(cut)}
	names := slices.Sorted(maps.Keys(cut))
	results := make([]porcupine.CheckResult, len(names))
	var searches errgroup.Group
	searches.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		searches.Go(func() error {
			results[i] = cut[name].check()
			return nil
		})
	}
	_ = searches.Wait() // no search has an error
	for i, name := range names {
		switch results[i] {
		case porcupine.Illegal:
			v.Bad = append(v.Bad, name)
		case porcupine.Unknown:
			v.Undecided = append(v.Undecided, name)
		}
	}
	// Users come first: their parts are short.
	slices.SortStableFunc(v.Bad, func(a, b string) int { return cmp.Compare(b[0], a[0]) })
	for _, name := range v.Bad[:min(len(v.Bad), badMax)] {
		if short := shortest(name, related(cut[name], all)); v.Shortest == nil || len(short) < len(v.Shortest) {
			v.Shortest = short
		}
	}
	return v
}

func (p *part) check() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(p.model, p.calls, partLimit)
}

// related are the events that a part is made of.
func related(p *part, all []*Event) (events []*Event) {
	users, foods := map[uint32]bool{}, map[int64]bool{}
	for _, e := range p.events {
		users[e.User], foods[e.Food] = true, true
	}
	for _, e := range all {
		if e.User != 0 && users[e.User] || e.Food != 0 && foods[e.Food] {
			events = append(events, e)
		}
	}
	return events
}

// shortest returns the events of the shortest beginning of a bad part that is bad, by time. A call that is
// under way at the end of a beginning has no answer there.
func shortest(name string, events []*Event) (short []Event) {
	ends := make([]int64, len(events))
	for i, e := range events {
		ends[i] = e.Ended
	}
	slices.Sort(ends)
	first := sort.Search(len(ends)-1, func(i int) bool {
		p := parts(until(ends[i], events))[name]
		return p != nil && p.check() == porcupine.Illegal
	})
	for _, e := range parts(until(ends[first], events))[name].events {
		short = append(short, *e)
	}
	slices.SortFunc(short, func(a, b Event) int { return cmp.Compare(a.Began, b.Began) })
	return short
}

func until(end int64, events []*Event) (beginning []*Event) {
	for _, e := range events {
		if e.Ended > end && e.Began <= end {
			open := *e
			open.Outcome = Unknown
			if e.Call == Order {
				open.ID = ""
			}
			e = &open
		}
		if e.Began <= end {
			beginning = append(beginning, e)
		}
	}
	return beginning
}

// Err is nil if one order of events explains all parts.
func (v Verdict) Err() error {
	switch {
	case len(v.Bad) > 0:
		return fmt.Errorf("%w: %d of %d parts, such as %s", ErrNotLinearizable, len(v.Bad), v.Parts, v.Bad[0])
	case len(v.Undecided) > 0:
		return fmt.Errorf("%w as far as is known: the search took over %v for %v", ErrNotLinearizable, partLimit,
			v.Undecided)
	}
	return nil
}

// String is the verdict for people, with the shortest bad part.
func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events in %d parts: %d bad, %d undecided\n", v.Events, v.Parts, len(v.Bad),
		len(v.Undecided))
	if len(v.Bad) == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "the shortest bad part has %d events", len(v.Shortest))
	if hidden := len(v.Shortest) - shownMax; hidden > 0 {
		fmt.Fprintf(&b, ", the last %d of them", shownMax)
		v.Shortest = v.Shortest[hidden:]
	}
	b.WriteString(":\n")
	for _, e := range v.Shortest {
		fmt.Fprintf(&b, "  %12.6f to %12.6f s  client %d: %s\n", seconds(e.Began), seconds(e.Ended), e.Client, e)
	}
	return b.String()
}

func seconds(nanoseconds int64) float64 { return time.Duration(nanoseconds).Seconds() }

// String is the call and its answer.
func (e Event) String() string {
	var words []string
	note := func(name string, value any, shown bool) {
		if shown {
			words = append(words, fmt.Sprint(name, value))
		}
	}
	note("user ", e.User, e.User != 0)
	note("", e.Call, true)
	note("food ", e.Food, e.Food != 0)
	note("", e.Count, e.Food != 0)
	note("", e.Pieces, e.Pieces != nil)
	note("of user ", e.Owner, e.Owner != 0)
	note("key ", e.Key, e.Key != "")
	note("-> ", e.Outcome, true)
	note("", e.ID, e.ID != "")
	note("", e.State, e.State != "")
	return strings.Join(words, " ")
}

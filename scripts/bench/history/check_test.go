package history

import (
	"slices"
	"testing"
	"time"
)

const (
	stepTime = 10 * time.Millisecond // from one call to the next; each takes half of it
	holdTime = 28 * time.Millisecond
)

func order(user uint32, key string, pieces int64, id string) Event {
	return Event{User: user, Call: Order, Key: key, Pieces: Pieces{1: pieces}, ID: id, Hold: int64(holdTime)}
}

func soldOut(user uint32, key string, pieces int64) Event {
	e := order(user, key, pieces, "")
	e.Outcome = OutOfStock
	return e
}

func read(user uint32, id string, pieces int64, state string) Event {
	return Event{User: user, Call: Read, ID: id, Pieces: Pieces{1: pieces}, State: state}
}

func none(user uint32) Event { return Event{User: user, Call: Read} }

func ends(user uint32, call, id, outcome string) Event {
	return Event{User: user, Call: call, ID: id, Outcome: outcome}
}

func left(pieces int64) Event { return Event{Call: Stock, Food: 1, Count: pieces} }

// heldSale is a history of two users with held orders, one call after the other.
var heldSale = []Event{
	0:  left(3),
	1:  order(7, "a", 2, "o1"),
	2:  soldOut(8, "b", 2),
	3:  read(7, "o1", 2, Held),
	4:  ends(7, Cancel, "o1", Done),
	5:  order(8, "b", 2, "o2"),
	6:  order(7, "c", 1, "o3"),
	7:  ends(8, Pay, "o2", Done),
	8:  read(8, "o2", 2, Paid),
	9:  none(7), // the hold of o3 has ended
	10: ends(7, Pay, "o3", Done),
	11: read(7, "o3", 1, Paid),
	12: read(7, "o1", 2, Released),
	13: ends(7, Cancel, "o3", IsPaid),
	14: left(0),
}

// One call of the history is told in another way, or followed by others.
func TestLiesOfHeldOrdersAreFound(t *testing.T) {
	tests := map[string]struct {
		at   int
		told []Event
		bad  string // part; "" = it may be so
	}{
		"the truth":                    {0, heldSale[:1], ""},
		"no answer to a cancel":        {4, []Event{ends(7, Cancel, "o1", Unknown)}, ""},
		"no answer to a payment":       {7, []Event{ends(8, Pay, "o2", Unknown)}, ""},
		"no answer to an order":        {6, []Event{ends(7, Cancel, "o1", NoOrder), order(7, "c", 1, "o3")}, ""},
		"a payment begins":             {3, []Event{read(7, "o1", 2, Paying)}, ""},
		"a payment is told twice":      {7, []Event{heldSale[7], heldSale[7]}, ""},
		"one key, the order from then": {12, []Event{order(8, "b", 2, "o2")}, ""},

		"a paid order is released":            {8, []Event{read(8, "o2", 2, Released)}, "user 8"},
		"paid without a payment":              {10, []Event{none(7)}, "user 7"},
		"a paid order is gone":                {8, []Event{none(8)}, "user 8"},
		"a paid order is given back":          {13, []Event{ends(7, Cancel, "o3", Done)}, "user 7"},
		"a hold ends too early":               {3, []Event{none(7)}, "user 7"},
		"two orders at once":                  {6, []Event{order(8, "c", 1, "o3"), heldSale[6]}, "user 8"},
		"an id is given twice":                {6, []Event{order(7, "c", 1, "o1")}, "user 7"},
		"one key, another order":              {12, []Event{order(7, "a", 2, "o4")}, "user 7"},
		"an order given back is held again":   {12, []Event{read(7, "o1", 2, Held)}, "user 7"},
		"a payment that came late is no debt": {12, []Event{ends(7, Pay, "o1", Done), heldSale[12]}, "user 7"},
		"it begins to pay when it has ended":  {12, []Event{read(7, "o1", 2, Paying)}, "user 7"},
		"a late payment makes it held":        {11, []Event{read(7, "o3", 1, Held)}, "user 7"},
		"a late payment is an order and due":  {11, []Event{read(7, "o3", 1, RefundDue), heldSale[11]}, "user 7"},
		"a held order is not there to cancel": {4, []Event{ends(7, Cancel, "o1", NoOrder), heldSale[4]}, "user 7"},
		"a held order counts as paid":         {4, []Event{ends(7, Cancel, "o1", IsPaid)}, "user 7"},

		"pieces are given back twice":       {14, []Event{left(2)}, "food 1"},
		"pieces are never given back":       {5, []Event{soldOut(8, "b", 2), heldSale[5]}, "food 1"},
		"pieces are sold before a release":  {2, []Event{order(8, "b", 2, "o2")}, "food 1"},
		"a late payment takes no pieces":    {14, []Event{left(1)}, "food 1"},
		"a late payment that is due takes":  {11, []Event{read(7, "o3", 1, RefundDue)}, "food 1"},
		"a payment in time takes once more": {14, []Event{left(-2)}, "food 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			events := slices.Replace(slices.Clone(heldSale), test.at, test.at+1, test.told...)
			v := Check(inTurn(events, test.at+1, test.at+len(test.told)))
			if (test.bad == "") != (v.Err() == nil) || test.bad != "" && !slices.Contains(v.Bad, test.bad) {
				t.Errorf("bad: %q, want %q\n%s", v.Bad, test.bad, v)
			}
		})
	}
}

// inTurn gives the events their times. Those that were put in take a part of the pause before them.
func inTurn(events []Event, first, end int) []Event {
	at := int64(0)
	for i := range events {
		e := &events[i]
		if i >= first && i < end {
			at -= int64(stepTime)
			e.Began = at + int64(stepTime)*6/10
			e.Ended = e.Began + int64(stepTime)*3/10
		} else {
			e.Began, e.Ended = at, at+int64(stepTime)/2
		}
		at += int64(stepTime)
		e.Client = int(e.User)
		if e.Outcome == "" {
			e.Outcome = Done
		}
	}
	return events
}

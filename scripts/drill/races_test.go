package main

import (
	"testing"

	"flashsale/internal/testkit/client"
)

// The model follows the contract, in both orders of events.
func TestExpect(t *testing.T) {
	const full, empty = "403 FOOD_OUT_OF_LIMIT", "403 CART_EMPTY"
	for _, test := range []struct {
		race                    race
		changeFirst, orderFirst outcome
	}{
		{race{[]client.Item{item(1, 1)}, item(2, 1)},
			outcome{"204", "200", "[{1 1} {2 1}]", "", "[{1 1} {2 1}]"},
			outcome{"204", "200", "[{1 1}]", "", "[{1 1}]"}},
		{race{[]client.Item{item(1, 2), item(2, 1)}, item(3, 1)},
			outcome{full, "200", "[{1 2} {2 1}]", "", "[{1 2} {2 1}]"},
			outcome{"204", "200", "[{1 2} {2 1}]", "", "[{1 2} {2 1}]"}},
		{race{nil, item(2, 1)},
			outcome{"204", "200", "[{2 1}]", "", "[{2 1}]"},
			outcome{"204", empty, "[]", "200", "[{2 1}]"}},
		{race{[]client.Item{item(1, 1)}, item(1, -1)},
			outcome{"204", empty, "[]", empty, "[]"},
			outcome{"204", "200", "[{1 1}]", "", "[{1 1}]"}},
		{race{[]client.Item{item(1, 1)}, item(1, -3)},
			outcome{"204", empty, "[]", empty, "[]"},
			outcome{"204", "200", "[{1 1}]", "", "[{1 1}]"}},
		{race{[]client.Item{item(1, 3), item(1, -3), item(2, 1)}, item(1, 1)},
			outcome{"204", "200", "[{1 1} {2 1}]", "", "[{1 1} {2 1}]"},
			outcome{"204", "200", "[{2 1}]", "", "[{2 1}]"}},
		{race{[]client.Item{item(1, -1), item(2, 1)}, item(1, 1)},
			outcome{"204", "200", "[{2 1} {1 1}]", "", "[{2 1} {1 1}]"},
			outcome{"204", "200", "[{2 1}]", "", "[{2 1}]"}},
	} {
		if got := expect(test.race.before, test.race.change, false); got != test.changeFirst {
			t.Errorf("%v, change first: %+v, want %+v", test.race, got, test.changeFirst)
		}
		if got := expect(test.race.before, test.race.change, true); got != test.orderFirst {
			t.Errorf("%v, order first: %+v, want %+v", test.race, got, test.orderFirst)
		}
	}
}

// Every race of the drill shows which call came first.
func TestRacesTell(t *testing.T) {
	for _, r := range races {
		if expect(r.before, r.change, false) == expect(r.before, r.change, true) {
			t.Errorf("%v looks the same in both orders of events", r)
		}
	}
}

func TestTally(t *testing.T) {
	r := race{[]client.Item{item(1, 1)}, item(2, 3)}
	changeFirst, orderFirst := expect(r.before, r.change, false), expect(r.before, r.change, true)
	fault, mixed := changeFirst, changeFirst
	fault.changed, mixed.bought = "503 SERVICE_UNAVAILABLE", "[{1 1} {2 3}]"
	var got tally
	for _, seen := range []outcome{changeFirst, orderFirst, orderFirst, fault, mixed} {
		got.judge(2, r, seen, changeFirst, orderFirst)
	}
	if got.changeFirst != 1 || got.orderFirst != 2 || got.broken != 2 || got.faults != 1 {
		t.Errorf("%+v", &got)
	}
}

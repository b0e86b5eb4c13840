package audit

import (
	"reflect"
	"slices"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

// soundEvidence is a small sale that went well: users 2 to 6, of whom user 2 had bought before and 3 to 5
// bought now; the answer to user 5 was lost; user 6 was refused.
func soundEvidence() *Evidence {
	return &Evidence{
		Sale: &sale.Sale{
			Users: []catalog.User{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}, {ID: 5}, {ID: 6}, {ID: 7}},
			Foods: []catalog.Food{{ID: 1, Stock: 4, Price: 3}, {ID: 2, Stock: 10, Price: 5}},
		},
		before: map[string]Order{"o2": {ID: "o2", UserID: 2, Items: []Item{{1, 1}}, Total: 3}},
		Attempts: []sale.Attempt{
			{UserID: 3, Outcome: sale.Placed, OrderID: "o3", Adds: 3, Foods: [sale.PiecesMax]int64{2, 1, 2}},
			{UserID: 4, Outcome: sale.Placed, OrderID: "o4", Adds: 1, Foods: [sale.PiecesMax]int64{1}},
			{UserID: 5, Outcome: sale.Unknown, Adds: 1, Foods: [sale.PiecesMax]int64{2}},
			{UserID: 6, Outcome: sale.Refused, Adds: 1, Foods: [sale.PiecesMax]int64{1}},
			{UserID: 7, Outcome: sale.NotOrdered, Adds: 1, Foods: [sale.PiecesMax]int64{1}},
		},
		orders: []Order{
			{ID: "o2", UserID: 2, Items: []Item{{1, 1}}, Total: 3},
			{ID: "o3", UserID: 3, Items: []Item{{2, 2}, {1, 1}}, Total: 13},
			{ID: "o4", UserID: 4, Items: []Item{{1, 1}}, Total: 3},
			{ID: "o5", UserID: 5, Items: []Item{{2, 1}}, Total: 5},
		},
		listings: []listing{
			{"a:1", []Offer{{ID: 1, Price: 3, Stock: 1}, {ID: 2, Price: 5, Stock: 7}}},
			{"b:1", []Offer{{ID: 1, Price: 3, Stock: 1}, {ID: 2, Price: 5, Stock: 7}}},
		},
	}
}

// What was restocked was there too, and what was taken back was not.
func TestRestockedEvidence(t *testing.T) {
	ev := soundEvidence()
	ev.restocked = map[int64]int64{1: 5, 2: -3}
	for _, l := range ev.listings {
		l.foods[0].Stock += 5
		l.foods[1].Stock -= 3
	}
	if names := failed(ev.Checks()); names != nil {
		t.Errorf("failed %q", names)
	}
	if err := ev.matchStock(); err != nil {
		t.Error(err)
	}
	ev.restocked[2] = -8
	for _, want := range []string{"food 2 is sold 3 times, there were 2",
		"food 2 on a:1: 4 left + 3 sold is not 2"} {
		found := false
		for _, c := range ev.Checks() {
			found = found || slices.Contains(c.Examples, want)
		}
		if !found {
			t.Errorf("no check shows %q", want)
		}
	}
}

func TestSoundEvidencePasses(t *testing.T) {
	examined := []int{4, 4, 4, 4, 2, 4, 2, 3, 3, 1}
	for i, c := range soundEvidence().Checks() {
		if c.Violations != 0 || c.Examined != examined[i] {
			t.Errorf("%+v, want %d looked at", c, examined[i])
		}
	}
	lost := soundEvidence()
	lost.orders = lost.orders[:3] // the order without an answer never came to be
	for _, l := range lost.listings {
		l.foods[1].Stock++
	}
	if names := failed(lost.Checks()); names != nil {
		t.Errorf("failed %q", names)
	}
}

// violations spoil the sound evidence one by one.
var violations = map[string]struct {
	spoil func(*Evidence)
	want  []string // first example of each check that fails
}{
	"lost order": {func(ev *Evidence) {
		ev.orders = ev.orders[:2]
		ev.listings = nil
	}, []string{`order "o4" of user 4 was answered 200 and is not there`}},
	"order of another user": {func(ev *Evidence) { ev.orders[2].UserID = 5; ev.orders[3].UserID = 4 },
		[]string{
			`order "o4" was answered to user 4 and is there for user 5`,
			`order "o4" of user 5 has (food, count) [{1 1}], sent were one piece each of [2]`,
			`order "o5" of user 4 is there, answered was "o4"`}},
	"listed twice": {func(ev *Evidence) { ev.orders[3].ID = "o4" }, []string{
		`order "o4" of user 4 is listed again, of user 5`,
		`order "o4" was answered to user 4 and is there for user 5`}},
	"no id": {func(ev *Evidence) { ev.orders[3].ID = "" }, []string{`an order of user 5 has no id`}},
	"two orders of a user": {func(ev *Evidence) { ev.orders[3].UserID = 4 }, []string{
		`user 4 has order "o4" and order "o5"`,
		`order "o5" of user 4 has (food, count) [{2 1}], sent were one piece each of [1]`,
		`order "o5" of user 4 is there, answered was "o4"`}},
	"unknown user": {func(ev *Evidence) { ev.orders[3].UserID = 99 }, []string{
		`order "o5" is of user 99, who is not in the catalogue`,
		`order "o5" of user 99, who took no part in this run, was not there before`}},
	"unknown food": {func(ev *Evidence) {
		ev.orders[3].Items[0].FoodID = 3
		ev.orders[3].Total = 0
		ev.listings = nil
	}, []string{
		`order "o5" of user 5 has 1 pieces of food 3 (in the catalogue: false, listed before: false)`,
		`order "o5" of user 5 has (food, count) [{3 1}], sent were one piece each of [2]`}},
	"wrong pieces": {func(ev *Evidence) {
		ev.orders[2].Items[0].FoodID = 2
		ev.orders[2].Total = 5
		ev.listings = nil
	}, []string{
		`order "o4" of user 4 has (food, count) [{2 1}], sent were one piece each of [1]`}},
	"too few pieces": {func(ev *Evidence) {
		ev.orders[2].Items = nil
		ev.orders[2].Total = 0
		ev.listings = nil
	}, []string{
		`order "o4" of user 4 has 0 pieces`,
		`order "o4" of user 4 has (food, count) [], sent were one piece each of [1]`}},
	"too many pieces": {func(ev *Evidence) {
		ev.orders[0].Items[0].Count = 4
		ev.orders[0].Total = 12
		ev.listings = nil
	}, []string{
		`order "o2" of user 2 has 4 pieces`,
		`food 1 is sold 6 times, there were 4`,
		`order "o2" was {o2 2 [{1 1}] 3} and is {o2 2 [{1 4}] 12}`}},
	"food listed twice in an order": {func(ev *Evidence) {
		ev.orders[0].Items = []Item{{1, 1}, {1, 1}}
		ev.orders[0].Total = 6
		ev.before["o2"] = ev.orders[0]
		ev.listings = nil
	}, []string{`order "o2" of user 2 has 1 pieces of food 1 (in the catalogue: true, listed before: ` +
		`true)`}},
	"other order of foods": {func(ev *Evidence) { ev.orders[1].Items = []Item{{1, 1}, {2, 2}} }, []string{
		`order "o3" of user 3 has (food, count) [{1 1} {2 2}], sent were one piece each of [2 1 2]`}},
	"wrong total": {func(ev *Evidence) { ev.orders[1].Total = 14 }, []string{
		`order "o3" of user 3 has total 14, its pieces cost 13`}},
	"oversold": {func(ev *Evidence) {
		ev.Sale.Foods[0].Stock = 2
		ev.listings = []listing{{"a:1", []Offer{{ID: 1, Stock: -1}, {ID: 2, Stock: 7}}}}
	}, []string{`food 1 is sold 3 times, there were 2`}},
	"stock too high": {func(ev *Evidence) { ev.listings[1].foods[1].Stock = 8 }, []string{
		`food 2 on b:1: 8 left + 3 sold is not 10`}},
	"food not offered": {func(ev *Evidence) { ev.listings[0].foods = ev.listings[0].foods[:1] }, []string{
		`a:1 does not list food 2`}},
	"food offered twice": {func(ev *Evidence) {
		ev.listings[0].foods = append(ev.listings[0].foods, Offer{ID: 2, Stock: 7})
	}, []string{
		`a:1 lists food 2 twice`}},
	"strange food offered": {func(ev *Evidence) {
		ev.listings[0].foods = append(ev.listings[0].foods, Offer{ID: 3})
	}, []string{
		`a:1 lists food 3, which is not in the catalogue`}},
	"refused and kept": {func(ev *Evidence) {
		ev.orders = append(ev.orders, Order{ID: "o6", UserID: 6, Items: []Item{{1, 1}}, Total: 3})
		ev.listings = nil
	}, []string{`order "o6" of user 6 is there, its order was refused`}},
	"never sent and there": {func(ev *Evidence) {
		ev.orders = append(ev.orders, Order{ID: "o7", UserID: 7, Items: []Item{{1, 1}}, Total: 3})
		ev.listings = nil
	}, []string{`order "o7" of user 7 is there, none was sent`}},
	"earlier order gone": {func(ev *Evidence) { ev.orders = ev.orders[1:]; ev.listings = nil }, []string{
		`order "o2" of user 2 was there before and is gone`}},
	"earlier order changed": {func(ev *Evidence) {
		ev.orders[0].Items = []Item{{2, 1}}
		ev.orders[0].Total = 5
		ev.listings = nil
	}, []string{
		`order "o2" was {o2 2 [{1 1}] 3} and is {o2 2 [{2 1}] 5}`}},
}

// wantExamples compares the first example of each check that fails.
func wantExamples(t *testing.T, ev *Evidence, want []string) {
	t.Helper()
	var got []string
	for _, c := range ev.Checks() {
		if c.Violations > 0 {
			got = append(got, c.Examples[0])
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestEachViolationIsFound(t *testing.T) {
	for name, test := range violations {
		t.Run(name, func(t *testing.T) {
			ev := soundEvidence()
			test.spoil(ev)
			wantExamples(t, ev, test.want)
		})
	}
}

// heldEvidence is soundEvidence of a sale that holds orders: user 3 has paid, user 4 too late, and user 7
// has given back.
func heldEvidence() *Evidence {
	ev := soundEvidence()
	ev.orders = ev.orders[1:2]
	ev.before = map[string]Order{}
	ev.Attempts = ev.Attempts[:2]
	ev.Attempts = append(ev.Attempts, sale.Attempt{UserID: 7, Outcome: sale.Placed, OrderID: "o7"})
	for i := range ev.listings {
		ev.listings[i].foods[0].Stock, ev.listings[i].foods[1].Stock = 3, 8
	}
	ev.Endings = []sale.Ending{
		{OrderID: "o3", UserID: 3, End: sale.Paid, Payment: "p3", Amount: 13},
		{OrderID: "o4", UserID: 4, End: sale.PaidLate, Payment: "p4", Amount: 3},
		{OrderID: "o7", UserID: 7, End: sale.GivenBack},
	}
	gone := func(id string, user uint32, state string) heldOrder {
		return heldOrder{Order{ID: id, UserID: user}, state}
	}
	ev.held = heldBooks{paid: ev.orders, paidIDs: map[string]bool{"o3": true},
		released: map[string]heldOrder{"o4": gone("o4", 4, "refund_due"), "o7": gone("o7", 7, "released")},
		refunds:  map[string][]int64{"p4": {3}, "of another run": {1}}}
	return ev
}

func TestHeldChecks(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*Evidence)
		want  []string // the first example of each check
	}{
		"sound": {func(*Evidence) {}, nil},
		"pieces held and sold": {func(ev *Evidence) { ev.held.pieces = map[int64]int64{2: 1} },
			[]string{"food 2 on a:1: 8 left + 1 held + 2 paid is not 10"}},
		"paid and released": {func(ev *Evidence) { ev.Endings[2].End = sale.Paid },
			[]string{`order "o7" of user 7 was paid and is "released"`}},
		"given back and held": {func(ev *Evidence) { ev.Endings[0].End = sale.GivenBack },
			[]string{`order "o3" of user 3 was given back and is "paid"`}},
		"late payment lost": {func(ev *Evidence) { delete(ev.held.refunds, "p4") },
			[]string{`of payment "p4" for order "o4" [] is due to be given back, not [3]`}},
		"late payment owed twice": {func(ev *Evidence) { ev.held.refunds["p4"] = []int64{3, 3} },
			[]string{`of payment "p4" for order "o4" [3 3] is due to be given back, not [3]`}},
		"paid and owed": {func(ev *Evidence) { ev.held.refunds["p3"] = []int64{13} },
			[]string{`of payment "p3" for order "o3" [13] is due to be given back, not []`}},
		"call failed": {func(ev *Evidence) { ev.Endings[2].End, ev.Endings[2].Problem = sale.Failed, "no answer" },
			[]string{`order "o7" of user 7: no answer`}},
		"released order lost": {func(ev *Evidence) { delete(ev.held.released, "o7") },
			[]string{`order "o7" of user 7 was answered 200 and is not there`,
				`order "o7" of user 7 was given back and is ""`}},
	} {
		t.Run(name, func(t *testing.T) {
			ev := heldEvidence()
			test.spoil(ev)
			wantExamples(t, ev, test.want)
		})
	}
}

func TestAddSentTwiceMayCountDouble(t *testing.T) {
	try := sale.Attempt{Adds: 2, Foods: [sale.PiecesMax]int64{7, 8},
		Twice: [sale.PiecesMax]bool{false, true}}
	tests := []struct {
		items []Item
		want  bool
	}{
		{[]Item{{7, 1}, {8, 1}}, true},
		{[]Item{{7, 1}, {8, 2}}, true},
		{[]Item{{7, 2}, {8, 1}}, false},
		{[]Item{{7, 1}, {8, 3}}, false},
		{[]Item{{7, 1}}, false},
		{[]Item{{8, 1}, {7, 1}}, false},
	}
	for _, test := range tests {
		if got := explains(&try, test.items); got != test.want {
			t.Errorf("explains(%v) = %t", test.items, got)
		}
	}
}

func TestExamplesAreBounded(t *testing.T) {
	var c Check
	for range examplesMax + 5 {
		c.Violate("again")
	}
	if c.Violations != examplesMax+5 || len(c.Examples) != examplesMax {
		t.Errorf("%d violations, %d examples", c.Violations, len(c.Examples))
	}
}

func TestSettledCheck(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*Evidence)
		want  []string
	}{
		"sound": {func(*Evidence) {}, nil},
		"unknown and lost": {func(ev *Evidence) { ev.orders = ev.orders[:3] },
			[]string{"user 5 has 0 orders; the outcome of its flow: unknown"}},
		"placed and lost": {func(ev *Evidence) { ev.orders = ev.orders[3:] }, []string{
			"user 3 has 0 orders; the outcome of its flow: placed",
			"user 4 has 0 orders; the outcome of its flow: placed"}},
		"twice": {func(ev *Evidence) { ev.orders[0].UserID = 5 },
			[]string{"user 5 has 2 orders; the outcome of its flow: unknown"}},
		"stranded": {func(ev *Evidence) { ev.Attempts[4].Outcome = sale.Stranded },
			[]string{"user 7 has 0 orders; the outcome of its flow: stranded"}},
	} {
		t.Run(name, func(t *testing.T) {
			ev := soundEvidence()
			ev.Retried = true
			test.spoil(ev)
			checks := ev.Checks()
			c := checks[len(checks)-1]
			examined := 3
			if name == "stranded" {
				examined = 4
			}
			if len(checks) != 11 || c.Name != Settled || c.Examined != examined ||
				!reflect.DeepEqual(c.Examples, test.want) {
				t.Errorf("%+v, want %q", c, test.want)
			}
		})
	}
}

// failed lists the names of the checks with violations.
func failed(checks []Check) []string {
	var names []string
	for _, c := range checks {
		if c.Violations > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

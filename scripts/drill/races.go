package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"flashsale/internal/testkit/client"
)

const (
	racers       = 64 // users at a time, each on two connections
	examplesMax  = 5
	cartPieceMax = 3 // pieces that a cart may hold
)

// race is a cart that is changed and ordered at the same moment. Food n stands for the n-th food of the
// user.
type race struct {
	before []client.Item // earlier changes
	change client.Item   // races with the order
}

// races are carts of all kinds: plain and corrected, empty and full, with a refused change, and with a
// change that shows in which order foods came.
var races = []race{
	{[]client.Item{item(0, 1)}, item(1, 1)},
	{[]client.Item{item(0, 2), item(1, 1)}, item(2, 1)},
	{nil, item(1, 1)},
	{[]client.Item{item(0, 1)}, item(0, -1)},
	{[]client.Item{item(0, 2), item(0, -1)}, item(1, 2)},
	{[]client.Item{item(0, 1)}, item(1, 3)},
	{[]client.Item{item(0, 1), item(1, 1)}, item(0, -1)},
	{[]client.Item{item(0, 3), item(0, -3), item(1, 1)}, item(0, 1)},
}

// outcome is everything that a user sees of a race.
type outcome struct {
	changed, ordered answer // to the two calls at the same moment
	bought           string // order placed by then, by GET /orders
	again            answer // to an order of the same cart afterwards, if there was no order yet
	finally          string // order placed by then
}

// tally counts the races by the order of events that explains them.
type tally struct {
	mu                      sync.Mutex
	changeFirst, orderFirst int
	broken                  int    // neither order of events explains these
	faults                  int    // of these with a 5xx or without an answer
	examples                string // of these, a line each
}

// cartRaces lets many users, one after the other, change a cart and order it at the same moment.
func cartRaces(ctx context.Context, s *stack, dice *rand.Rand) error {
	users, err := s.newcomers(s.times(2000, 10_000))
	if err != nil {
		return err
	}
	var t tally
	var next atomic.Int64
	racing, ctx := errgroup.WithContext(ctx)
	first := dice.IntN(len(races))
	for range racers {
		racing.Go(func() error {
			a, b := users[0].regular(), users[0].regular()
			defer a.HangUp()
			defer b.HangUp()
			for i := int(next.Add(1)) - 1; i < len(users) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				r := races[(first+i)%len(races)]
				if err := s.race(&t, a.as(users[i]), b.as(users[i]), r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := racing.Wait(); err != nil {
		return err
	}
	s.note("%d races: in %d the change came first, in %d the order", len(users), t.changeFirst, t.orderFirst)
	if t.broken > 0 {
		s.breaks("%d of %d races are explained by neither order of events, %d of them have a 5xx or no answer%s",
			t.broken, len(users), t.faults, t.examples)
	}
	if t.changeFirst == 0 || t.orderFirst == 0 {
		s.breaks("all races went the same way: the drill proves nothing")
	}
	return nil
}

// race makes one race and judges it.
func (s *stack) race(t *tally, a, b *shopper, r race) error {
	shift := func(i client.Item) client.Item { // so that no food sells out
		return item(1+(a.user+i.Food)%foods, i.Count)
	}
	cart, err := a.fill()
	if err != nil {
		return err
	}
	var before []client.Item
	for _, i := range r.before {
		before = append(before, shift(i))
		if answer, _, _ := a.ask(addTo(cart, shift(i))); answer != "204" {
			return fmt.Errorf("cannot fill a cart of user %d: %s", a.user, answer)
		}
	}
	change := shift(r.change)
	seen, err := s.play(a, b, cart, change)
	if err != nil {
		return err
	}
	t.judge(a.user, r, seen, expect(before, change, false), expect(before, change, true))
	return nil
}

// play makes the race and then reads its outcome.
func (s *stack) play(a, b *shopper, cart string, change client.Item) (seen outcome, err error) {
	start, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		<-start
		seen.changed, _, _ = a.ask(addTo(cart, change))
	}()
	close(start)
	seen.ordered = s.order(b, cart)
	<-done
	items, err := a.bought()
	if err != nil {
		return seen, err
	}
	seen.bought = fmt.Sprint(items)
	if items == nil {
		seen.again = s.order(b, cart)
		items, err = b.bought()
	}
	seen.finally = fmt.Sprint(items)
	return seen, err
}

func (t *tally) judge(user int, r race, seen, changeFirst, orderFirst outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch seen {
	case changeFirst:
		t.changeFirst++
		return
	case orderFirst:
		t.orderFirst++
		return
	}
	t.broken++
	if slices.ContainsFunc([]answer{seen.changed, seen.ordered, seen.again}, answer.hurts) {
		t.faults++
	}
	if t.broken <= examplesMax {
		t.examples += fmt.Sprintf("\n      user %d, %v: %+v; want %+v or %+v",
			user, r, seen, changeFirst, orderFirst)
	}
}

// expect is the outcome by the contract when one of the two calls ends before the other begins.
func expect(before []client.Item, change client.Item, orderFirst bool) (o outcome) {
	var m model
	for _, i := range before {
		m.change(i)
	}
	if orderFirst {
		o.ordered = m.order()
		o.changed = m.change(change)
	} else {
		o.changed = m.change(change)
		o.ordered = m.order()
	}
	o.bought = fmt.Sprint(m.ordered)
	if m.ordered == nil {
		o.again = m.order()
	}
	o.finally = fmt.Sprint(m.ordered)
	return o
}

// model is the contract for one user with one cart, called by one at a time.
type model struct {
	// in the order of the first add; a food keeps its place when no piece is left
	cart    []client.Item
	ordered []client.Item
}

// change adds pieces or takes them away. An ordered cart takes a change that changes nothing.
func (m *model) change(c client.Item) answer {
	if m.ordered != nil {
		return "204"
	}
	at := slices.IndexFunc(m.cart, func(i client.Item) bool { return i.Food == c.Food })
	total, had := 0, 0
	for _, i := range m.cart {
		total += i.Count
	}
	if at >= 0 {
		had = m.cart[at].Count
	}
	has := max(had+c.Count, 0)
	switch {
	case total-had+has > cartPieceMax:
		return "403 FOOD_OUT_OF_LIMIT"
	case at >= 0:
		m.cart[at].Count = has
	case has > 0:
		m.cart = append(m.cart, item(c.Food, has))
	}
	return "204"
}

// order turns the cart into the order.
func (m *model) order() answer {
	if m.ordered != nil {
		return "403 ORDER_OUT_OF_LIMIT"
	}
	for _, i := range m.cart {
		if i.Count > 0 {
			m.ordered = append(m.ordered, i)
		}
	}
	if m.ordered == nil {
		return "403 CART_EMPTY"
	}
	return "200"
}

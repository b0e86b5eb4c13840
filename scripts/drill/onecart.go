package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/internal/testkit/client"
)

const attackedFood = 1

// cartCounts are what an attacker asks for, again and again: most of it is refused.
var cartCounts = []int{3, 3, 3, 1, 3, -1, 3, 3, 2, -3}

// oneCart lets 256 connections of one user change one cart, then as many of 256 users a cart each. Meanwhile
// the food is sold out, and the cart is ordered again and again.
func oneCart(ctx context.Context, s *stack, dice *rand.Rand) error {
	if _, err := s.redis.ask(ctx, "CONFIG", "SET", "auto-aof-rewrite-percentage", "0"); err != nil {
		return err // what is written is read at the end
	}
	users, err := s.newcomers(ctx, 1+crowdSize)
	if err != nil {
		return err
	}
	carts, err := fillAll(ctx, users)
	if err != nil {
		return err
	}
	restock, err := s.sellOut(ctx, attackedFood)
	if err != nil {
		return err
	}
	attacker := users[0]
	first := dice.IntN(len(cartCounts))
	hostile := changeCarts(slices.Repeat(users[:1], crowdSize), slices.Repeat(carts[:1], crowdSize), first)
	harmless := changeCarts(users[1:], carts[1:], first)

	sizes := s.watchCart(ctx, carts[0])
	err = s.contrast(func() (t *tide, err error) {
		orders := s.orderMeanwhile(ctx, attacker, carts[0])
		t = s.run(ctx, hostile, s.lasting(3*time.Second, 10*time.Second), 0)
		t.orders = orders()
		return t, nil
	}, func(rate float64) *tide {
		orders := s.orderMeanwhile(ctx, users[1], carts[1])
		t := s.run(ctx, harmless, s.lasting(time.Second, 10*time.Second), rate)
		t.orders = orders()
		return t
	})
	largest := sizes()
	if err != nil {
		return err
	}
	s.note("the list of the cart had at most %d bytes", largest)
	if largest > cartBytesMax {
		s.breaks("the list of the cart had %d bytes, the bound is %d", largest, cartBytesMax)
	}
	if err := s.orderAttacked(ctx, attacker, carts[0], restock); err != nil {
		return err
	}
	if err := s.judgeWrites(carts[0]); err != nil {
		return err
	}
	return s.changeAllFoods(ctx, users[2])
}

// changeCarts is a flood of changes: each user has the cart of the same number, and cartCounts are asked for
// from the first on.
func changeCarts(users []*shopper, carts []string, first int) flood {
	next := func(member, n int) call {
		return addTo(carts[member], item(attackedFood, cartCounts[(first+member+n)%len(cartCounts)]))
	}
	return flood{crowd: crowdOf(users), right: []answer{"204", "403 FOOD_OUT_OF_LIMIT"}, next: next}
}

// fillAll makes a cart of each user, with a piece in it.
func fillAll(ctx context.Context, users []*shopper) ([]string, error) {
	carts := make([]string, len(users))
	err := inParallel(ctx, len(users), func(ctx context.Context, i int) (err error) {
		carts[i], err = users[i].fill(attackedFood)
		return err
	})
	return carts, err
}

// orderAttacked demands of the cart after the attack that it is refused while its food is sold out, and
// becomes an order of one to three pieces once there is some.
func (s *stack) orderAttacked(ctx context.Context, user *shopper, cart string, restock func() error) error {
	user = user.regular()
	defer user.HangUp()
	// The cart is not empty from here on.
	if a, _, _ := user.ask(addTo(cart, item(attackedFood, 3))); a != "204" && a != "403 FOOD_OUT_OF_LIMIT" {
		s.breaks("after the attack a change of the cart is answered %s", a)
	}
	if a := s.order(ctx, user, cart); a != "403 FOOD_OUT_OF_STOCK" {
		s.breaks("after the attack an order of the cart is answered %s while its food is sold out", a)
	}
	if err := restock(); err != nil {
		return err
	}
	if a := s.order(ctx, user, cart); a != "200" {
		s.breaks("after the attack an order of the cart is answered %s", a)
	}
	items, err := user.bought()
	if err == nil && !slices.Contains([]string{"[{1 1}]", "[{1 2}]", "[{1 3}]"}, fmt.Sprint(items)) {
		s.breaks("the attacked cart became the order %v, want one to three pieces of food %d", items, attackedFood)
	}
	return err
}

// orderMeanwhile orders the cart again and again; its food is sold out. The result ends that and is the p99.
func (s *stack) orderMeanwhile(ctx context.Context, user *shopper, cart string) (end func() time.Duration) {
	var times []time.Duration
	user = user.regular()
	stop := repeat(ctx, func() {
		a, _, took := user.ask(orderOf(cart)) // refused, or the drill fails
		times = append(times, took)
		if ctx.Err() == nil && a != "403 FOOD_OUT_OF_STOCK" && a != "403 CART_EMPTY" {
			s.breaks("an order of the cart is answered %s while its food is sold out", a)
		}
	})
	return func() time.Duration {
		stop()
		user.HangUp()
		slices.Sort(times)
		return percentile99(times)
	}
}

// changeAllFoods puts a piece of each food into a cart and takes it out again: a cart may not grow with the
// foods that were once in it either.
func (s *stack) changeAllFoods(ctx context.Context, user *shopper) error {
	const last = 7
	user = user.regular()
	defer user.HangUp()
	cart, err := user.fill()
	if err != nil {
		return err
	}
	add := func(i client.Item) {
		if a, _, _ := user.ask(addTo(cart, i)); a != "204" {
			s.breaks("a change of a cart by %v is answered %s, want 204", i, a)
		}
	}
	stop := s.watchCart(ctx, cart)
	for i := range s.times(1, 4) * foods {
		add(item(1+i%foods, 1))
		add(item(1+i%foods, -1))
	}
	add(item(last, 1))
	if largest := stop(); largest > cartBytesMax {
		s.breaks("the list of a cart that had all foods has %d bytes, the bound is %d", largest, cartBytesMax)
	}
	if a := s.order(ctx, user, cart); a != "200" {
		s.breaks("an order of a cart that had all foods is answered %s", a)
	}
	items, err := user.bought()
	if err == nil && !slices.Equal(items, []client.Item{item(last, 1)}) {
		s.breaks("a cart that had all foods became the order %v, want a piece of food %d", items, last)
	}
	return err
}

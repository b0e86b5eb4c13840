package main

import (
	"context"
	"math/rand/v2"
	"net/url"
	"time"

	"flashsale/internal/catalog"
)

// piecesMax is the contract's limit of pieces in a cart. The load sends at most as many adds, of one piece each, and the audit
// holds every order to it; it is not the server's constant, for bench proves from outside.
const piecesMax = 3

// step is one kind of request of the flow.
type step int

const (
	stepLogin step = iota
	stepFoods
	stepCart
	stepAdd
	stepOrder
	stepCount
)

func (s step) String() string {
	return [stepCount]string{"login", "foods", "cart", "add", "order"}[s]
}

// outcome is what a buyer knows of its order.
type outcome uint8

const (
	notOrdered outcome = iota // the flow ended before the order was sent
	placed                    // answered 200
	refused                   // answered with a reason: there must be no order
	unknown                   // no answer, or one that leaves it open
	stranded                  // with -retry: no try at a step before the order was answered
)

func (o outcome) String() string {
	return [...]string{"not ordered", "placed", "refused", "unknown", "stranded"}[o]
}

// attempt is one flow as the audit needs it: what was put into the cart and what became of the order.
type attempt struct {
	userID  uint32
	outcome outcome
	orderID string // when placed
	adds    int8
	foods   [piecesMax]int64 // one piece of each, in the order sent
	twice   [piecesMax]bool  // the server may have seen this add two times
	settled bool             // by sending the order again, whose outcome was unknown at first
}

// buyer goes through flows one after the other on its own connections.
type buyer struct {
	client  *client
	style   style
	retries retrying
	foods   []catalog.Food
	seed    uint64
	source  *rand.PCG
	dice    *rand.Rand
	pieces  []catalog.Food // of the flow under way
	tally   *tally
	began   time.Time // of the load
	request []byte
	body    []byte
	token   string    // of the flow under way, fit for a URL
	key     string    // of its order, with retries
	meant   time.Time // to start, the flow under way
}

func newBuyer(client *client, opt options, foods []catalog.Food, tally *tally, began time.Time) *buyer {
	source := rand.NewPCG(0, 0)
	b := &buyer{client: client, style: opt.style, foods: foods, seed: opt.seed, source: source,
		dice: rand.New(source), tally: tally, began: began}
	if opt.retry {
		b.retries = settling
	}
	return b
}

// buy goes through one flow as the user; it ends early when ctx is done, at the first refusal and at the first fault that
// no retry mends. The pieces depend on the seed and the user only. What the flow takes counts from its intended start.
func (b *buyer) buy(ctx context.Context, user catalog.User, intended time.Time) attempt {
	try := attempt{userID: user.ID}
	b.source.Seed(b.seed, uint64(user.ID))
	b.token, b.key, b.meant = "", "", intended
	if b.retries.on() {
		b.key = orderKey(b.seed, user.ID)
	}
	if b.style.newConnections {
		defer b.client.close()
	}
	foods := b.choose()
	b.body = appendLoginBody(b.body[:0], user.Name, user.Password)
	login := b.ask(ctx, stepLogin, "POST", "/login", b.body)
	b.token = url.QueryEscape(b.need(stepLogin, login, "access_token"))
	if b.token == "" || ctx.Err() != nil {
		return b.leave(ctx, try, login)
	}
	if list := b.ask(ctx, stepFoods, "GET", "/foods", b.emptyBody()); !list.answered(200) || ctx.Err() != nil {
		return b.leave(ctx, try, list)
	}
	cartID, last := b.fill(ctx, &try, foods)
	if cartID == "" || ctx.Err() != nil {
		return b.leave(ctx, try, last)
	}
	b.order(ctx, &try, cartID)
	return try
}

// choose picks the flow's pieces, 1 to piecesMax foods.
func (b *buyer) choose() []catalog.Food {
	b.pieces = b.pieces[:0]
	for range 1 + b.dice.IntN(piecesMax) {
		b.pieces = append(b.pieces, b.foods[b.dice.IntN(len(b.foods))])
	}
	return b.pieces
}

// leave ends a flow before its order. With retries it is stranded, unless its last answer refused it or the load has ended.
func (b *buyer) leave(ctx context.Context, try attempt, last answer) attempt {
	if b.retries.on() && !last.refused() && ctx.Err() == nil {
		try.outcome = stranded
	}
	return try
}

// fill puts the pieces into a new cart and returns its ID, "" when that did not succeed, with the last answer. An add may
// not be sent again, because it would count twice: with retries, one whose outcome is unknown costs the cart.
func (b *buyer) fill(ctx context.Context, try *attempt, foods []catalog.Food) (cartID string, last answer) {
	for n := 1; ; n++ {
		cart := b.ask(ctx, stepCart, "POST", "/carts", b.emptyBody())
		if cartID = b.need(stepCart, cart, "cart_id"); cartID == "" {
			return "", cart
		}
		last = b.add(ctx, try, cartID, foods)
		switch {
		case int(try.adds) == len(foods):
			return cartID, last
		case n >= b.retries.triesMax || ctx.Err() != nil || last.refused() && !last.twice:
			return "", last
		}
		b.again(stepAdd, n, retryCart)
	}
}

// add sends the adds of a cart, up to the first that does not succeed for certain.
func (b *buyer) add(ctx context.Context, try *attempt, cartID string, foods []catalog.Food) (last answer) {
	try.adds = 0
	path := "/carts/" + url.PathEscape(cartID)
	for _, food := range foods {
		if ctx.Err() != nil {
			return last
		}
		b.body = appendAddBody(b.body[:0], food.ID)
		last = b.call(stepAdd, "PATCH", path, b.body)
		if !last.answered(204) || last.twice && b.retries.on() {
			return last
		}
		try.foods[try.adds], try.twice[try.adds] = food.ID, last.twice
		try.adds++
	}
	return last
}

// order sends the flow's order and settles its outcome.
func (b *buyer) order(ctx context.Context, try *attempt, cartID string) {
	b.body = appendOrderBody(b.body[:0], cartID)
	answer := b.ask(ctx, stepOrder, "POST", "/orders", b.body)
	if !answer.fault {
		b.tally.finish(time.Since(b.meant))
	}
	try.orderID = b.need(stepOrder, answer, "id")
	again := answer.twice || answer.tries > 1
	switch {
	case try.orderID != "":
		try.outcome = placed
		b.tally.place(time.Since(b.began))
	case answer.refused() && !again, answer.answered(403) && b.key != "":
		// Sent two times, a refusal may only mean that the first one was taken; not so under a key: then 403 is
		// what became of it.
		try.outcome = refused
	default:
		try.outcome = unknown
	}
	try.settled = answer.tries > 1 && try.outcome != unknown
}

package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

// Step is one kind of request of the flow.
type Step int

const (
	StepLogin Step = iota
	StepFoods
	StepCart
	StepAdd
	StepOrder
	StepCount
)

func (s Step) String() string {
	return [StepCount]string{"login", "foods", "cart", "add", "order"}[s]
}

// buyer makes flows one after the other on its own connections.
type buyer struct {
	client  *client
	style   Style
	retries retrying
	replies *Validation
	foods   []catalog.Food
	seed    uint64
	source  *rand.PCG
	dice    *rand.Rand
	pieces  []catalog.Food // of the flow under way
	tally   *tally
	began   time.Time // of the load
	request []byte
	token   string    // of the flow under way, fit for a URL
	key     string    // of its order, with retries
	meant   time.Time // to start, the flow under way
	witness *witness  // nil = no history
}

func newBuyer(client *client, opt Options, foods []catalog.Food, tally *tally, began time.Time) *buyer {
	source := rand.NewPCG(0, 0)
	b := &buyer{client: client, style: opt.Style, replies: opt.Validation, foods: foods, seed: opt.Seed,
		source: source, dice: rand.New(source), tally: tally, began: began}
	if opt.Retry {
		b.retries = settling
	}
	return b
}

// buy goes through one flow as the user; it ends early when ctx is done, at the first refusal and at the
// first fault that outlasts all retries. The pieces depend on the seed and the user only. The time of the
// flow counts from its intended start.
func (b *buyer) buy(ctx context.Context, user catalog.User, intended time.Time) sale.Attempt {
	try := sale.Attempt{UserID: user.ID}
	b.source.Seed(b.seed, uint64(user.ID))
	b.token, b.key, b.meant = "", "", intended
	if b.retries.on() {
		b.key = orderKey(b.seed, user.ID)
	}
	foods := b.choose()
	login := b.ask(ctx, StepLogin, "POST", "/login",
		jsonBody(credentials{user.Name, user.Password}))
	b.token = url.QueryEscape(b.need(StepLogin, login, texts(login.body).Token))
	if b.token == "" || ctx.Err() != nil {
		return b.leave(ctx, try, login)
	}
	if list := b.ask(ctx, StepFoods, "GET", "/foods", b.style.emptyBody()); !list.answered(200) ||
		ctx.Err() != nil {
		return b.leave(ctx, try, list)
	}
	cartID, last := b.fill(ctx, &try, foods)
	if cartID == "" || ctx.Err() != nil {
		return b.leave(ctx, try, last)
	}
	b.order(ctx, &try, cartID)
	return try
}

// choose picks the flow's pieces, 1 to sale.PiecesMax foods.
func (b *buyer) choose() []catalog.Food {
	b.pieces = b.pieces[:0]
	for range 1 + b.dice.IntN(sale.PiecesMax) {
		b.pieces = append(b.pieces, b.foods[b.dice.IntN(len(b.foods))])
	}
	return b.pieces
}

// leave ends a flow before its order. With retries it is stranded, unless its last answer refused it or the
// load has ended.
func (b *buyer) leave(ctx context.Context, try sale.Attempt, last answer) sale.Attempt {
	if b.retries.on() && !last.refused() && ctx.Err() == nil {
		try.Outcome = sale.Stranded
	}
	return try
}

// fill puts the pieces into a new cart and returns its ID, "" after a failure, and the last answer. A
// repeated add could count twice, so with retries an add of unknown outcome means a new cart.
func (b *buyer) fill(ctx context.Context, try *sale.Attempt,
	foods []catalog.Food) (cartID string, last answer) {
	for n := 1; ; n++ {
		cart := b.ask(ctx, StepCart, "POST", "/carts", b.style.emptyBody())
		if cartID = b.need(StepCart, cart, texts(cart.body).CartID); cartID == "" {
			return "", cart
		}
		last = b.add(ctx, try, cartID, foods)
		switch {
		case int(try.Adds) == len(foods):
			return cartID, last
		case n >= b.retries.triesMax || ctx.Err() != nil || last.refused() && !last.twice:
			return "", last
		}
		b.again(StepAdd, n, retryCart)
	}
}

// add sends the adds of a cart, up to the first without a success.
func (b *buyer) add(ctx context.Context, try *sale.Attempt, cartID string,
	foods []catalog.Food) (last answer) {
	try.Adds = 0
	path := "/carts/" + url.PathEscape(cartID)
	for _, food := range foods {
		if ctx.Err() != nil {
			return last
		}
		last = b.call(StepAdd, "PATCH", path, fmt.Appendf(nil, `{"food_id":%d,"count":1}`, food.ID))
		if !last.answered(204) || last.twice && b.retries.on() {
			return last
		}
		try.Foods[try.Adds], try.Twice[try.Adds] = food.ID, last.twice
		try.Adds++
	}
	return last
}

// order sends the flow's order and settles its outcome.
func (b *buyer) order(ctx context.Context, try *sale.Attempt, cartID string) {
	end := b.begins(try, cartID)
	answer := b.ask(ctx, StepOrder, "POST", "/orders", jsonBody(replyTexts{CartID: cartID}))
	if !answer.lost {
		b.tally.finish(time.Since(b.meant))
	}
	try.OrderID = b.need(StepOrder, answer, texts(answer.body).OrderID)
	again := answer.twice || answer.tries > 1
	switch {
	case try.OrderID != "":
		try.Outcome = sale.Placed
		b.tally.place(time.Since(b.began))
	case answer.refused() && !again, answer.answered(403) && b.key != "":
		// After two sends a refusal may only mean that the first was accepted. Under a key a 403 is the true
		// outcome.
		try.Outcome = sale.Refused
	default:
		try.Outcome = sale.Unknown
	}
	try.Settled = answer.tries > 1 && try.Outcome != sale.Unknown
	if id := end(); id != "" && try.OrderID == "" {
		try.Outcome, try.OrderID = sale.Placed, id
	}
}

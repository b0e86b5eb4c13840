package main

import (
	"context"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	"flashsale/internal/catalog"
)

// addsMax is the most pieces in a cart, and so the most adds in a flow, each of one piece.
const addsMax = 3

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
)

// attempt is one flow as the audit needs it: what was put into the cart and what became of the order.
type attempt struct {
	userID  uint32
	outcome outcome
	orderID string // when placed
	adds    int8
	foods   [addsMax]int64 // one piece of each, in the order sent
	twice   [addsMax]bool  // the server may have seen this add two times
}

// buyer goes through flows one after the other on its own connections.
type buyer struct {
	client  *client
	style   style
	foods   []catalog.Food
	seed    uint64
	source  *rand.PCG
	dice    *rand.Rand
	tally   *tally
	began   time.Time // of the load
	request []byte
	body    []byte
	token   string    // of the flow under way, fit for a URL
	meant   time.Time // to start, the flow under way
}

func newBuyer(client *client, opt options, foods []catalog.Food, tally *tally, began time.Time) *buyer {
	source := rand.NewPCG(0, 0)
	return &buyer{client: client, style: opt.style, foods: foods, seed: opt.seed, source: source,
		dice: rand.New(source), tally: tally, began: began}
}

// buy goes through one flow as the user; it ends early when ctx is done, at the first refusal and at the first fault. The
// random choices depend on the seed and the user only. What the flow takes counts from its intended start.
func (b *buyer) buy(ctx context.Context, user catalog.User, intended time.Time) attempt {
	try := attempt{userID: user.ID}
	b.source.Seed(b.seed, uint64(user.ID))
	b.token, b.meant = "", intended
	if b.style.newConnections {
		defer b.client.close()
	}
	b.body = appendLoginBody(b.body[:0], user.Name, user.Password)
	login := b.call(stepLogin, "POST", "/login", b.body)
	b.token = url.QueryEscape(b.need(stepLogin, login, "access_token"))
	if b.token == "" || ctx.Err() != nil {
		return try
	}
	if foods := b.call(stepFoods, "GET", "/foods", b.emptyBody()); !foods.answered(200) || ctx.Err() != nil {
		return try
	}
	cart := b.call(stepCart, "POST", "/carts", b.emptyBody())
	cartID := b.need(stepCart, cart, "cart_id")
	if cartID == "" {
		return try
	}
	path := "/carts/" + url.PathEscape(cartID)
	for range 1 + b.dice.IntN(addsMax) {
		food := b.foods[b.dice.IntN(len(b.foods))].ID
		b.body = appendAddBody(b.body[:0], food)
		if ctx.Err() != nil {
			return try
		}
		add := b.call(stepAdd, "PATCH", path, b.body)
		if !add.answered(204) {
			return try
		}
		try.foods[try.adds], try.twice[try.adds] = food, add.twice
		try.adds++
	}
	if ctx.Err() == nil {
		b.order(&try, cartID)
	}
	return try
}

// order sends the flow's order and settles its outcome.
func (b *buyer) order(try *attempt, cartID string) {
	b.body = appendOrderBody(b.body[:0], cartID)
	answer := b.call(stepOrder, "POST", "/orders", b.body)
	if !answer.fault {
		b.tally.finish(time.Since(b.meant))
	}
	try.orderID = b.need(stepOrder, answer, "id")
	switch {
	case try.orderID != "":
		try.outcome = placed
		b.tally.place(time.Since(b.began))
	case answer.fault || answer.twice || answer.status < 400 || answer.status >= 500:
		// Sent two times, a refusal may only mean that the first one was taken.
		try.outcome = unknown
	default:
		try.outcome = refused
	}
}

// emptyBody is what old clients send with the calls that take no body.
func (b *buyer) emptyBody() []byte {
	if b.style.contestBodies {
		return []byte("{}")
	}
	return nil
}

// answer is the end of one request: a reply, or a fault in transport. The body is valid until the next call.
type answer struct {
	reply
	twice bool // the server may have seen the request two times
	fault bool
}

func (a answer) answered(status int) bool { return !a.fault && a.status == status }

// successOf is the status that each step answers when it went well.
var successOf = [stepCount]int{stepLogin: 200, stepFoods: 200, stepCart: 200, stepAdd: 204, stepOrder: 200}

// call sends one request to a random server, records its latency and counts a refusal or a fault.
func (b *buyer) call(s step, method, path string, body []byte) answer {
	server := b.dice.IntN(len(b.client.servers))
	b.request = b.style.appendRequest(b.request[:0], method, path, b.client.servers[server], b.token, body)
	sent := time.Now()
	rep, twice, err := b.client.send(server, b.request)
	if err != nil {
		b.tally.fail(s, faultKind(err))
		return answer{fault: true, twice: twice}
	}
	b.tally.time(s, time.Since(sent))
	if rep.status != successOf[s] {
		code := textField(rep.body, "code")
		if code == "" {
			code = "HTTP " + strconv.Itoa(rep.status)
		}
		b.tally.refuse(s, code)
	}
	return answer{reply: rep, twice: twice}
}

// need returns a text of a successful answer's body, "" when the step did not succeed; a success without it is a fault.
func (b *buyer) need(s step, a answer, name string) string {
	if !a.answered(successOf[s]) {
		return ""
	}
	text := textField(a.body, name)
	if text == "" {
		b.tally.fail(s, "malformed reply")
	}
	return text
}

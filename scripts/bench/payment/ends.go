package payment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"flashsale/internal/background"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

func (o order) fail(what string, status int, err error) {
	o.End, o.Problem = sale.Failed, fmt.Sprintf("%s was answered %d", what, status)
	if err != nil {
		o.Problem = fmt.Sprintf("%s failed: %v", what, err)
	}
}

// giveBack gives an order back. 404: its hold has ended before, or this is the second try of a call that was
// carried out. For a history the buyer then orders again.
func (p *Payer) giveBack(ctx context.Context, o order) {
	token, err := p.login(ctx, o.user.Name, o.user.Password)
	if err != nil {
		o.fail("the login", 0, err)
		return
	}
	if o.End = sale.GivenBack; p.drop(ctx, o, token, o.OrderID) && p.history != nil {
		p.drop(ctx, o, token, p.orderAgain(ctx, o, token))
	}
}

// drop gives an order of a user back, and reports whether it is gone.
func (p *Payer) drop(ctx context.Context, o order, token, id string) bool {
	if id == "" {
		return true
	}
	status, err := p.ask(ctx, call{method: "DELETE", path: "/orders/" + id, token: token,
		told: o.told(history.Cancel, id)}, nil)
	gone := err == nil && (status == http.StatusNoContent || status == http.StatusNotFound)
	if !gone {
		o.fail("DELETE", status, err)
	}
	return gone
}

// told is a call about an order of a user, for the history. A client below 0 ends the orders of one user.
func (o order) told(what, id string) history.Event {
	return history.Event{Client: -int(o.UserID), User: o.UserID, Call: what, ID: id}
}

// orderAgain orders a piece for a user without an order, and returns the id, "" if that was refused. The
// piece is put into the cart by one try: a second one could count twice.
func (p *Payer) orderAgain(ctx context.Context, o order, token string) (id string) {
	var cart struct {
		ID string `json:"cart_id"`
	}
	status, err := p.ask(ctx, call{method: "POST", path: "/carts", token: token}, &cart)
	if err == nil && status == http.StatusOK {
		add := fmt.Appendf(nil, `{"food_id":%d,"count":1}`, o.food)
		status, err = p.send(ctx, &call{method: "PATCH", path: "/carts/" + cart.ID, token: token}, add, nil)
	}
	if err != nil || status != http.StatusNoContent {
		return ""
	}
	told := o.told(history.Order, "")
	told.Key, told.Pieces, told.Hold = p.name("again"), history.Pieces{o.food: 1}, int64(p.hold)
	var placed struct{ ID string }
	_, _ = p.ask(ctx, call{method: "POST", path: "/orders", token: token, told: told,
		body: map[string]string{"cart_id": cart.ID}}, &placed)
	return placed.ID
}

// pay tells the server that an order was paid, some of them twice.
func (p *Payer) pay(ctx context.Context, o order) {
	id := p.name(strconv.FormatUint(uint64(o.UserID), 10))
	o.Payment = id
	body := map[string]any{"type": "payment.succeeded",
		"data": map[string]any{"payment_id": id, "order_id": o.OrderID, "amount": o.Amount}}
	times := 1
	if rand.New(rand.NewPCG(p.seed, uint64(o.UserID))).Float64() < twice {
		times = 2
		p.doubled.Add(1)
	}
	for range times {
		status, err := p.tell(ctx, id, body, o.told(history.Pay, o.OrderID))
		if err != nil || status/100 != 2 {
			o.fail("the event of its payment", status, err)
			return
		}
		p.events.Add(1)
	}
	o.End = sale.Paid
}

// payLate pays an order as soon as it is released.
func (p *Payer) payLate(ctx context.Context, o order) {
	token, err := p.login(ctx, o.user.Name, o.user.Password)
	if err != nil {
		o.fail("the login", 0, err)
		return
	}
	for deadline := time.Now().Add(p.hold + releaseMax); ; {
		var is struct{ State string }
		status, err := p.ask(ctx, call{method: "GET", path: "/orders/" + o.OrderID, token: token,
			told: o.told(history.Read, "")}, &is)
		switch {
		case err != nil || status != http.StatusOK:
			o.fail("GET", status, err)
			return
		case is.State == "released":
			again := ""
			if p.history != nil && o.UserID%2 == 0 {
				again = p.orderAgain(ctx, o, token)
			}
			if p.pay(ctx, o); o.End == sale.Paid {
				o.End = sale.PaidLate
			}
			p.drop(ctx, o, token, again)
			return
		case time.Now().After(deadline):
			o.End, o.Problem = sale.Failed, "its hold has ended, and it is "+is.State
			return
		}
		if !background.Pause(ctx, releaseLook) {
			return
		}
	}
}

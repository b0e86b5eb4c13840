package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/payments"
)

const (
	eventBodyMax = 32 << 10 // an event of Stripe has some KB
	eventsMax    = 64       // events that wait for Redis at once
)

// paymentsCalls are the calls about payments.
type paymentsCalls struct {
	*Server
	payments *payments.Payments
	events   *atomic.Int64 // that are being stored
}

// Payments is the room of payments. A held order that its buyer gives back ends its payment, too.
func Payments(p *payments.Payments) Room {
	return func(s *Server) []Route {
		s.endPayment = p.End
		r := paymentsCalls{s, p, new(atomic.Int64)}
		return []Route{
			{"POST", "/orders/:id/payment", s.user, slow, r.open},
			{"POST", "/payments/events", s.anybody, takes(eventBodyMax), r.receive},
		}
	}
}

// open opens a payment for a held order of the user.
func (r paymentsCalls) open(ctx *fasthttp.RequestCtx, c Call) {
	who := limits.Who{ID: c.user}
	if r.isRefused(ctx, limits.Payment, who) {
		return
	}
	id, ok := r.orderOf(ctx, c)
	if !ok {
		return
	}
	r.record(ctx, limits.Payment, who, 1)
	opened, err := r.payments.Open(context.Background(), id) // it has a timeout of its own
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	body, err := json.Marshal(struct {
		ID       string `json:"payment_id"`
		URL      string `json:"url"`
		Amount   int64  `json:"amount"`
		Currency string `json:"currency"`
		Till     string `json:"till"`
	}{opened.ID, opened.URL, opened.Amount, opened.Currency, stamp(opened.Till)})
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, body)
}

// signatures are the headers that an event is verified by.
var signatures = []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "Stripe-Signature"}

// receive stores an event of the provider. Anybody may send one: its signature is checked before anything
// else of it is read.
func (r paymentsCalls) receive(ctx *fasthttp.RequestCtx, _ Call) {
	if r.events.Add(1) > eventsMax {
		r.events.Add(-1)
		reply(ctx, errUnavailable)
		return
	}
	defer r.events.Add(-1)
	header := http.Header{}
	for _, name := range signatures {
		for _, value := range ctx.Request.Header.PeekAll(name) {
			header.Add(name, string(value))
		}
	}
	if err := r.payments.Receive(header, ctx.PostBody(), timeOf(ctx)); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

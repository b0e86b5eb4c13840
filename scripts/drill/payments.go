package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit/client"
)

// paymentDrills break what stands behind held orders: the provider of payments and a receiver of webhooks.
var paymentDrills = []drill{
	{name: "payments-fail", alert: "PaymentsFail", says: "the provider opens no payments",
		setup: setup{servers: 1, hold: true}, run: paymentsFail},
	{name: "payments-unknown", alert: "PaymentsUnknown",
		says:  "money comes for an order that Redis does not have",
		setup: setup{servers: 1, hold: true}, run: paymentsUnknown},
	{name: "refunds-wait", alert: "RefundsDue", says: "money has been due to be given back for two days",
		setup: setup{servers: 1, hold: true}, run: refundsWait},
	{name: "webhook-gone", alert: "WebhookBehind", says: "a receiver of webhooks wants no more",
		setup: setup{servers: 1, hold: true}, run: webhookGone},
}

// heldOne is a buyer of this number with a held order, and the sale.
func heldOne(ctx context.Context, s *stack, number int) (h *holding, b *holder, err error) {
	h = &holding{stack: s}
	if h.sale, err = s.redis.ask(ctx, "HGET", "sale", "id"); err != nil {
		return nil, nil, err
	}
	b = &holder{number: number, Client: &client.Client{Timeout: answerPatient, Address: s.servers[0].address}}
	if err := h.insist(ctx, "login", func() error { return b.LoginUser(firstHolder + number) }); err != nil {
		return nil, nil, err
	}
	b.order, err = h.place(ctx, b, "one")
	s.ordered(1)
	return h, b, err
}

// paymentsFail has several buyers try to pay: one order has few payments.
func paymentsFail(ctx context.Context, s *stack, _ *rand.Rand) error {
	buyers := make([]*holder, 30)
	for i := range buyers {
		var err error
		if _, buyers[i], err = heldOne(ctx, s, i); err != nil {
			return err
		}
		defer buyers[i].HangUp()
	}
	s.provider.Refuse(http.StatusInternalServerError)
	defer s.provider.Refuse(0)
	trying, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; background.Pause(trying, 100*time.Millisecond); n++ {
			b := buyers[n%len(buyers)]
			_ = b.Call("POST", "/orders/"+b.order+"/payment", "", nil) // 502
		}
	}()
	s.awaitAlert(ctx)
	stop()
	<-ended
	return nil
}

// paymentsUnknown hides an order while it is paid, and puts it back.
func paymentsUnknown(ctx context.Context, s *stack, dice *rand.Rand) error {
	h, b, err := heldOne(ctx, s, 0)
	if err != nil {
		return err
	}
	defer b.HangUp()
	payment, err := h.open(ctx, b)
	if err != nil {
		return err
	}
	order := "o_" + strconv.Itoa(firstHolder)
	if _, err := s.redis.ask(ctx, "RENAME", order, "hidden"); err != nil {
		return err
	}
	if err := s.provider.Pay(payment, false); err != nil {
		return err
	}
	telling, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // a provider tells it again and again
		defer close(ended)
		h.send(telling, dice)
	}()
	s.awaitAlert(ctx)
	stop()
	<-ended
	_, err = s.redis.ask(ctx, "RENAME", "hidden", order)
	return err
}

func refundsWait(ctx context.Context, s *stack, _ *rand.Rand) error {
	sale, err := s.redis.ask(ctx, "HGET", "sale", "id")
	if err != nil {
		return err
	}
	since := strconv.FormatInt(time.Now().Add(-48*time.Hour).UnixMilli(), 10)
	if _, err := s.redis.ask(ctx, "ZADD", "refunds_"+sale, since, "none"); err != nil {
		return err
	}
	s.awaitAlert(ctx)
	_, err = s.redis.ask(ctx, "ZREM", "refunds_"+sale, "none")
	return err
}

// webhookGone has a receiver answer 410, which switches it off, until an operator switches it on again.
func webhookGone(ctx context.Context, s *stack, _ *rand.Rand) error {
	s.receiver.gone.Store(true)
	_, b, err := heldOne(ctx, s, 0)
	if err != nil {
		return err
	}
	b.HangUp()
	s.awaitAlert(ctx)
	s.receiver.gone.Store(false)
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	defer root.HangUp()
	return root.Call("POST", "/admin/webhooks/"+receiverName+"/on", "", nil)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/provider"
)

// holdDrills are about orders that are held until they are paid, at a provider that the drill plays. Holds
// are long, so that those of the load stay; the drill lets its own end.
var holdDrills = []drill{
	{name: "holds", quiet: "one fault may hide the other",
		says: "buyers pay in time, too late or never, while workers, servers, senders of webhooks and Redis are " +
			"killed and a receiver fails",
		setup: setup{servers: 2, hold: true}, noticed: may503 | mayDrop | mayHang, run: holdsEnd},
	{name: "holds-overdue", alert: "HoldsOverdue", says: "no worker runs when a hold ends",
		setup: setup{servers: 1, hold: true}, noticed: may503 | mayDrop | mayHang, run: holdsOverdue},
}

const (
	holdTime      = "1h"                                     // -hold
	paymentSecret = "whsec_ZHJpbGxzIHNpZ24gdGhlaXIgZXZlbnRz" // of the provider's events
	heldFew       = 600                                      // without -holds
	heldMax       = 150_000                                  // users that the load leaves
	firstHolder   = reserved                                 // users of this drill; the load takes none of them
	twice         = 0.05                                     // share of the events that are sent twice
	holderMax     = 2 * time.Minute
	noOrderUser   = 98 // a reserved user who never orders
)

// The ends of an order, by the rest of its number divided by 20.
const (
	abandons  = 8  // 40% never pay
	paysLate  = 10 // 10% pay when the hold is over, half of them when they have ordered again
	givesBack = 11 // 5% give back, the others pay in time
)

// holder is a buyer of a held order.
type holder struct {
	*client.Client
	number         int
	order, payment string
}

// holding is a run of the drill.
type holding struct {
	*stack
	sale    string
	holders []*holder
	senders int // kills of the server that posts to the receiver
}

// holdsEnd lets many buyers hold orders and ends them in all ways, while processes are killed.
func holdsEnd(ctx context.Context, s *stack, dice *rand.Rand) error {
	h := &holding{stack: s, holders: make([]*holder, s.heldOrders)}
	sale, err := s.redis.ask(ctx, "HGET", "sale", "id")
	if err != nil {
		return err
	}
	h.sale = sale
	faults, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	killing := rand.New(rand.NewPCG(dice.Uint64(), 1))
	sending := rand.New(rand.NewPCG(dice.Uint64(), 2))
	s.receiver.fail(rand.New(rand.NewPCG(dice.Uint64(), 3)))
	broken := make(chan error, 1)
	beside.Go(func() { broken <- h.kill(faults, killing) })
	beside.Go(func() { h.send(faults, sending) })
	err = inParallel(len(h.holders), func(i int) error { return h.buy(ctx, i) })
	if err == nil {
		err = inParallel(len(h.holders), func(i int) error { return h.payLate(ctx, i) })
	}
	stop()
	beside.Wait()
	s.receiver.fail(nil)
	if err = errors.Join(err, <-broken); err != nil {
		return err
	}
	if err := s.awaitService(ctx); err != nil {
		return err
	}
	if err := testkit.Await(ctx, "end of the provider's events", holderMax, func() bool {
		h.sendOnce(sending)
		return s.provider.Waiting() == 0
	}); err != nil {
		return err
	}
	if err := h.judge(ctx); err != nil {
		return err
	}
	return h.judgeEvents(ctx)
}

// kill kills workers, servers and Redis until ctx ends, and leaves all of them running. The sender of
// webhooks is the first one, then each kind comes as often.
func (h *holding) kill(ctx context.Context, dice *rand.Rand) error {
	kills := []fault{h.killSender, killWorker, serverKilled, killRedis}
	for n := 0; ; n++ {
		if n == len(kills) {
			n = 0
			dice.Shuffle(len(kills), func(i, j int) { kills[i], kills[j] = kills[j], kills[i] })
		}
		if err := kills[n](context.WithoutCancel(ctx), h.stack, dice); err != nil {
			return err
		}
		if !background.Pause(ctx, time.Second+moment(dice, 2*time.Second)) {
			return nil
		}
	}
}

// killSender kills the supervisor of the server that posts the events of orders to the receiver.
func (h *holding) killSender(ctx context.Context, s *stack, dice *rand.Rand) error {
	at := -1
	err := testkit.Await(ctx, "sender of webhooks", startMax, func() bool {
		sender, err := s.redis.try("GET", "events_"+h.sale+":to:"+receiverName+":lease")
		at = slices.IndexFunc(s.servers, func(one *server) bool {
			return err == nil && strings.HasSuffix(sender, " "+one.address)
		})
		return at >= 0
	})
	if err != nil {
		return err
	}
	h.senders++
	return s.servers[at].killAndStart(ctx, dice)
}

// send sends the events of the provider until ctx ends.
func (h *holding) send(ctx context.Context, dice *rand.Rand) {
	for background.Pause(ctx, 100*time.Millisecond) {
		h.sendOnce(dice)
	}
}

func (h *holding) sendOnce(dice *rand.Rand) {
	url := "http://" + h.servers[dice.IntN(len(h.servers))].address + "/payments/events"
	// An event that is not taken waits for the next time.
	_, _ = h.provider.Send(url, provider.Faults{Rand: dice, Shuffle: true, Twice: twice})
}

// buy lets a buyer hold an order, and ends it as the number wants.
func (h *holding) buy(ctx context.Context, number int) error {
	b := &holder{number: number, Client: &client.Client{Timeout: answerPatient,
		Address: h.servers[number%len(h.servers)].address}}
	h.holders[number] = b
	defer b.HangUp()
	user := firstHolder + number
	if err := h.insist(ctx, "login", func() error { return b.LoginUser(user) }); err != nil {
		return err
	}
	var err error
	if b.order, err = h.place(ctx, b, "first"); err != nil {
		return err
	}
	switch end := number % 20; {
	case end < abandons:
		return h.expire(ctx, user)
	case end < paysLate:
		if b.payment, err = h.open(ctx, b); err != nil {
			return err
		}
		return h.expire(ctx, user)
	case end < givesBack:
		err := h.insist(ctx, "give back", func() error { return b.Call("DELETE", "/orders/"+b.order, "", nil) })
		if client.IsRefused(err, http.StatusNotFound, "ORDER_NOT_FOUND") { // it was carried out before a crash
			err = nil
		}
		return err
	}
	payment, err := h.open(ctx, b)
	if err == nil {
		err = h.provider.Pay(payment, false)
	}
	return err
}

// payLate pays an order of a buyer after its hold was over. Some buyers have ordered again before.
func (h *holding) payLate(ctx context.Context, number int) error {
	b, end := h.holders[number], number%20
	if end < abandons || end >= paysLate {
		return nil
	}
	defer b.HangUp()
	err := testkit.Await(ctx, "release of "+b.order, holderMax, func() bool {
		state, err := b.state()
		return err == nil && state == "released"
	})
	if err == nil && end == paysLate-1 {
		_, err = h.place(ctx, b, "second")
	}
	if err == nil {
		err = h.provider.Pay(b.payment, true)
	}
	return err
}

// place orders some pieces under a key and returns the id of the order.
func (h *holding) place(ctx context.Context, b *holder, key string) (id string, err error) {
	var cart string
	err = h.insist(ctx, "cart", func() (err error) {
		cart, err = b.Fill(item(1+b.number%foods, 1+b.number%2))
		return err
	})
	if err == nil {
		id, err = b.OrderOnce(ctx, cart, key)
	}
	if err != nil {
		err = fmt.Errorf("cannot order for user %d: %w", firstHolder+b.number, err)
	}
	return id, err
}

// expire lets the hold of a user's order end in a moment.
func (h *holding) expire(ctx context.Context, user int) error {
	due := strconv.FormatInt(time.Now().Add(time.Second).UnixMilli(), 10)
	_, err := h.redis.ask(ctx, "ZADD", "holds_"+h.sale, "XX", due, strconv.Itoa(user))
	return err
}

// open opens a payment and returns its id.
func (h *holding) open(ctx context.Context, b *holder) (id string, err error) {
	err = h.insist(ctx, "payment", func() error {
		var opened struct {
			ID string `json:"payment_id"`
		}
		err := b.Call("POST", "/orders/"+b.order+"/payment", "", &opened)
		id = opened.ID
		return err
	})
	return id, err
}

// insist makes a call until it is answered, and not with a 5xx.
func (h *holding) insist(ctx context.Context, what string, call func() error) (err error) {
	waited := testkit.Await(ctx, what+" of a buyer", holderMax, func() bool {
		err = call()
		var refusal client.Refusal
		return err == nil || errors.As(err, &refusal) && refusal.Status < http.StatusInternalServerError
	})
	return errors.Join(waited, err)
}

// state is how far the order is.
func (b *holder) state() (string, error) {
	var order struct{ State string }
	err := b.Call("GET", "/orders/"+b.order, "", &order)
	return order.State, err
}

// holdsOverdue freezes the workers while the hold of an order ends. The user of that hold has no order: the
// first sweep afterwards removes it.
func holdsOverdue(ctx context.Context, s *stack, _ *rand.Rand) error {
	sale, err := s.redis.ask(ctx, "HGET", "sale", "id")
	if err != nil {
		return err
	}
	workers := s.servers[0].workers()
	for _, pid := range workers {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
	}
	_, err = s.redis.ask(ctx, "ZADD", "holds_"+sale, strconv.FormatInt(time.Now().UnixMilli(), 10),
		strconv.Itoa(noOrderUser))
	if err == nil {
		s.awaitAlert(ctx)
	}
	for _, pid := range workers {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	}
	return err
}

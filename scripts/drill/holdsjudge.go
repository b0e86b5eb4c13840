package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"flashsale/internal/testkit"
)

const eventsMax = 5 * time.Minute // an event that has failed four times waits for 135 s

// judge compares each order with what its buyer did.
func (h *holding) judge(ctx context.Context) error {
	due, err := h.refunds(ctx)
	if err != nil {
		return err
	}
	ends := map[string]int{}
	var mu sync.Mutex
	err = inParallel(len(h.holders), func(i int) error {
		b := h.holders[i]
		var state string
		err := h.insist(ctx, "look", func() (err error) {
			state, err = b.state()
			return err
		})
		defer b.HangUp()
		end, right := i%20, "paid"
		switch {
		case end < abandons || end >= paysLate && end < givesBack:
			right = "released"
			if err == nil && end < abandons && state != "released" { // it is soon
				err = testkit.Await(ctx, "release of "+b.order, holderMax, func() bool {
					state, err = b.state()
					return err == nil && state == "released"
				})
			}
		case end == paysLate-1:
			right = "refund_due" // its buyer has another order
		}
		mu.Lock()
		defer mu.Unlock()
		ends[state]++
		if state != right {
			h.breaks("order %s is %s, not %s", b.order, state, right)
		}
		if times := due[b.order]; (times > 0) != (state == "refund_due") || times > 1 {
			h.breaks("order %s is %s, and %d payments of it are due to be given back", b.order, state, times)
		}
		return err
	})
	h.note("%d held orders: %v", len(h.holders), ends)
	h.ordered(ends["paid"] + ends["refund_due"])
	return err
}

// refunds is how many payments of each order are due to be given back.
func (h *holding) refunds(ctx context.Context) (due map[string]int, err error) {
	root, err := h.root(ctx)
	if err != nil {
		return nil, err
	}
	defer root.HangUp()
	due = map[string]int{}
	for after := ""; ; {
		var text json.RawMessage
		if err := root.Call("GET", "/admin/refunds?state=due&after="+after, "", &text); err != nil {
			return nil, err
		}
		var page []struct {
			Payment string `json:"payment_id"`
			Order   string `json:"order_id"`
		}
		if err := json.Unmarshal(text, &page); err != nil || len(page) == 0 {
			return due, err
		}
		for _, one := range page {
			due[one.Order]++
		}
		after = page[len(page)-1].Payment
	}
}

// judgeEvents demands that the receiver has each event that GET /events lists. The receiver itself notes
// events that came in a wrong order.
func (h *holding) judgeEvents(ctx context.Context) error {
	listed, missing, err := h.missing(ctx)
	if err != nil {
		return err
	}
	err = testkit.Await(ctx, "events at the receiver", eventsMax, func() bool {
		missing = h.receiver.lacks(missing)
		return len(missing) == 0
	})
	if err != nil {
		h.breaks("%d of %d events are not at the receiver, such as %s", len(missing), listed, missing[0])
	}
	h.receiver.judge(h.stack)
	h.note("%d events are listed; the server that posts them was killed %d times", listed, h.senders)
	return nil
}

// missing reads all events, and returns their number and the ids of those that the receiver does not have
// yet. The load goes on; its latest events are soon there.
func (h *holding) missing(ctx context.Context) (listed int, ids []string, err error) {
	root, err := h.root(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer root.HangUp()
	for after := ""; ; {
		var page struct {
			Events []struct{ ID string }
			Next   string
		}
		err := root.Call("GET", "/events?limit=1000&after="+after, "", &page)
		if err != nil || len(page.Events) == 0 {
			return listed, ids, err
		}
		for _, e := range page.Events {
			ids = append(ids, e.ID)
		}
		listed += len(page.Events)
		after, ids = page.Next, h.receiver.lacks(ids)
	}
}

package payments

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"flashsale/redisx"
	"flashsale/redisx/held"
)

// corrections of an order while its payment is stored; after more the provider tells it again.
const corrections = 3

// Outcomes of events, as the metrics count them.
const (
	eventPaid    = "paid"
	eventRefund  = "refund_due"
	eventKnown   = "known"    // this event, or this payment, was stored before
	eventNothing = "nothing"  // it tells of no payment of an order
	eventNoOrder = "no_order" // of an order that there is not
	eventForged  = "forged"
	eventFailed  = "failed" // it cannot be read, or Redis does not answer
)

// Receive verifies an event and stores what it tells; after nil it is stored, or tells of no payment here.
// Errors: ErrForged, ErrStale, ErrMalform; held.ErrNone for an order that should be there and is not,
// redisx.ErrUnavailable, redisx.ErrSaleGone: the provider should send the event again.
func (p *Payments) Receive(header http.Header, body []byte, now time.Time) error {
	outcome, err := p.receive(header, body, now)
	p.cfg.Figures.PaymentEvents.Inc(p.cfg.Figures.PaymentEvents.Index([]byte(outcome)))
	return err
}

func (p *Payments) receive(header http.Header, body []byte, now time.Time) (outcome string, err error) {
	r, told, err := p.secrets.Load().Read(header, body, now)
	switch {
	case err != nil:
		if !errors.Is(err, ErrForged) && !errors.Is(err, ErrStale) {
			return eventFailed, err
		}
		return eventForged, err
	case !told, r.Amount == 0: // an order that costs nothing has no payment at the provider
		return eventNothing, nil
	}
	sale, user, number, ok := redisx.ParseOrderID(r.Order)
	if !ok { // the provider serves another program, too
		slog.Info("a payment is of no order of a sale", "payment", r.Payment)
		return eventNothing, nil
	}
	settled, err := p.settle(sale, held.ID{User: user, Number: number}, &r)
	switch {
	case errors.Is(err, held.ErrNone):
		slog.Error("a payment was made for an order that there is not; the provider will tell it again",
			"order", r.Order, "payment", r.Payment, "amount", r.Amount, "event", r.Event)
		return eventNoOrder, err
	case err != nil:
		return eventFailed, err
	}
	switch settled {
	case held.SettledPaid:
		return eventPaid, nil
	case held.SettledUnknown:
		slog.Error("a payment was made for an order of an ended sale that is not kept; it is due to be given back",
			"order", r.Order, "payment", r.Payment, "amount", r.Amount, "event", r.Event)
		return eventNoOrder, nil
	case held.SettledRefund:
		slog.Warn("a payment is due to be given back", "order", r.Order, "payment", r.Payment, "amount", r.Amount,
			"event", r.Event)
		return eventRefund, nil
	}
	return eventKnown, nil
}

// settle stores a payment. One for a sale that has ended must be given back, unless it was stored in its
// time.
func (p *Payments) settle(sale string, id held.ID, r *Receipt) (held.Settlement, error) {
	receipt := held.Receipt{Payment: r.Payment, Amount: r.Amount}
	if sale != p.cfg.Sale {
		previous, err := p.cfg.Previous()
		if err != nil {
			return 0, fmt.Errorf("%w: the sales before are not known: %w", redisx.ErrUnavailable, err)
		}
		if !slices.Contains(previous, sale) { // of the next sale, which this worker does not serve yet
			return 0, held.ErrNone
		}
		return p.cfg.Orders.Of(sale).PaidAfter(id, receipt)
	}
	for range corrections {
		order, err := p.cfg.Orders.Find(id)
		if err != nil {
			return 0, err
		}
		receipt.Items, receipt.Price = order.Items, p.costs(order.Items)
		settled, err := p.cfg.Orders.Paid(id, receipt)
		if !errors.Is(err, held.ErrChanged) { // by an operator, meanwhile
			return settled, err
		}
	}
	return 0, redisx.ErrUnavailable
}

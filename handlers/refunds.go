package handlers

import (
	"encoding/json"
	"errors"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/events"
	"flashsale/redisx"
	"flashsale/redisx/held"
)

const refundsPage = 100

// RefundSalesMax is the number of sales whose refunds are listed: this one and those before it.
const RefundSalesMax = events.SalesMax

// place is where refunds are kept: a slice of a sale.
type place struct {
	orders *held.Orders
	slice  int
}

// sales are those whose refunds are listed, this one first.
func (r correctionsCalls) sales() ([]string, error) {
	sales := []string{r.cfg.Sale.ID()}
	if r.cfg.PastSales == nil {
		return sales, nil
	}
	previous, err := r.cfg.PastSales()
	if err != nil {
		return nil, errors.Join(redisx.ErrUnavailable, err)
	}
	return append(sales, previous[:min(len(previous), RefundSalesMax-1)]...), nil
}

// places are where refunds may be, those of this sale first.
func (r correctionsCalls) places() (list []place, err error) {
	sales, err := r.sales()
	if err != nil {
		return nil, err
	}
	for _, sale := range sales {
		for slice := range r.orders.Slices() {
			list = append(list, place{r.orders.Of(sale), slice})
		}
	}
	return list, nil
}

// refundBody is a payment that is due to be given back, or was.
type refundBody struct {
	Payment  string `json:"payment_id"`
	Order    string `json:"order_id"`
	User     uint32 `json:"user_id"`
	Name     string `json:"username"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Since    string `json:"since"`
	Reason   string `json:"reason"`
	State    string `json:"state"`
}

// list sends a page of the payments that are due to be given back, or that were.
func (r correctionsCalls) list(ctx *fasthttp.RequestCtx, _ Call) {
	state := param(ctx, "state")
	if state != "" && state != "due" && state != "done" {
		reply(ctx, errBadHoldState)
		return
	}
	found, err := r.page(state == "done", param(ctx, "after"))
	var names map[uint32]string
	if err == nil {
		users := []uint32{}
		for i := range found {
			users = append(users, found[i].ID.User)
		}
		names, err = r.buyers()(users)
	}
	var body []byte
	if err == nil {
		list := []refundBody{}
		for i := range found {
			list = append(list, r.bodyOfRefund(&found[i], names))
		}
		body, err = json.Marshal(list)
	}
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, body)
}

func (r correctionsCalls) bodyOfRefund(f *held.Refund, names map[uint32]string) refundBody {
	state := "due"
	if f.Done {
		state = "done"
	}
	return refundBody{Payment: f.Payment, User: f.ID.User, Name: names[f.ID.User], Amount: f.Amount,
		State: state, Order: string(redisx.AppendOrderID(nil, f.Sale, f.ID.User, f.ID.Number)),
		Currency: r.cfg.Catalog.Currency(), Since: stamp(f.Since), Reason: f.Reason}
}

// page finds at most refundsPage payments, from behind the payment after on.
func (r correctionsCalls) page(done bool, after string) (found []held.Refund, err error) {
	places, err := r.places()
	if err != nil {
		return nil, err
	}
	for _, at := range places {
		more, err := at.orders.Refunds(at.slice, done, after, refundsPage-len(found))
		if errors.Is(err, held.ErrNotListed) {
			continue // it is in another place
		}
		if err != nil {
			return nil, err
		}
		after = ""
		if found = append(found, more...); len(found) == refundsPage {
			break
		}
	}
	if after != "" {
		return nil, held.ErrNoMoney
	}
	return found, nil
}

// done notes that a payment was given back.
func (r correctionsCalls) done(ctx *fasthttp.RequestCtx, c Call) {
	if err := r.refunded(c.param("payment")); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

func (r correctionsCalls) refunded(payment string) error {
	places, err := r.places()
	if err != nil {
		return err
	}
	for _, at := range places {
		id, err := at.orders.OwnerOf(at.slice, payment)
		if errors.Is(err, held.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		return at.orders.Refunded(id, payment)
	}
	return held.ErrNoMoney
}

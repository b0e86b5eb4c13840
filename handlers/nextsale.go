package handlers

import (
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"
)

// What operators do about the sale that follows.

// NextWish asks about the next sale.
type NextWish struct {
	Look              bool   // only look
	Sale              string // id of the sale that ends; "" with Look: whichever is there
	OpensAt, ClosesAt time.Time
	By                string
}

// NextPlan is what the next sale will be, or is.
type NextPlan struct {
	Sale      string `json:"sale"`       // id of the sale that ends
	Next      string `json:"next"`       // id of the next one, "" while it is only looked at
	Foods     int    `json:"foods"`      // of the catalogue as this server reads it now
	Pieces    int64  `json:"pieces"`     // of all foods
	Users     int    `json:"users"`      // of the catalogue
	SameFoods bool   `json:"same_foods"` // as in this sale
	Exported  bool   `json:"exported"`   // since it was closed; else it is done on the way
}

// ErrNextBusy refuses a question while another one is answered.
var ErrNextBusy = errors.New("another question about the next sale is under way")

// NextFailedError tells why there can be no next sale, in words for operators.
type NextFailedError struct{ Reason string }

// Error is the reason.
func (e *NextFailedError) Error() string { return e.Reason }

// nextCalls are the calls about the next sale.
type nextCalls struct {
	*Server
	ask func(NextWish) (NextPlan, error)
}

// NextSale joins the calls about the next sale. ask asks who can open it, and returns redisx.ErrOtherSale,
// the errors of turnover.OpenNext, ErrNextBusy, redisx.ErrUnavailable, or a *NextFailedError.
func NextSale(ask func(NextWish) (NextPlan, error)) Room {
	return func(s *Server) []Route {
		r := nextCalls{s, ask}
		return []Route{
			{"GET", "/admin/sale/next", s.views, slow, r.look},
			{"POST", "/admin/sale/next", s.administers, slow, r.open},
		}
	}
}

// look tells what the next sale would be.
func (r nextCalls) look(ctx *fasthttp.RequestCtx, _ Call) { r.grant(ctx, NextWish{Look: true}) }

// open opens the next sale in the place of the one that the body names.
func (r nextCalls) open(ctx *fasthttp.RequestCtx, _ Call) {
	members := [3]member{{name: "id"}, {name: "opens_at"}, {name: "closes_at"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	id, ok := members[0].string()
	if !ok || len(id) == 0 {
		reply(ctx, errMalformedJSON)
		return
	}
	wish := NextWish{Sale: string(id), By: actorOf(ctx)}
	for i, at := range []*time.Time{&wish.OpensAt, &wish.ClosesAt} {
		wanted, f := members[i+1].time()
		if f != nil {
			reply(ctx, f)
			return
		}
		if wanted != nil {
			*at = *wanted
		}
	}
	if !wish.ClosesAt.IsZero() && !wish.ClosesAt.After(wish.OpensAt) {
		reply(ctx, errBadTimes)
		return
	}
	r.grant(ctx, wish)
}

func (r nextCalls) grant(ctx *fasthttp.RequestCtx, wish NextWish) {
	plan, err := r.ask(wish)
	if failed := (*NextFailedError)(nil); errors.As(err, &failed) {
		slog.Warn("the next sale cannot be opened", "error", err)
		reply(ctx, nextFailed(failed.Reason))
		return
	}
	var body []byte
	if err == nil {
		body, err = json.Marshal(plan)
	}
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, body)
}

// nextFailed tells an operator why there can be no next sale.
func nextFailed(reason string) *failure {
	return inBoth(409, "NEXT_SALE_FAILED", "下一场未能开始："+reason, "The next sale cannot be opened: "+reason)
}

package handlers

import (
	"context"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/export"
	"flashsale/redisx"
)

// orderSearch is what GET /admin/orders looks for.
type orderSearch struct {
	user     uint32 // 0: any
	foods    []bool // from food 1 on; nil: any
	from, to time.Time
	state    redisx.HoldState // "": any
	most     int              // orders to find
}

// searchParams make a list a search.
var searchParams = []string{"user", "name", "food", "from", "to", "state", "limit"}

// readSearch reads the search of a request, nil for none.
func (s *Server) readSearch(ctx *fasthttp.RequestCtx) (*orderSearch, *failure) {
	if !slices.ContainsFunc(searchParams, ctx.QueryArgs().Has) {
		return nil, nil
	}
	q := &orderSearch{}
	limit, ok := numberOf(ctx, "limit", 1, math.MaxInt32, math.MaxInt32)
	if q.most = int(limit); !ok {
		return nil, errBadRange
	}
	for name, bound := range map[string]*time.Time{"from": &q.from, "to": &q.to} {
		text := param(ctx, name)
		if text == "" {
			continue
		}
		var err error
		if *bound, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, errBadRange
		}
	}
	q.state = redisx.HoldState(param(ctx, "state"))
	if !slices.Contains([]redisx.HoldState{"", redisx.Held, redisx.Paying, redisx.Paid}, q.state) {
		return nil, errBadRange
	}
	if f := s.readBuyer(ctx, q); f != nil {
		return nil, f
	}
	if food := param(ctx, "food"); food != "" {
		if q.foods = s.cfg.Catalog.FindFoods(food); q.foods == nil {
			return nil, errFoodNotFound
		}
	}
	return q, nil
}

// readBuyer reads whose order is wanted, by id or by name.
func (s *Server) readBuyer(ctx *fasthttp.RequestCtx, q *orderSearch) *failure {
	id, name := param(ctx, "user"), param(ctx, "name")
	switch {
	case id != "" && name != "":
		return errBadRange
	case id != "":
		user, err := strconv.ParseUint(id, 10, 32)
		if q.user = uint32(user); err != nil || user == 0 {
			return nobody(id)
		}
	case name != "":
		user, known := s.cfg.Catalog.UserOf([]byte(name))
		if !known && s.accounts != nil {
			found, err := s.accounts.Search(name)
			if err != nil {
				return failureOf(err)
			}
			if known = len(found) > 0; known {
				user = found[0].ID
			}
		}
		if q.user = user; !known {
			return nobody(name)
		}
	}
	return nil
}

// in returns the pages of orders that a search finds. That of a user is one question and no scan.
func (q *orderSearch) in(of *saleOrders) export.Pages {
	next := of.next
	if q.user != 0 {
		next = once(func() (redisx.Order, error) { return of.order(q.user) })
	}
	return func(ctx context.Context) ([]redisx.Order, error) {
		for q.most > 0 {
			page, err := next(ctx)
			if err != nil {
				return nil, err
			}
			found := slices.DeleteFunc(page, func(o redisx.Order) bool { return !q.matches(&o) })
			found = found[:min(len(found), q.most)]
			if q.most -= len(found); len(found) > 0 {
				return found, nil
			}
		}
		return nil, io.EOF
	}
}

// once returns a page with one order.
func once(read func() (redisx.Order, error)) export.Pages {
	done := false
	return func(context.Context) ([]redisx.Order, error) {
		if done {
			return nil, io.EOF
		}
		order, err := read()
		done = err == nil
		return []redisx.Order{order}, err
	}
}

// matches reports whether an order is among those that are looked for; one without items is none.
func (q *orderSearch) matches(o *redisx.Order) bool {
	return len(o.Items) > 0 && (q.from.IsZero() || !o.Placed.Before(q.from)) &&
		(q.to.IsZero() || o.Placed.Before(q.to)) && (q.state == "" || o.Hold.State == q.state) &&
		(q.foods == nil || slices.ContainsFunc(o.Items, func(i redisx.Item) bool { return q.foods[i.Food-1] }))
}

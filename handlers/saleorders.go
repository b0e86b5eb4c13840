package handlers

import (
	"encoding/json"
	"log/slog"

	"github.com/valyala/fasthttp"

	"flashsale/internal/export"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

// salesMax is how many sales before this one are listed.
const salesMax = 100

// PastSale is a sale that has ended, as long as Redis keeps it. Its user closes it.
type PastSale struct {
	Prices    []int64 // of food 1, 2, 3, ...
	SameFoods bool    // they are those of the catalogue
	SameUsers bool    // and so are the users
	Holds     bool    // it held orders until they were paid
	Next      export.Pages
	Order     func(user uint32) (redisx.Order, error) // without items: there is none
	Close     func()
}

// listSales sends the ids of this sale and of those before it, the last one first.
func (s *Server) listSales(ctx *fasthttp.RequestCtx, _ Call) {
	body := struct {
		Sale     string   `json:"sale"`
		Previous []string `json:"previous"`
	}{s.cfg.Sale.ID(), []string{}}
	if s.cfg.PastSales != nil {
		previous, err := s.cfg.PastSales()
		if err != nil {
			slog.Warn("the sales before this one are not known", "error", err)
			reply(ctx, errUnavailable)
			return
		}
		body.Previous = append(body.Previous, previous[:min(len(previous), salesMax)]...)
	}
	text, err := json.Marshal(body)
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, text)
}

// saleOrders are the orders of a sale, of this one or of one that has ended.
type saleOrders struct {
	sale      string
	sameFoods bool // as in the catalogue
	holds     bool // orders have states
	price     func(food int64) int64
	names     export.Names
	next      export.Pages
	order     func(user uint32) (redisx.Order, error)
	close     func() // nil: there is nothing to close
}

// end closes a past sale.
func (of *saleOrders) end() {
	if of.close != nil {
		of.close()
	}
}

// ordersOf are the orders of a sale, "" for this one. Errors: turnover.ErrNoPastSale, or why Redis cannot be
// asked.
func (s *Server) ordersOf(sale string) (*saleOrders, error) {
	switch {
	case sale == "" || sale == s.cfg.Sale.ID():
		foods := s.cfg.Catalog.Foods()
		return &saleOrders{sale: s.cfg.Sale.ID(), sameFoods: true, names: s.buyers(),
			holds: s.cfg.Sale.Hold() > 0,
			price: func(food int64) int64 { return foods[food-1].Price },
			next:  s.cfg.Sale.ScanOrders().Next, order: s.cfg.Sale.Order}, nil
	case s.cfg.PastSale == nil:
		return nil, turnover.ErrNoPastSale
	}
	past, err := s.cfg.PastSale(sale)
	if err != nil {
		return nil, err
	}
	of := &saleOrders{sale: sale, sameFoods: past.SameFoods, holds: past.Holds, names: s.buyers(),
		next: past.Next, price: func(food int64) int64 { return past.Prices[food-1] }, order: past.Order,
		close: past.Close}
	if !past.SameUsers {
		of.names = s.registered
	}
	return of, nil
}

// buyers finds the names of users: of the catalogue, and with a conversation of those who have registered.
func (s *Server) buyers() export.Names {
	if s.accounts != nil {
		return s.accounts.Names
	}
	return export.NamesBy(s.names().Name)
}

// registered finds the names of those who have registered: they keep their ids in every sale.
func (s *Server) registered(users []uint32) (map[uint32]string, error) {
	if s.accounts == nil {
		return nil, nil
	}
	var those []uint32
	for _, user := range users {
		if user >= redisx.FirstRegistered {
			those = append(those, user)
		}
	}
	return s.accounts.Names(those)
}

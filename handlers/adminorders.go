package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/catalog"
	"flashsale/internal/export"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/turnover"
)

// sortedMax is how many orders an export by item sorts: it keeps 40 bytes of each in memory.
const sortedMax = 1_000_000

// listAllOrders streams the orders of a sale, all or those that a search finds, a page of Redis at a time.
func (s *Server) listAllOrders(ctx *fasthttp.RequestCtx, c Call) {
	q, f := s.readSearch(ctx)
	if f != nil {
		reply(ctx, f)
		return
	}
	format := export.Format(param(ctx, "format"))
	if !slices.Contains([]export.Format{"", export.CSV, export.JSONLines}, format) {
		reply(ctx, errBadFormat)
		return
	}
	of, err := s.ordersOf(param(ctx, "sale"))
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	next := of.next
	if q != nil {
		next = q.in(of)
	}
	if format != "" {
		s.exportOrders(ctx, c, format, of, next)
		return
	}
	details := wantsDetails(ctx)
	var names export.Names
	if q != nil && details {
		names = of.names
	}
	kind := jsonList("orders")
	kind.close = of.close
	s.streamList(ctx, c, kind, func(l *list) error {
		page, err := next(context.Background())
		if err != nil {
			return err
		}
		return l.addOrders(of, page, details, names)
	})
}

// addOrders appends some orders; with names nil, without the names of the buyers.
func (l *list) addOrders(of *saleOrders, page []redisx.Order, details bool, names export.Names) error {
	var known map[uint32]string
	if names != nil {
		var err error
		if known, err = names(export.UsersOf(page)); err != nil {
			return err
		}
	}
	for i := range page {
		order := &page[i]
		l.begin()
		l.text = append(l.text, `{"id":"`...)
		l.text = redisx.AppendOrderID(l.text, of.sale, order.User, order.Hold.Number)
		l.text = append(l.text, `","user_id":`...)
		l.text = strconv.AppendUint(l.text, uint64(order.User), 10)
		l.text = appendItems(l.text, order.Items, of.price)
		if details {
			l.text = appendHold(appendPlaced(l.text, order), &order.Hold)
		}
		if names != nil {
			name, _ := json.Marshal(known[order.User]) // a text never fails
			l.text = append(append(l.text, `,"username":`...), name...)
		}
		l.text = append(l.text, '}')
	}
	return nil
}

// exportOrders streams orders in another format. It is not the export that the next sale requires: a server
// cannot know whether its client has kept the file.
func (s *Server) exportOrders(
	ctx *fasthttp.RequestCtx, c Call, format export.Format, of *saleOrders, next export.Pages,
) {
	rows := export.Rows(param(ctx, "rows"))
	switch rows {
	case "":
		rows = export.Orders
	case export.Orders, export.Items:
	default:
		of.end()
		reply(ctx, errBadRows)
		return
	}
	book := &export.Book{Format: format, Rows: rows, BOM: param(ctx, "bom") == "1", Sale: of.sale,
		Names: of.names, Price: of.price, States: of.holds}
	if of.sameFoods {
		book.Currency = s.cfg.Catalog.Currency()
		book.Decimals, _ = catalog.Decimals(book.Currency)
		book.Foods = s.cfg.Catalog.FoodNames(param(ctx, "language"))
	}
	file := "orders-"
	if rows == export.Items {
		next, file = export.Sorted(next, s.sortedMax), "items-"
	}
	kind := listKind{name: "orders", contentType: []byte(format.ContentType()), close: of.close,
		file: fmt.Sprintf("%s%s.%s", file, book.Sale, format), begin: string(book.AppendHead(nil))}
	s.streamList(ctx, c, kind, func(l *list) error {
		page, err := next(context.Background())
		if err != nil {
			return err
		}
		l.text, err = book.AppendPage(l.text, page)
		l.items += len(page)
		return err
	})
}

// orderBody is one order as root sees it. Amounts are in minor units of the currency.
type orderBody struct {
	ID       string           `json:"id"`
	Sale     string           `json:"sale"`
	User     uint32           `json:"user_id"`
	Name     string           `json:"username"`
	Placed   string           `json:"placed_at"`
	State    redisx.HoldState `json:"state,omitempty"` // the next four only of an order that is or was held
	Till     string           `json:"till,omitempty"`
	Payment  string           `json:"payment_id,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Currency string           `json:"currency,omitempty"`
	Decimals *int             `json:"decimals,omitempty"`
	Items    []orderItem      `json:"items"`
	Total    int64            `json:"total"`
}

type orderItem struct {
	Food  int64             `json:"food_id"`
	Name  string            `json:"name,omitempty"`
	Names map[string]string `json:"names,omitempty"`
	Count int64             `json:"count"`
	Price int64             `json:"price"`
	Sum   int64             `json:"sum"`
}

// showOrder sends one order, of this sale or of one that has ended.
func (s *Server) showOrder(ctx *fasthttp.RequestCtx, c Call) {
	sale, user, number, ok := redisx.ParseOrderID(c.param("id"))
	if !ok { // ".." too
		reply(ctx, errNotFound)
		return
	}
	who := actorOf(ctx)
	if !s.lists.enter(who) { // the prices of a past sale are as long as a list
		reply(ctx, errTooManyRequests)
		return
	}
	defer s.lists.leave(who)
	of, err := s.ordersOf(sale)
	if errors.Is(err, turnover.ErrNoPastSale) {
		reply(ctx, errNoOrder)
		return
	}
	var order redisx.Order
	var names map[uint32]string
	if err == nil {
		defer of.end()
		order, err = s.findOrder(of, user, number)
	}
	if err == nil {
		names, err = of.names([]uint32{user})
	}
	switch {
	case err != nil:
		s.replyOutcome(ctx, err)
		return
	case len(order.Items) == 0:
		reply(ctx, errNoOrder)
		return
	}
	body, err := json.Marshal(s.bodyOfOrder(of, &order, names[order.User]))
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, body)
}

// findOrder reads one order of a sale, also one that was released if orders are held; without items: there
// is none.
func (s *Server) findOrder(of *saleOrders, user uint32, number int) (redisx.Order, error) {
	id := held.ID{User: user, Number: number}
	switch {
	case s.held != nil && of.sale == s.cfg.Sale.ID():
		return s.held.Find(id)
	case s.held != nil:
		return s.held.Of(of.sale).FindAfter(id)
	}
	order, err := of.order(user)
	if order.Hold.Number != number {
		return redisx.Order{User: user}, err
	}
	return order, err
}

func (s *Server) bodyOfOrder(of *saleOrders, order *redisx.Order, name string) *orderBody {
	c := s.cfg.Catalog
	id := redisx.AppendOrderID(nil, of.sale, order.User, order.Hold.Number)
	body := &orderBody{ID: string(id), Sale: of.sale, User: order.User, Name: name, Placed: stamp(order.Placed)}
	if h := &order.Hold; h.State != "" {
		body.State, body.Till, body.Payment, body.Reason = h.State, stamp(h.Till), h.Payment, h.Reason
	}
	var goods []catalog.Goods
	if of.sameFoods {
		goods, body.Currency = c.Goods(), c.Currency()
	}
	if n, known := catalog.Decimals(body.Currency); known {
		body.Decimals = &n
	}
	for _, item := range order.Items {
		line := orderItem{Food: item.Food, Count: item.Count, Price: of.price(item.Food)}
		line.Sum = line.Price * line.Count
		if goods != nil {
			line.Name, line.Names = goods[item.Food-1].Name.Default, goods[item.Food-1].Name.In
		}
		body.Items = append(body.Items, line)
		body.Total += line.Sum
	}
	return body
}

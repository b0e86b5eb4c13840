package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"flashsale/internal/catalog"
	"flashsale/internal/export"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

// sortedMax is how many orders an export by item sorts: it keeps 40 bytes of each in memory.
const sortedMax = 1_000_000

// listAllOrders streams the orders of the sale, all or those that a search finds, a page of Redis at a time.
func (s *Server) listAllOrders(ctx *fasthttp.RequestCtx, c Call) {
	q, f := s.readSearch(ctx)
	if f != nil {
		reply(ctx, f)
		return
	}
	next := s.cfg.Sale.ScanOrders().Next
	if q != nil {
		next = q.in(s.cfg.Sale)
	}
	switch format := export.Format(param(ctx, "format")); format {
	case "":
	case export.CSV, export.JSONLines:
		s.exportOrders(ctx, c, format, next)
		return
	default:
		reply(ctx, errBadFormat)
		return
	}
	details := wantsDetails(ctx)
	var names export.Names
	if q != nil && details {
		names = s.buyers()
	}
	s.streamList(ctx, c, jsonList("orders"), func(l *list) error {
		page, err := next(context.Background())
		if err != nil {
			return err
		}
		return l.addOrders(page, details, names)
	})
}

// addOrders appends some orders; with names nil, without the names of the buyers.
func (l *list) addOrders(page []redisx.Order, details bool, names export.Names) error {
	var known map[uint32]string
	if names != nil {
		var err error
		if known, err = names(usersOf(page)); err != nil {
			return err
		}
	}
	for i := range page {
		order := &page[i]
		l.begin()
		l.text = append(l.text, `{"id":`...)
		l.text = l.server.appendOrderID(l.text, order.User)
		l.text = append(l.text, `,"user_id":`...)
		l.text = strconv.AppendUint(l.text, uint64(order.User), 10)
		l.text = l.server.appendItems(l.text, order.Items)
		if details {
			l.text = appendPlaced(l.text, order)
		}
		if names != nil {
			name, _ := json.Marshal(known[order.User]) // a text never fails
			l.text = append(append(l.text, `,"username":`...), name...)
		}
		l.text = append(l.text, '}')
	}
	return nil
}

func usersOf(page []redisx.Order) []uint32 {
	users := make([]uint32, len(page))
	for i := range page {
		users[i] = page[i].User
	}
	return users
}

// buyers finds the names of users: of the catalogue, and with a conversation of those who have registered.
func (s *Server) buyers() export.Names {
	if s.accounts != nil {
		return s.accounts.Names
	}
	return export.NamesBy(s.names().Name)
}

// exportOrders streams orders in another format. It is not the export that the next sale requires: a server
// cannot know whether its client has kept the file.
func (s *Server) exportOrders(ctx *fasthttp.RequestCtx, c Call, format export.Format, next export.Pages) {
	rows := export.Rows(param(ctx, "rows"))
	switch rows {
	case "":
		rows = export.Orders
	case export.Orders, export.Items:
	default:
		reply(ctx, errBadRows)
		return
	}
	book := &export.Book{Format: format, Rows: rows, BOM: param(ctx, "bom") == "1", Sale: s.cfg.Sale.ID(),
		Names: s.buyers(), Currency: s.cfg.Catalog.Currency()}
	book.Decimals, _ = catalog.Decimals(book.Currency)
	for _, food := range s.cfg.Catalog.Foods() {
		book.Prices = append(book.Prices, food.Price)
	}
	file := "orders-"
	if rows == export.Items {
		next, file = export.Sorted(next, s.sortedMax), "items-"
		book.Foods = s.cfg.Catalog.FoodNames(param(ctx, "language"))
	}
	kind := listKind{name: "orders", contentType: []byte(format.ContentType()),
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
	ID       string      `json:"id"`
	Sale     string      `json:"sale"`
	User     uint32      `json:"user_id"`
	Name     string      `json:"username"`
	Placed   string      `json:"placed_at"`
	Currency string      `json:"currency,omitempty"`
	Decimals *int        `json:"decimals,omitempty"`
	Items    []orderItem `json:"items"`
	Total    int64       `json:"total"`
}

type orderItem struct {
	Food  int64             `json:"food_id"`
	Name  string            `json:"name,omitempty"`
	Names map[string]string `json:"names,omitempty"`
	Count int64             `json:"count"`
	Price int64             `json:"price"`
	Sum   int64             `json:"sum"`
}

// PastOrder is an order of a sale that has ended. One without items is none.
type PastOrder struct {
	redisx.Order
	Prices    []int64 // of that sale; nil if they are not known
	SameFoods bool    // it had the foods of the catalogue
	SameUsers bool    // the users of the catalogue are those of that sale
}

// showOrder sends one order, of this sale or of one that has ended.
func (s *Server) showOrder(ctx *fasthttp.RequestCtx, c Call) {
	id := c.param("id")
	sale, text, _ := strings.Cut(id, "-")
	user, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id != string(redisx.AppendOrderID(nil, sale, uint32(user))) { // ".." too
		reply(ctx, errNotFound)
		return
	}
	if s.lists.Add(1) > listsMax { // the prices of a past sale are as long as a list
		s.lists.Add(-1)
		reply(ctx, errTooManyRequests)
		return
	}
	defer s.lists.Add(-1)
	body, err := s.orderBody(sale, uint32(user))
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(body)
	}
	switch {
	case errors.Is(err, errOrderMissing), errors.Is(err, turnover.ErrNoPastSale):
		reply(ctx, errNoOrder)
	case err != nil:
		s.replyOutcome(ctx, err)
	default:
		replyBody(ctx, encoded)
	}
}

var errOrderMissing = errors.New("there is no such order")

// orderBody reads an order.
func (s *Server) orderBody(sale string, user uint32) (*orderBody, error) {
	past := PastOrder{SameFoods: true, SameUsers: true}
	var err error
	switch {
	case sale == s.cfg.Sale.ID():
		past.Order, err = s.cfg.Sale.Order(user)
		for _, food := range s.cfg.Catalog.Foods() {
			past.Prices = append(past.Prices, food.Price)
		}
	case s.cfg.PastOrder == nil:
		err = errOrderMissing
	default:
		past, err = s.cfg.PastOrder(sale, user)
	}
	if err == nil && (len(past.Items) == 0 || past.Prices == nil) {
		err = errOrderMissing
	}
	if err != nil {
		return nil, err
	}
	name := ""
	if past.SameUsers || user >= redisx.FirstRegistered {
		names, err := s.buyers()([]uint32{user})
		if err != nil {
			return nil, err
		}
		name = names[user]
	}
	return s.bodyOfOrder(sale, &past, name), nil
}

func (s *Server) bodyOfOrder(sale string, order *PastOrder, name string) *orderBody {
	c := s.cfg.Catalog
	body := &orderBody{ID: string(redisx.AppendOrderID(nil, sale, order.User)), Sale: sale, User: order.User,
		Name: name, Placed: stamp(order.Placed)}
	var goods []catalog.Goods
	if order.SameFoods {
		goods, body.Currency = c.Goods(), c.Currency()
	}
	if n, known := catalog.Decimals(body.Currency); known {
		body.Decimals = &n
	}
	for _, item := range order.Items {
		line := orderItem{Food: item.Food, Count: item.Count, Price: order.Prices[item.Food-1]}
		line.Sum = line.Price * line.Count
		if goods != nil {
			line.Name, line.Names = goods[item.Food-1].Name.Default, goods[item.Food-1].Name.In
		}
		body.Items = append(body.Items, line)
		body.Total += line.Sum
	}
	return body
}

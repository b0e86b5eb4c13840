package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"flashsale/internal/catalog"
	"flashsale/internal/export"
	"flashsale/redisx"
)

// sortedMax is how many orders an export by item sorts: it keeps 40 bytes of each in memory.
var sortedMax = 1_000_000

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
		next, file = export.Sorted(next, sortedMax), "items-"
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

// showOrder sends one order of the sale.
func (s *Server) showOrder(ctx *fasthttp.RequestCtx, c Call) {
	id := c.param("id")
	sale, text, _ := strings.Cut(id, "-")
	user, err := strconv.ParseUint(text, 10, 32)
	switch {
	case err != nil || id != string(redisx.AppendOrderID(nil, sale, uint32(user))): // ".." too
		reply(ctx, errNotFound)
		return
	case sale != s.cfg.Sale.ID():
		reply(ctx, errNoOrder)
		return
	}
	order, err := s.cfg.Sale.Order(uint32(user))
	var names map[uint32]string
	if err == nil {
		names, err = s.buyers()([]uint32{order.User})
	}
	switch {
	case err != nil:
		s.replyOutcome(ctx, err)
		return
	case len(order.Items) == 0:
		reply(ctx, errNoOrder)
		return
	}
	body, err := json.Marshal(s.bodyOfOrder(&order, names[order.User]))
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, body)
}

func (s *Server) bodyOfOrder(order *redisx.Order, name string) orderBody {
	c := s.cfg.Catalog
	foods, goods := c.Foods(), c.Goods()
	body := orderBody{ID: string(redisx.AppendOrderID(nil, s.cfg.Sale.ID(), order.User)), Sale: s.cfg.Sale.ID(),
		User: order.User, Name: name, Placed: stamp(order.Placed), Currency: c.Currency()}
	if n, known := catalog.Decimals(body.Currency); known {
		body.Decimals = &n
	}
	for _, item := range order.Items {
		line := orderItem{Food: item.Food, Count: item.Count, Price: foods[item.Food-1].Price}
		line.Sum = line.Price * line.Count
		if goods != nil {
			line.Name, line.Names = goods[item.Food-1].Name.Default, goods[item.Food-1].Name.In
		}
		body.Items = append(body.Items, line)
		body.Total += line.Sum
	}
	return body
}

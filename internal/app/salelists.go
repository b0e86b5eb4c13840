package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"flashsale/internal/catalog"
	"flashsale/internal/export"
	"flashsale/redisx"
)

// printLog prints every change of the sale, the oldest first.
func (c *saleCommand) printLog(ctx context.Context, marker *redisx.Marker) error {
	sale, leave, err := redisx.Connect(ctx, c.store.redis, marker.Sale, 0)
	if err != nil {
		return c.between(err, marker)
	}
	defer leave()
	for scan := sale.ScanLog(); ; {
		page, err := scan.Next(ctx)
		for i := range page {
			e := &page[i]
			fmt.Fprintf(c.stdout, "%s  %-8s  %s\n", e.At.Format(printedTime), e.By, changeText(e))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the log breaks off: %w", err)
		}
	}
}

// printedTime is RFC 3339 in UTC to the millisecond, as in an export.
const printedTime = "2006-01-02T15:04:05.000Z"

// changeText is a change in words.
func changeText(e *redisx.LogEntry) string {
	switch e.What {
	case redisx.LogOpened:
		return fmt.Sprintf("the sale begins with %d pieces; %s", e.Pieces, timesText(e.TimesAfter))
	case redisx.LogState:
		return fmt.Sprintf("%s, before %s", e.StateAfter, e.StateBefore)
	case redisx.LogTimes:
		return fmt.Sprintf("%s; before: %s", timesText(e.TimesAfter), timesText(e.TimesBefore))
	case redisx.LogStock:
		return fmt.Sprintf("food %d: %+d, %d left, before %d", e.Food, e.Add, e.StockAfter, e.StockBefore)
	case redisx.LogOrder:
		return fmt.Sprintf("order %d of user %d: %s, before %s: %s", e.Number+1, e.User, itemsText(e.ItemsAfter),
			itemsText(e.ItemsBefore), e.Reason)
	}
	return e.What
}

// itemsText is what was ordered, in words.
func itemsText(items []redisx.Item) string {
	var parts []string
	for _, item := range items {
		parts = append(parts, fmt.Sprintf("%d of food %d", item.Count, item.Food))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// timesText is when a sale opens and closes by itself, in words.
func timesText(t redisx.Times) string {
	opens, closes := "no opening time", "no closing time"
	if !t.OpensAt.IsZero() {
		opens = "opens at " + momentText(t.OpensAt)
	}
	if !t.ClosesAt.IsZero() {
		closes = "closes at " + momentText(t.ClosesAt)
	}
	return opens + ", " + closes
}

// printOrders prints the orders that the flags choose, and their sums.
func (c *saleCommand) printOrders(ctx context.Context, marker *redisx.Marker) error {
	sale, loaded, leave, err := c.running(ctx, marker)
	if err != nil {
		return err
	}
	defer leave()
	list := orderList{out: c.stdout, sale: marker.Sale, food: int64(c.cfg.Food), prices: prices(loaded),
		names: loaded.Names()}
	list.currency, list.decimals = currencyOf(loaded)
	next := export.Pages(sale.ScanOrders().Next)
	if c.cfg.User != "" {
		next = orderOf(sale, userOf(loaded, c.cfg.User))
	}
	for {
		page, err := next(ctx)
		for i := range page {
			list.print(&page[i])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the list breaks off: %w", err)
		}
	}
	fmt.Fprintf(c.stdout, "%d orders, %d pieces, %s in total\n", list.orders, list.pieces, list.money(list.sum))
	return nil
}

// userOf is the id of a user by name or id, 0 if there is none.
func userOf(c *catalog.Catalog, text string) uint32 {
	if user, known := c.UserOf([]byte(text)); known {
		return user
	}
	id, _ := strconv.ParseUint(text, 10, 32)
	return uint32(id)
}

// orderOf returns a page with the order of a user, if there is one: it is looked up, not searched for.
func orderOf(sale *redisx.Sale, user uint32) export.Pages {
	return func(context.Context) ([]redisx.Order, error) {
		if user == 0 {
			return nil, io.EOF
		}
		order, err := sale.Order(user)
		if user = 0; err != nil || len(order.Items) == 0 {
			return nil, cmp.Or(err, io.EOF)
		}
		return []redisx.Order{order}, nil
	}
}

// orderList prints orders.
type orderList struct {
	out    io.Writer
	sale   string
	food   int64 // only orders with it; 0 for all
	prices []int64
	names  *catalog.Names

	currency string // "" without one
	decimals int

	orders, pieces, sum int64 // of those that were printed
}

func (l *orderList) print(order *redisx.Order) {
	name, id := string(l.names.Name(order.User)), strconv.FormatUint(uint64(order.User), 10)
	var items []string
	found, sum, pieces := l.food == 0, int64(0), int64(0)
	for _, item := range order.Items {
		found = found || item.Food == l.food
		items = append(items, fmt.Sprintf("%d=%d", item.Food, item.Count))
		pieces, sum = pieces+item.Count, sum+item.Count*l.prices[item.Food-1]
	}
	if !found {
		return
	}
	l.orders, l.pieces, l.sum = l.orders+1, l.pieces+pieces, l.sum+sum
	orderID := redisx.AppendOrderID(nil, l.sale, order.User, order.Hold.Number)
	state := ""
	if h := &order.Hold; h.State != "" {
		state = fmt.Sprintf("  %s %s", h.State, momentText(h.Till))
	}
	fmt.Fprintf(l.out, "%s  %-19s  user %-10s  %-20q  food=pieces %-13s  total %s%s\n",
		order.Placed.UTC().Format(printedTime), orderID, id, name, strings.Join(items, " "), l.money(sum), state)
}

// money is an amount of minor units with its currency.
func (l *orderList) money(amount int64) string {
	return strings.TrimSpace(string(export.AppendMoney(nil, amount, l.decimals)) + " " + l.currency)
}

package redisx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"
)

// What order.lua returns.
const (
	orderPlaced       = 0
	orderHasOrder     = 1
	orderCartEmpty    = 2
	orderOutOfStock   = 3
	orderNoSale       = 4
	orderPlacedBefore = 5
	orderTooManyFoods = 6
)

// Item is some pieces of a food.
type Item struct {
	Food, Count int64
}

// Order is what a user has bought, in the order in which the foods were first added.
type Order struct {
	User  uint32
	Items []Item
}

// PlaceOrder turns the user's cart into the user's order and takes its pieces from the stock, all or none. A
// second call with the same idempotency key (any bytes; empty for none) succeeds without doing anything.
// Errors: ErrHasOrder, ErrCartEmpty, ErrOutOfStock, ErrSaleGone (nothing is changed), ErrUnavailable (unknown).
func (s *Sale) PlaceOrder(user uint32, cart, idempotencyKey []byte) error {
	x := newCall()
	x.script = s.orders
	var scratch [40]byte
	x.keys = appendBulk(x.keys, appendOrderKey(scratch[:0], user))
	x.keys = appendBulk(x.keys, appendCartKey(scratch[:0], cart))
	x.args = appendBulk(x.args, idempotencyKey)
	code, err := s.doCode(x)
	if err != nil {
		return err
	}
	switch code {
	case orderPlaced, orderPlacedBefore:
		return nil
	case orderHasOrder:
		return ErrHasOrder
	case orderCartEmpty:
		return ErrCartEmpty
	case orderOutOfStock:
		return ErrOutOfStock
	case orderNoSale:
		return s.observe(presence{})
	case orderTooManyFoods:
		return fmt.Errorf("cannot place order of user %d: its cart holds more foods than order.lua takes", user)
	}
	return unknownCode("order.lua", code)
}

// Order returns what the user has bought: no items where there is no order.
func (s *Sale) Order(user uint32) ([]Item, error) {
	var found presence
	var value []byte
	key := appendOrderKey(nil, user)
	x := s.prove(newCall(), &found).command(&radix.Maybe{Rcv: &value}, "GET", string(key))
	if err := s.do(x); err != nil {
		return nil, err
	}
	if err := s.observe(found); err != nil || value == nil {
		return nil, err
	}
	return parseItems(value, s.foods)
}

// parseItems reads "food:count,food:count," of foods 1 to foods, with spaces between them or not, and with "|" and an
// idempotency key behind or not.
func parseItems(value []byte, foods int) ([]Item, error) {
	list, _, _ := bytes.Cut(value, []byte("|"))
	list, ended := bytes.CutSuffix(bytes.TrimRight(list, " "), []byte(","))
	items := make([]Item, 0, CartMax)
	for field := range bytes.SplitSeq(list, []byte(",")) {
		food, count, found := bytes.Cut(bytes.TrimLeft(field, " "), []byte(":"))
		id, err1 := strconv.ParseInt(string(food), 10, 64)
		n, err2 := strconv.ParseInt(string(count), 10, 64)
		if !ended || !found || err1 != nil || err2 != nil || id < 1 || id > int64(foods) || n < 1 || n > CartMax {
			return nil, fmt.Errorf("cannot read items %q: want food:count,food:count, of foods 1 to %d", value, foods)
		}
		items = append(items, Item{Food: id, Count: n})
	}
	return items, nil
}

// scanCount is how many keys one SCAN looks at: about 0.2 ms of Redis, between which others are served.
const scanCount = 500

// OrderScan reads all orders of the sale, a page at a time: never more than a page is held here, and Redis
// is never busy with it for more than a page.
type OrderScan struct {
	sale   *Sale
	cursor string
	seen   map[uint32]struct{} // SCAN may show a key twice
}

// ScanOrders starts a scan. Orders placed meanwhile may be missing.
func (s *Sale) ScanOrders() *OrderScan {
	return &OrderScan{sale: s, cursor: "0", seen: map[uint32]struct{}{}}
}

// Next returns the next orders, at least one, in no particular order; io.EOF after the last.
func (o *OrderScan) Next(ctx context.Context) ([]Order, error) {
	for o.cursor != "" {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		users, keys, err := o.page()
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			return o.read(users, keys)
		}
	}
	return nil, io.EOF
}

// page asks for the next keys and leaves those that are new orders.
func (o *OrderScan) page() (users []uint32, keys []string, err error) {
	var found presence
	var names []string
	reply := radix.Tuple{&o.cursor, &names}
	x := o.sale.prove(newCall(), &found).command(&reply, "SCAN", o.cursor, "MATCH", orderPrefix+"*", "COUNT", strconv.Itoa(scanCount))
	if err := o.sale.do(x); err != nil {
		return nil, nil, err
	}
	if err := o.sale.observe(found); err != nil {
		return nil, nil, err
	}
	if o.cursor == "0" {
		o.cursor = "" // Redis says that this was the last page
	}
	for _, key := range names {
		id, err := strconv.ParseUint(strings.TrimPrefix(key, orderPrefix), 10, 32)
		if err != nil {
			continue // somebody else's key
		}
		user := uint32(id)
		if _, twice := o.seen[user]; !twice {
			o.seen[user] = struct{}{}
			users, keys = append(users, user), append(keys, key)
		}
	}
	return users, keys, nil
}

func (o *OrderScan) read(users []uint32, keys []string) ([]Order, error) {
	var values [][]byte
	if err := o.sale.do(newCall().command(&values, append([]string{"MGET"}, keys...)...)); err != nil {
		return nil, err
	}
	orders := make([]Order, len(values))
	for i, value := range values {
		items, err := parseItems(value, o.sale.foods) // an order that vanished is an error too: orders are never deleted
		if err != nil {
			return nil, fmt.Errorf("order of user %d: %w", users[i], err)
		}
		orders[i] = Order{User: users[i], Items: items}
	}
	return orders, nil
}

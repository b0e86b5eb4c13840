package redisx

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// ScanCount is the number of keys that one SCAN looks at, and of entries in a page: Redis is busy for a
// fraction of a millisecond.
const ScanCount = 500

// OrderScan reads all orders of the sale, one page at a time: it needs memory for one page and for the users
// seen, and keeps Redis busy for one page.
type OrderScan struct {
	sale   *Sale
	slice  int // the one that is read
	cursor string
	seen   map[uint32]struct{} // SCAN may show a key twice
}

// ScanOrders starts a scan, which may miss orders that are placed meanwhile.
func (s *Sale) ScanOrders() *OrderScan {
	return &OrderScan{sale: s, cursor: "0", seen: map[uint32]struct{}{}}
}

// Next returns the next orders, at least one, in no particular order; io.EOF after the last.
func (o *OrderScan) Next(ctx context.Context) ([]Order, error) {
	for o.slice < len(o.sale.slices) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := &o.sale.slices[o.slice]
		users, keys, err := o.page(part)
		if err != nil {
			return nil, err
		}
		if o.cursor == "0" { // the cursor behind the last page
			o.slice++
		}
		if len(keys) == 0 {
			continue
		}
		if orders, err := o.read(part, users, keys); err != nil || len(orders) > 0 {
			return orders, err
		}
	}
	return nil, io.EOF
}

// page asks for the next keys and returns the keys of orders that are new.
func (o *OrderScan) page(part *slice) (users []uint32, keys []string, err error) {
	var found presence
	var names []string
	x := part.prove(pipeline.NewCall(), &found).Command(&radix.Tuple{&o.cursor, &names},
		"SCAN", o.cursor, "MATCH", orderPrefix+"*"+part.keys.Tag, "COUNT", strconv.Itoa(ScanCount))
	if err := part.read(x, &found); err != nil {
		return nil, nil, err
	}
	for _, key := range names {
		text := strings.TrimSuffix(strings.TrimPrefix(key, orderPrefix), part.keys.Tag)
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			continue // a key of another program
		}
		user := uint32(id)
		if _, twice := o.seen[user]; !twice {
			o.seen[user] = struct{}{}
			users, keys = append(users, user), append(keys, key)
		}
	}
	return users, keys, nil
}

// read reads the orders of a page.
func (o *OrderScan) read(part *slice, users []uint32, keys []string) ([]Order, error) {
	var values [][]byte
	if err := part.redis.Do(pipeline.Command(&values, append([]string{"MGET"}, keys...)...)); err != nil {
		return nil, err
	}
	orders := make([]Order, 0, len(values))
	for i, value := range values {
		if value == nil && o.sale.cfg.Hold > 0 {
			continue // released meanwhile
		}
		// An order that has vanished is an error too: final orders are never deleted.
		order, err := ParseOrder(users[i], value, o.sale.foods)
		if err != nil {
			return nil, fmt.Errorf("order of user %d: %w", users[i], err)
		}
		orders = append(orders, order)
	}
	return orders, nil
}

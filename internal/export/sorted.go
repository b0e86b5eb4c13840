package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"flashsale/redisx"
)

// Pages returns the next orders, io.EOF after the last.
type Pages func(context.Context) ([]redisx.Order, error)

// sortedPage is how many orders a sorted page has.
const sortedPage = redisx.ScanCount

// ErrTooMany is the outcome of sorting more orders than the most.
var ErrTooMany = errors.New("there are too many orders to sort")

// kept is an order in little memory: 40 bytes.
type kept struct {
	placed int64 // Unix ms
	user   uint32
	foods  [redisx.CartMax]uint32 // 0 behind the last
	counts [redisx.CartMax]uint8
}

// Sorted returns the orders by time, then by user, which is by id. It reads all of them first, and keeps
// them in memory. Error: ErrTooMany for more than most, 0 for any number.
func Sorted(next Pages, most int) Pages {
	var all []kept
	read := false
	return func(ctx context.Context) ([]redisx.Order, error) {
		if !read {
			var err error
			if all, err = readAll(ctx, next, most); err != nil {
				return nil, err
			}
			read = true
		}
		if len(all) == 0 {
			return nil, io.EOF
		}
		page := make([]redisx.Order, min(len(all), sortedPage))
		for i := range page {
			page[i] = all[i].order()
		}
		all = all[len(page):]
		return page, nil
	}
}

func readAll(ctx context.Context, next Pages, most int) (all []kept, err error) {
	for {
		page, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if most > 0 && len(all)+len(page) > most {
			return nil, fmt.Errorf("%w: more than %d", ErrTooMany, most)
		}
		for i := range page {
			all = append(all, keep(&page[i]))
		}
	}
	slices.SortFunc(all, func(a, b kept) int {
		return cmp.Or(cmp.Compare(a.placed, b.placed), cmp.Compare(a.user, b.user))
	})
	return all, nil
}

func keep(order *redisx.Order) kept {
	k := kept{placed: order.Placed.UnixMilli(), user: order.User}
	for i, item := range order.Items[:min(len(order.Items), redisx.CartMax)] {
		k.foods[i], k.counts[i] = uint32(item.Food), uint8(item.Count)
	}
	return k
}

func (k *kept) order() redisx.Order {
	order := redisx.Order{User: k.user, Placed: time.UnixMilli(k.placed).UTC()}
	for i, food := range k.foods {
		if food > 0 {
			order.Items = append(order.Items, redisx.Item{Food: int64(food), Count: int64(k.counts[i])})
		}
	}
	return order
}

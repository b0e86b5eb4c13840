package orderstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// Now returns what held orders of the stream are now, each once. One that was released, and is not in the
// stream for that yet, is left out.
func (s *Stream) Now(orders []Order) (list []redisx.Order, err error) {
	live, ended := make([][]byte, len(orders)), make([][]byte, len(orders))
	x := pipeline.NewCall()
	for i, o := range orders {
		x.Command(&radix.Maybe{Rcv: &live[i]}, "GET", s.keys.Order(o.User))
		x.Command(&radix.Maybe{Rcv: &ended[i]}, "HGET", s.keys.Released, endedField(o.User, o.Hold.Number))
	}
	if err := s.do(x); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, o := range orders {
		for _, value := range [][]byte{live[i], ended[i]} {
			if value == nil {
				continue
			}
			order, err := redisx.ParseOrder(o.User, value, s.foods)
			if err != nil {
				return nil, fmt.Errorf("order of user %d: %w", o.User, err)
			}
			if field := endedField(o.User, order.Hold.Number); !seen[field] {
				seen[field] = true
				list = append(list, order)
			}
		}
	}
	return list, nil
}

// Find returns the orders that an order's id may mean: those of its user, live or released.
func Find(ctx context.Context, cfg redisx.Config, id string, foods int) ([]redisx.Order, error) {
	sale, user, number, ok := redisx.ParseOrderID(id)
	if !ok {
		return nil, nil
	}
	slice := cfg.SliceOf(user)
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s := &Stream{link: l, cfg: cfg, keys: cfg.KeysOf(sale, slice), foods: foods}
	return s.Now([]Order{{Order: redisx.Order{User: user, Hold: redisx.Hold{Number: number}}}})
}

// endedField is the field of an order that was released.
func endedField(user uint32, number int) string {
	return strconv.FormatUint(uint64(user), 10) + "-" + strconv.Itoa(number)
}

// Released calls visit with the orders of a sale that were released, some at a time. The error of visit ends
// it.
func Released(
	ctx context.Context, cfg redisx.Config, sale string, foods int, visit func([]redisx.Order) error,
) error {
	for slice := range cfg.SliceCount() {
		if err := releasedOf(ctx, cfg, cfg.KeysOf(sale, slice).Released, slice, foods, visit); err != nil {
			return err
		}
	}
	return nil
}

func releasedOf(
	ctx context.Context, cfg redisx.Config, key string, slice, foods int, visit func([]redisx.Order) error,
) error {
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return err
	}
	defer l.Close()
	for cursor := "0"; ; {
		var fields []string
		x := pipeline.Command(&radix.Tuple{&cursor, &fields}, "HSCAN", key, cursor, "COUNT",
			strconv.Itoa(redisx.ScanCount))
		if err := l.Do(x, max(cfg.Timeout, timeout)); err != nil {
			return err
		}
		var orders []redisx.Order
		for i := 0; i+1 < len(fields); i += 2 {
			user, _, isOrder := strings.Cut(fields[i], "-")
			id, err := strconv.ParseUint(user, 10, 32)
			if err != nil || !isOrder {
				continue // how many orders a user has had
			}
			order, err := redisx.ParseOrder(uint32(id), []byte(fields[i+1]), foods)
			if err != nil {
				return fmt.Errorf("order %s: %w", fields[i], err)
			}
			orders = append(orders, order)
		}
		if err := visit(orders); err != nil || cursor == "0" {
			return err
		}
	}
}

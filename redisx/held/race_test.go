package held

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx"
)

// lookAtHolds is a script that reads all orders at one moment and compares them with the stock: for each
// food pieces left + of all orders, then pieces that count as held less those of orders that are not paid,
// then the number of orders that is counted less that of the orders that are there, then orders both there
// and released.
const lookAtHolds = `
local all, held, orders, both = {}, {}, 0, 0
for _, key in ipairs(redis.call('KEYS', 'o_*')) do
  local value = redis.call('GET', key)
  local items, state, number = string.match(value, '^([^|]*)|.*\n(%S+) (%d+) %d+ %d+ %S+$')
  orders = orders + 1
  both = both + redis.call('HEXISTS', KEYS[2], string.sub(key, 3) .. '-' .. number)
  for food, count in string.gmatch(items, '(%d+):(%d),') do
    all[food] = (all[food] or 0) + count
    if state ~= 'paid' then held[food] = (held[food] or 0) + count end
  end
end
local result = {}
for food = 1, tonumber(ARGV[1]) do
  local id = tostring(food)
  local left, counted = unpack(redis.call('HMGET', KEYS[1], id, '~' .. id))
  result[#result + 1] = left + (all[id] or 0) .. ' ' .. (counted or 0) - (held[id] or 0)
end
local counted = redis.call('HGET', KEYS[1], 'orders') or 0
return table.concat(result, ',') .. ', ' .. counted - orders .. ' ' .. both`

// While buyers order over several connections, give back, pay in time and too late, and several workers
// sweep, nothing is oversold or lost at any look, and no order is both there and released. Each late payment
// is an order's or due to be given back.
func TestNeverOversoldWithHolds(t *testing.T) {
	onEach(t, func(t *testing.T, cfg redisx.Config) {
		const buyers, rounds, sweepers, looks = 8, 12, 3, 30
		stock := []int64{9, 4, 30}
		s := newStand(t, cfg, stock...)
		want := fmt.Sprintf("%d 0,%d 0,%d 0, 0 0", stock[0], stock[1], stock[2])
		look := func() {
			var found string
			s.raw(&found, "EVAL", lookAtHolds, "2", s.keys.Stock, s.keys.Released, fmt.Sprint(len(stock)))
			if found != want {
				t.Errorf("stock and orders: %s, want %s", found, want)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var sweeping, racing sync.WaitGroup
		for range sweepers {
			orders := New(cfg, s.orders.sale, len(stock))
			testkit.Background(t, orders.Run)
			sweeping.Go(func() {
				for ctx.Err() == nil {
					if _, err := orders.Release(0); err != nil && !errors.Is(err, redisx.ErrUnavailable) {
						t.Error(err)
					}
				}
			})
		}
		for i := range buyers {
			sale := redisx.Join(cfg, s.orders.sale, len(stock), usersMax)
			testkit.Background(t, sale.Run)
			own := *s
			own.sale, own.carts = sale, (i+1)*1_000_000
			testkit.Until(t, "connected", func() bool { return own.buy(usersMax, nil) == redisx.ErrCartEmpty })
			racing.Go(func() { own.race(rand.New(rand.NewPCG(uint64(i), 3)), uint32(2+i/2), rounds, i) })
		}
		racing.Go(func() {
			for range looks {
				look()
			}
		})
		racing.Wait()
		stop()
		sweeping.Wait()
		look()
		s.checkSettled(t)
	})
}

// race orders for a user again and again, beside another buyer of the same user, and ends each order in some
// way.
func (s *stand) race(dice *rand.Rand, user uint32, rounds, buyer int) {
	for round := range rounds {
		items := []redisx.Item{{Food: 1 + int64(dice.IntN(3)), Count: 1 + int64(dice.IntN(2))}}
		id, err := s.place(user, items)
		if err != nil {
			for _, known := range []error{redisx.ErrHasOrder, redisx.ErrOutOfStock, redisx.ErrReleased} {
				if errors.Is(err, known) {
					err = nil
				}
			}
			testkit.Must(s, err)
			continue
		}
		payment := fmt.Sprintf("p%d-%d", buyer, round)
		pay := func() {
			_, err := s.orders.Paid(id, Receipt{Payment: payment, Amount: 5, Items: items, Price: 5})
			testkit.Must(s, err)
		}
		expire := func() { s.raw(nil, "ZADD", s.keys.Holds, "XX", "1", fmt.Sprint(user)) }
		switch dice.IntN(5) {
		case 0:
			pay()
		case 1:
			if _, _, err := s.orders.Cancel(id, "", ByBuyer); err != nil && !errors.Is(err, ErrNone) {
				s.Error(err)
			}
		case 2:
			expire()
		case 3: // at the same moment
			expire()
			pay()
		case 4: // late, and told twice
			expire()
			testkit.Until(s, "released", func() bool {
				o, err := s.orders.Find(id)
				testkit.Must(s, err)
				return o.Hold.State != redisx.Held
			})
			pay()
			pay()
		}
	}
}

// checkSettled compares each payment with the orders: those that were made are of a paid order, or due.
func (s *stand) checkSettled(t *testing.T) {
	t.Helper()
	var fields []string
	s.raw(&fields, "HGETALL", s.keys.Payments)
	var due []string
	s.raw(&due, "ZRANGE", s.keys.Refunds, "0", "-1")
	made := 0
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i+1])
		if len(f) < 4 {
			continue
		}
		made++
		var user uint32
		var number int
		fmt.Sscan(f[0]+" "+f[1], &user, &number)
		o, err := s.orders.Find(ID{user, number})
		testkit.Must(t, err)
		isDue := f[3] == "refund_due"
		isPaid := f[3] == "paid" && o.Hold.State == redisx.Paid && o.Hold.Payment == fields[i]
		if isPaid == isDue {
			t.Errorf("payment %s is %q, its order %+v", fields[i], f, o.Hold)
		}
		for _, payment := range due {
			if payment == fields[i] && !isDue {
				t.Errorf("payment %s is %s and waits to be given back", payment, f[3])
			}
		}
	}
	if made == 0 {
		t.Error("nothing was paid")
	}
}

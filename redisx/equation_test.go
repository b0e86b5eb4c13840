package redisx

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
)

// lookAtAll is a script that reads stock and orders at one moment: pieces left, restocked and sold of each
// food, then the number of orders that was counted and that of the orders that are there.
const lookAtAll = `
local sold, orders, result = {}, 0, {}
for _, key in ipairs(redis.call('KEYS', 'o_*')) do
  orders = orders + 1
  for food, count in string.gmatch(redis.call('GET', key), '(%d+):(%d),') do
    sold[food] = (sold[food] or 0) + count
  end
end
for food = 1, tonumber(ARGV[1]) do
  local two = redis.call('HMGET', KEYS[1], food, '+' .. food)
  result[#result + 1] = table.concat({two[1], two[2] or 0, sold[tostring(food)] or 0}, ' ')
end
return table.concat(result, ',') .. ' ' .. (redis.call('HGET', KEYS[1], 'orders') or 0) .. ' ' .. orders`

// While buyers order on several connections, two for each user, root adds and takes back stock, pauses,
// closes and opens. At every look nothing is oversold, no user has more than one order, and all pieces of
// the beginning and of root are left or sold.
func TestNeverOversold(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) { raceForStock(t, cfg, []int64{60, 5, 0}) })
}

func raceForStock(t *testing.T, cfg Config, stock []int64) {
	const buyers, users, operators, changes, looks = 12, 25, 3, 120, 40
	first := open(t, cfg, stock...)
	sales := []*Sale{first, joinSale(t, cfg, first.ID(), len(stock)), joinSale(t, cfg, first.ID(), len(stock))}
	var racers, root sync.WaitGroup
	for i := range operators {
		root.Go(func() { operate(t, sales[i%len(sales)], uint64(i), changes, len(stock)) })
	}
	for i := range buyers {
		racers.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(i), 1))
			for n := range users {
				user := uint32(2 + i/2*users + n) // the next buyer orders for this user too
				buyWhatever(t, sales[i%len(sales)], dice, user, i*users+n, len(stock))
			}
		})
	}
	racers.Go(func() {
		for range looks {
			checkEquation(t, cfg, first, stock)
		}
	})
	root.Wait()
	// Buyers need not wait for ever.
	if _, err := first.Change(Change{By: "root", State: StateOpen}); err != nil {
		t.Error(err)
	}
	racers.Wait()
	if orders := checkEquation(t, cfg, first, stock); orders == 0 {
		t.Error("nothing was sold: the race proves nothing")
	}
	found, err := first.Snapshot()
	testkit.Must(t, err)
	logged := loggedRestocks(t, first, len(stock))
	for i, restocked := range found.Restocked {
		if logged[i] != restocked {
			t.Errorf("food %d: %d restocked by the log, %d by the stock", i+1, logged[i], restocked)
		}
	}
}

// loggedRestocks adds up what the log tells of each food.
func loggedRestocks(t *testing.T, s *Sale, foods int) []int64 {
	sum := make([]int64, foods)
	for _, e := range logEntries(t, s) {
		if e.What == LogStock {
			sum[e.Food-1] += e.Add
		}
	}
	return sum
}

// operate makes root's changes, in an order that the seed decides.
func operate(t *testing.T, s *Sale, seed uint64, changes, foods int) {
	dice := rand.New(rand.NewPCG(seed, 2))
	for range changes {
		var err error
		if dice.IntN(4) == 0 {
			_, err = s.Change(Change{By: "root", State: []State{StateOpen, StatePaused, StateClosed}[dice.IntN(3)]})
		} else {
			_, _, err = s.Restock(Restock{By: "root", Food: 1 + dice.Int64N(int64(foods)), Add: dice.Int64N(21) - 10})
		}
		if err != nil && !errors.Is(err, ErrOutOfStock) && !errors.Is(err, ErrStateConflict) {
			t.Error(err)
		}
	}
}

// buyWhatever fills a cart and orders it until the answer is final.
func buyWhatever(t *testing.T, s *Sale, dice *rand.Rand, user uint32, number, foods int) {
	cart := cartName(number)
	for range 1 + dice.IntN(CartMax) {
		if err := s.addToCart(user, cart, 1+dice.Int64N(int64(foods)), 1); err != nil {
			t.Error(err)
		}
	}
	for {
		err := s.placeOrder(user, cart, nil)
		switch {
		case errors.Is(err, ErrPaused), errors.Is(err, ErrClosed):
			continue
		case err != nil && !errors.Is(err, ErrOutOfStock) && !errors.Is(err, ErrHasOrder):
			t.Error(err)
		}
		return
	}
}

// checkEquation looks at stock and orders at one moment and returns the number of orders.
func checkEquation(t *testing.T, cfg Config, s *Sale, stock []int64) (orders int) {
	found := rawString(t, cfg, "EVAL", lookAtAll, "1", s.keys.Stock, strconv.Itoa(len(stock)))
	var list []int64
	for text := range strings.FieldsSeq(strings.ReplaceAll(found, ",", " ")) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Errorf("%s: %v", found, err)
			return 0
		}
		list = append(list, n)
	}
	for i, initial := range stock {
		left, restocked, sold := list[3*i], list[3*i+1], list[3*i+2]
		if left < 0 || initial+restocked != left+sold {
			t.Errorf("food %d: %d at the beginning + %d restocked, %d left + %d sold", i+1, initial, restocked,
				left, sold)
		}
	}
	rest := list[3*len(stock):]
	if rest[0] != rest[1] {
		t.Errorf("%d orders were counted, %d are there", rest[0], rest[1])
	}
	return int(rest[1])
}

package redisx

import (
	"errors"
	"sync"
	"testing"

	"flashsale/internal/testkit"
)

// A cart does not grow with the connections that change it at once.
func TestCartStaysShortUnderAttack(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const attackers, tries = 64, 20
		servers := openServers(t, cfg, 3, 9, 9)
		key := "c_" + string(cartName(1))
		var wg sync.WaitGroup
		for i := range attackers {
			wg.Go(func() {
				for n := range tries {
					count := []int64{3, 1, -1}[(i+n)%3]
					err := servers[i%3].addToCart(2, cartName(1), 1+int64(n%2), count)
					if err != nil && !errors.Is(err, ErrOverLimit) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		// The first list, with one change of each server too many, and the items.
		most := len("changesitems") + (3+3)*len("1:3,        ") + len("1:3,2:3,")
		if n := cartBytes(t, cfg, key); n > most {
			t.Errorf("the cart has %d bytes, want at most %d", n, most)
		}
		for food := range int64(2) {
			if err := servers[0].addToCart(2, cartName(1), food+1, -3); err != nil {
				t.Error(err)
			}
		}
		if err := servers[0].placeOrder(2, cartName(1), nil); !errors.Is(err, ErrCartEmpty) {
			t.Errorf("an order with everything taken away: %v, want ErrCartEmpty", err)
		}
	})
}

// What one user holds in Redis is bounded, and others lose nothing.
func TestCartsOfOneUser(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const carts = 200
		s := open(t, cfg, 9, 9)
		testkit.Must(t, s.addToCart(3, []byte("of another user."), 1, 1))
		for i := range carts {
			testkit.Must(t, s.addToCart(2, cartName(i), 1, 1))
		}
		if err := s.orderNothing(); !errors.Is(err, ErrCartEmpty) { // behind all that was sent
			t.Fatal(err)
		}
		var keys []string
		raw(t, cfg, &keys, "KEYS", "c_*")
		if len(keys) != cartsFree+cartsFollowed+1 {
			t.Errorf("%d carts are left, want %d of the one user and 1 of the other",
				len(keys), cartsFree+cartsFollowed)
		}
		wantError(t, "an order of the last cart", s.placeOrder(2, cartName(carts-1), nil), nil)
		wantError(t, "an order of the other user", s.placeOrder(3, []byte("of another user."), nil), nil)
	})
}

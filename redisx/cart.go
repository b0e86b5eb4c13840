package redisx

import "strconv"

// CartMax is how many pieces a cart holds at most, over all foods.
const CartMax = 3

// What cart.lua returns.
const (
	cartDone      = 0
	cartOverLimit = 1
)

// AddToCart adds count pieces of a food to a cart, or takes them away where count is negative; a food never
// falls below 0. The cart begins with its first piece and lives CartTTL after its last change. Errors:
// ErrOverLimit (nothing is changed), ErrUnavailable, ErrSaleGone.
func (s *Sale) AddToCart(user uint32, cart []byte, food, count int64) error {
	// What no cart can change is answered here: Redis is not asked.
	switch {
	case count == 0:
		return nil
	case count > CartMax:
		return ErrOverLimit
	case count < -CartMax:
		count = -CartMax // Lua counts in floating point: beyond 2^53 it would not be exact
	}
	x := newCall()
	x.script = s.carts
	var scratch [40]byte
	x.keys = appendBulk(x.keys, appendCartKey(scratch[:0], cart))
	x.args = appendBulk(x.args, strconv.AppendInt(scratch[:0], food, 10))
	x.args = appendBulk(x.args, strconv.AppendInt(scratch[:0], count, 10))
	switch code, err := s.doCode(user, x); {
	case err != nil:
		return err
	case code == cartDone:
		return nil
	case code == cartOverLimit:
		return ErrOverLimit
	default:
		return unknownCode("cart.lua", code)
	}
}

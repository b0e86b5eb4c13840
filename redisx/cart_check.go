package redisx

import (
	"strconv"

	"flashsale/redisx/pipeline"
)

// What cart_check.lua returns.
const (
	cartDone      = 0
	cartOverLimit = 1
	cartBegan     = 2
)

// check lets cart_check.lua decide about the change. length is where the change ends in the cart's list, 0
// if it was not appended.
func (c *cartChange) check(length int64) {
	var scratch [64]byte
	keys := &c.slice.keys
	x := c.slice.checks.Call().Since(c.begin)
	x.Key(keys.order(scratch[:0], c.user)).Key(keys.cart(scratch[:0], c.cart))
	x.Arg(strconv.AppendInt(scratch[:0], length, 10)).Arg(c.text)
	if err := c.slice.change(x, checked{c}); err != nil {
		c.end(err)
	}
}

// checked reads the result of cart_check.lua.
type checked struct{ *cartChange }

func (c checked) Complete(x *pipeline.Call) {
	code, err := x.Result()
	x.Free()
	switch {
	case err != nil:
		c.end(err)
	case code == cartBegan:
		c.slice.beginCart(c.user, c.cart)
		c.end(nil)
	case code == cartDone:
		c.end(nil)
	case code == cartOverLimit:
		c.end(ErrOverLimit)
	default:
		c.end(pipeline.UnknownCode("cart_check.lua", code))
	}
}

package redisx

import (
	_ "embed" // the script
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

//go:embed cart_check.lua
var cartCheckSource string

var cartCheckScript = pipeline.NewScript(changesSource + cartCheckSource)

// What cart_check.lua returns.
const (
	cartDone      = 0
	cartOverLimit = 1
	cartBegan     = 2
)

// checkChange has cart_check.lua decide about a change that was appended to the cart's list and ends
// there at length, or was not appended (0). Errors: as of AddToCart.
func (s *Sale) checkChange(begin time.Time, user uint32, cart, change []byte, length int64) error {
	var scratch [64]byte
	x := s.checks.Call().Since(begin)
	x.Key(appendOrderKey(scratch[:0], user)).Key(appendCartKey(scratch[:0], cart))
	x.Arg(strconv.AppendInt(scratch[:0], length, 10)).Arg(change)
	code, err := s.change(x)
	switch {
	case err != nil:
		return err
	case code == cartBegan:
		s.beginCart(user, cart)
		return nil
	case code == cartDone:
		return nil
	case code == cartOverLimit:
		return ErrOverLimit
	}
	return unknownCode("cart_check.lua", code)
}

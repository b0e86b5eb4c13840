package redisx

import (
	"strconv"
	"sync"
	"time"

	"flashsale/redisx/pipeline"
)

// CartMax is the largest number of pieces in a cart, over all foods. The scripts get it as an argument.
const CartMax = 3

// order.lua takes up to three foods of a cart: with a larger limit this does not compile.
const _ = uint(3 - CartMax)

// AddToCart adds count pieces of a food to a cart of the user; a negative count takes pieces away, but not
// below 0. The cart begins with its first piece and lives for CartTTL from then on. A cart that is ordered
// at the same moment stays as it is. Outcome: nil, ErrOverLimit (nothing is changed), ErrUnavailable,
// ErrSaleGone.
func (s *Sale) AddToCart(user uint32, cart []byte, food, count int64, then Outcome) {
	// Two outcomes are the same for every cart, so Redis is not asked.
	switch {
	case count == 0:
		then.Done(nil)
		return
	case count > int64(s.list.cartMax):
		then.Done(ErrOverLimit)
		return
	}
	c := s.newCartChange(user, cart, then)
	c.text = s.list.appendChange(c.text[:0], food, count)
	if c.appends = s.changing.enter(c.cart); c.appends {
		c.append()
	} else {
		c.check(0)
	}
}

// cartChange is a change of a cart under way.
type cartChange struct {
	slice   *slice
	user    uint32
	cart    []byte // its name
	text    []byte // the change in the form of the cart's list
	then    Outcome
	appends bool      // the cart is marked in Sale.changing
	begin   time.Time // all steps together are answered within the timeout
}

var cartChanges = sync.Pool{New: func() any { return &cartChange{} }}

func (s *Sale) newCartChange(user uint32, cart []byte, then Outcome) *cartChange {
	c := cartChanges.Get().(*cartChange)
	c.slice, c.user, c.then, c.begin = s.of(user), user, then, time.Time{}
	c.cart = append(c.cart[:0], cart...)
	return c
}

// end reports the outcome.
func (c *cartChange) end(err error) {
	if c.appends {
		c.slice.sale.changing.leave(c.cart)
	}
	then := c.then
	c.slice, c.then = nil, nil
	cartChanges.Put(c)
	then.Done(err)
}

// append appends the change to the cart's list. A plain APPEND costs Redis less than a script that reads and
// writes the cart.
func (c *cartChange) append() {
	var scratch [64]byte
	x := pipeline.NewCall().Integer("APPEND", c.slice.keys.cart(scratch[:0], c.cart), c.text)
	if err := c.slice.change(x, appended{c}); err != nil {
		c.end(err)
	}
}

// appended checks the length of the list after the change.
type appended struct{ *cartChange }

func (c appended) Complete(x *pipeline.Call) {
	length, err := x.Result()
	c.begin = x.Begin()
	x.Free()
	switch {
	case err != nil:
		c.end(err)
	case length == int64(len(c.text)):
		c.slice.expireCart(c.cart)
		c.slice.beginCart(c.user, c.cart)
		c.end(nil)
	case length == pipeline.WrongType: // a settled cart
		c.check(0)
	case c.slice.sale.list.fits(length):
		c.end(nil)
	default:
		c.check(length)
	}
}

// expireCart gives a new cart its lifetime. If the connection loses the command, an abandoned cart of some
// bytes stays in Redis.
func (x *slice) expireCart(cart []byte) {
	var scratch [64]byte
	x.changes.Detach(pipeline.NewCall().Integer("EXPIRE", x.keys.cart(scratch[:0], cart), x.sale.lifetime))
}

// beginCart counts a new cart of the user and deletes the oldest one if the user has too many.
func (x *slice) beginCart(user uint32, cart []byte) {
	oldest := x.sale.begun.add(user, cart)
	if len(oldest) == 0 {
		return
	}
	var scratch [64]byte
	x.changes.Detach(pipeline.NewCall().Integer("UNLINK", x.keys.cart(scratch[:0], []byte(oldest))))
}

// changeList is the format of a cart's list of changes, which cart_rules.lua reads. A change that adds
// pieces is padded with spaces to changeBytes for each piece. So a short list never asks for more than
// cartMax pieces, and most carts need not be read.
type changeList struct {
	cartMax     int // CartMax, except in tests
	changeBytes int // length of a change that adds one piece
	plainBytes  int // a list up to this length cannot ask for more than cartMax pieces
}

func newChangeList(foods, cartMax int) changeList {
	changeBytes := len(strconv.Itoa(foods)) + len(":1,")
	return changeList{cartMax: cartMax, changeBytes: changeBytes, plainBytes: cartMax * changeBytes}
}

// appendChange appends a change of count pieces of a food, at most cartMax.
func (l changeList) appendChange(dst []byte, food, count int64) []byte {
	count = max(count, -int64(l.cartMax)) // one digit; a cart never has more to take away
	stop := len(dst) + l.changeBytes*int(max(count, 1))
	dst = strconv.AppendInt(dst, food, 10)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, count, 10)
	dst = append(dst, ',')
	for len(dst) < stop {
		dst = append(dst, ' ')
	}
	return dst
}

// fits reports whether a list of this length cannot ask for more than cartMax pieces.
func (l changeList) fits(length int64) bool { return length <= int64(l.plainBytes) }

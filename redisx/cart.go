package redisx

import (
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// CartMax is the largest number of pieces in a cart, over all foods: 1 to 9. The scripts get it as an
// argument.
const CartMax = 3

// AddToCart adds count pieces of a food to a cart of the user, or takes them away where count is
// negative; a food never falls below 0. The cart begins with its first piece and lives CartTTL from then
// on. A cart that is ordered at the same moment stays as it is. Errors: ErrOverLimit (nothing is
// changed), ErrUnavailable, ErrSaleGone.
func (s *Sale) AddToCart(user uint32, cart []byte, food, count int64) error {
	// Two outcomes are the same for every cart: Redis is not asked.
	switch {
	case count == 0:
		return nil
	case count > int64(s.list.cartMax):
		return ErrOverLimit
	}
	var scratch [64]byte
	change := s.list.appendChange(scratch[:0], food, count)
	begin := time.Now() // both steps together are answered within the timeout
	if !s.changing.enter(cart) {
		return s.checkChange(begin, user, cart, change, 0)
	}
	defer s.changing.leave(cart)
	length, err := s.appendToCart(begin, cart, change)
	switch {
	case err != nil:
		return err
	case length == int64(len(change)):
		s.expireCart(cart)
		s.beginCart(user, cart)
		return nil
	case length == pipeline.WrongType: // a settled cart
		return s.checkChange(begin, user, cart, change, 0)
	case s.list.fits(length):
		return nil
	}
	return s.checkChange(begin, user, cart, change, length)
}

// appendToCart returns the length of the cart's list with the change, or pipeline.WrongType. A plain
// APPEND takes less of Redis than a script that reads and writes the cart.
func (s *Sale) appendToCart(begin time.Time, cart, change []byte) (length int64, err error) {
	var scratch [64]byte
	key := appendCartKey(scratch[:0], cart)
	return s.change(pipeline.NewCall().Since(begin).Integer("APPEND", key, change))
}

// expireCart gives a new cart its lifetime. If the command is lost with the connection, an abandoned cart
// of some bytes stays in Redis.
func (s *Sale) expireCart(cart []byte) {
	var scratch [64]byte
	s.redis.Detach(pipeline.NewCall().Integer("EXPIRE", appendCartKey(scratch[:0], cart), s.lifetime))
}

// beginCart counts a new cart of the user and drops the oldest one where the user has too many.
func (s *Sale) beginCart(user uint32, cart []byte) {
	oldest := s.begun.add(user, cart)
	if len(oldest) == 0 {
		return
	}
	var scratch [64]byte
	s.redis.Detach(pipeline.NewCall().Integer("UNLINK", appendCartKey(scratch[:0], []byte(oldest))))
}

// changeList is how the list of changes of a cart is written, which changes.lua reads. A change that adds
// pieces is padded with spaces to changeBytes for each of them. So the length of a list alone shows that
// its changes never asked for more than cartMax pieces: most carts need not be read.
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

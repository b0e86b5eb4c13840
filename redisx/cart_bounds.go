package redisx

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// changing marks the carts to which this process is appending. When several calls change one cart at the
// same moment, one of them appends, and cart_check.lua decides the others: it appends only what fits. So
// each process can make a cart's list too long by one change at most, with any number of connections. Two
// carts may share a mark: then one of them takes the script too. The zero value is ready.
type changing struct {
	marks [1 << 10]atomic.Uint64 // a bit for each of 65,536 marks: 8 KB, and few are set at once
}

var changingSeed = maphash.MakeSeed()

func (c *changing) mark(cart []byte) (word *atomic.Uint64, bit uint64) {
	hash := maphash.Bytes(changingSeed, cart)
	return &c.marks[hash>>6%uint64(len(c.marks))], 1 << (hash % 64)
}

// enter reports whether the caller may append to the cart; if so, it must leave the cart afterwards.
func (c *changing) enter(cart []byte) bool {
	word, bit := c.mark(cart)
	return word.Or(bit)&bit == 0
}

func (c *changing) leave(cart []byte) {
	word, bit := c.mark(cart)
	word.And(^bit)
}

const (
	cartsFree     = 16 // carts of a user that are only counted
	cartsFollowed = 16 // later carts of a user that are remembered, to drop the oldest for the next
)

// begunCarts bounds the carts that a user holds in Redis through one process: the first cartsFree, which
// end with their lifetime, and the last cartsFollowed. A user who begins more loses the oldest of the
// latter. It is safe for concurrent use.
type begunCarts struct {
	mu       sync.Mutex
	counts   []uint8 // by user: carts begun, up to cartsFree
	followed map[uint32]*recentCarts
}

// recentCarts are the names of the last carts of a user.
type recentCarts struct {
	names [cartsFollowed]string
	next  int // the oldest, which the next cart replaces
}

func newBegunCarts(users int) *begunCarts {
	return &begunCarts{counts: make([]uint8, users+1), followed: map[uint32]*recentCarts{}}
}

// add counts a new cart of the user. It returns the name of the cart to delete for it, "" for none. It
// allocates only for users who begin more than cartsFree carts.
func (b *begunCarts) add(user uint32, cart []byte) (oldest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if int(user) < len(b.counts) && b.counts[user] < cartsFree {
		b.counts[user]++
		return ""
	}
	recent := b.followed[user]
	if recent == nil {
		recent = &recentCarts{}
		b.followed[user] = recent
	}
	oldest = recent.names[recent.next]
	recent.names[recent.next] = string(cart)
	recent.next = (recent.next + 1) % cartsFollowed
	return oldest
}

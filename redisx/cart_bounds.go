package redisx

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// changing marks the carts to which this process is appending. When several calls change one cart at the
// same moment, one call appends, and cart_check.lua decides the others: it appends only changes that fit. So
// each process can make a cart's list too long by one change at most. Two carts may share a mark: then the
// script decides for one of them too. The zero value is ready.
type changing struct {
	marks [1 << 10]atomic.Uint64 // 65,536 marks, a bit each: 8 KB, and few are set at once
}

var changingSeed = maphash.MakeSeed()

func (c *changing) mark(cart []byte) (word *atomic.Uint64, bit uint64) {
	hash := maphash.Bytes(changingSeed, cart)
	return &c.marks[hash>>6%uint64(len(c.marks))], 1 << (hash % 64)
}

// enter reports whether the caller may append to the cart; if so, the caller must call leave afterwards.
func (c *changing) enter(cart []byte) bool {
	word, bit := c.mark(cart)
	return word.Or(bit)&bit == 0
}

func (c *changing) leave(cart []byte) {
	word, bit := c.mark(cart)
	word.And(^bit)
}

const (
	cartsFree     = 16 // first carts of a user, which are only counted
	cartsFollowed = 16 // later carts of a user, of which the next cart replaces the oldest
)

// begunCarts limits the carts that a user holds in Redis through one process: the first cartsFree, which end
// with their lifetime, and the last cartsFollowed. A further cart replaces the oldest of the latter. It is
// safe for concurrent use.
type begunCarts struct {
	mu       sync.Mutex
	users    Users
	counts   []uint8 // by the user's place: carts begun, up to cartsFree
	followed map[uint32]*recentCarts
}

// recentCarts are the names of the last carts of a user.
type recentCarts struct {
	names [cartsFollowed]string
	next  int // the oldest, which the next cart replaces
}

func newBegunCarts(users Users) *begunCarts {
	return &begunCarts{users: users, counts: make([]uint8, users.Places()), followed: map[uint32]*recentCarts{}}
}

// add counts a new cart of the user. It returns the name of the cart that the new cart replaces, "" for
// none. It allocates only for users who begin more than cartsFree carts.
func (b *begunCarts) add(user uint32, cart []byte) (oldest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if place := b.users.Place(user); place >= 0 && b.counts[place] < cartsFree {
		b.counts[place]++
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

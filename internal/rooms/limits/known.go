package limits

import (
	"math/bits"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"flashsale/internal/serve/listener"
	"flashsale/redisx/pipeline"
)

const (
	knownEach  = 4  // networks that are remembered of a user
	knownUsers = 32 // users of a key: with knownEach the most fields that Redis keeps in its short form
	knownCells = knownEach * knownUsers
	knownFor   = 30 * 24 * time.Hour // after the last new network of a user of the key
)

// known is the networks from which users have logged in: a tag of 32 bits in one of knownEach cells of the
// user, which the tag chooses. A login from a known network costs a load, from a new one two stores; new
// networks go to Redis within watchPace. It is safe for concurrent use.
type known struct {
	cells []atomic.Uint32 // a tag, or 0
	fresh []atomic.Uint32 // a bit for each cell that Redis does not have yet
}

// newKnown makes a known of users 1 to users.
func newKnown(users int) *known {
	keys := users/knownUsers + 1
	return &known{make([]atomic.Uint32, keys*knownCells), make([]atomic.Uint32, keys*knownCells/32)}
}

// tagOf is FNV-1a of the address's network. An attacker in a network with the same tag only saves a wait of
// some seconds.
func tagOf(address netip.Addr) uint32 {
	hash := uint32(2166136261)
	for _, b := range listener.Subscriber(address).As16() {
		hash = (hash ^ uint32(b)) * 16777619
	}
	return max(hash, 1)
}

// cell returns the place of a tag, -1 for a user whom the catalogue did not have at the start.
func (k *known) cell(user uint32, tag uint32) int {
	if i := int(user)*knownEach + int(tag%knownEach); i < len(k.cells) {
		return i
	}
	return -1
}

func (k *known) has(user uint32, address netip.Addr) bool {
	tag := tagOf(address)
	i := k.cell(user, tag)
	return i >= 0 && k.cells[i].Load() == tag
}

// add remembers a login. It does not allocate.
func (k *known) add(user uint32, address netip.Addr) {
	tag := tagOf(address)
	i := k.cell(user, tag)
	if i < 0 || k.cells[i].Load() == tag {
		return
	}
	k.cells[i].Store(tag)
	k.fresh[i/32].Or(1 << (i % 32))
}

// LoggedIn remembers a login of a user, so that guesses from elsewhere do not slow down the next login from
// there. It does not wait and does not allocate.
func (l *Limiter) LoggedIn(user uint32, address netip.Addr) {
	if l.rules.Load().guards {
		l.known.add(user, address)
	}
}

// tellKnown sends new networks to Redis.
func (l *Limiter) tellKnown() {
	const words = knownCells / 32
	for key := range len(l.known.cells) / knownCells {
		args := []string{}
		for word := range words {
			for fresh := l.known.fresh[key*words+word].Swap(0); fresh != 0; fresh &= fresh - 1 {
				i := word*32 + bits.TrailingZeros32(fresh)
				args = append(args, strconv.Itoa(i), strconv.Itoa(int(l.known.cells[key*knownCells+i].Load())))
			}
		}
		if len(args) > 0 {
			name := knownPrefix + strconv.Itoa(key)
			l.conn.Detach(pipeline.Command(new(int64), append([]string{"HSET", name}, args...)...).
				Command(new(int64), "PEXPIRE", name, text(knownFor)))
		}
	}
}

// hearDoubted reads the networks of users who were refused since the last time.
func (l *Limiter) hearDoubted() {
	for range len(l.doubted) {
		_ = l.hearKnown(<-l.doubted) // after an error a client that obeys Retry-After still gets in
	}
}

// hearKnown reads the networks of a user from Redis. What is new here stays.
func (l *Limiter) hearKnown(user uint32) error {
	first := l.known.cell(user, 0)
	if first < 0 {
		return nil
	}
	var tags []string
	args := []string{"HMGET", knownPrefix + strconv.Itoa(first/knownCells)}
	for i := range knownEach {
		args = append(args, strconv.Itoa(first%knownCells+i))
	}
	if err := l.conn.Do(pipeline.Command(&tags, args...)); err != nil {
		return err
	}
	for i, text := range tags {
		tag, err := strconv.ParseUint(text, 10, 32)
		at := first + i
		if err == nil && l.known.fresh[at/32].Load()&(1<<(at%32)) == 0 {
			l.known.cells[at].Store(uint32(tag))
		}
	}
	return nil
}

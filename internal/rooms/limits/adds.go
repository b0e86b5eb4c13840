package limits

import (
	"sync/atomic"
	"time"

	"flashsale/redisx"
)

// Adds bounds the changes to carts of each user and minute in this process, without Redis: one user cannot
// fill its memory with carts. All workers together let at most their number times the bound through. It is
// safe for concurrent use and does not allocate.
type Adds struct {
	most   uint32
	users  redisx.Users
	counts []atomic.Uint64 // by place: the minute, and below it 32 bits with the number of changes in it
}

// NewAdds makes Adds for users; most is the bound for a minute of the clock. It returns nil, which lets all
// pass, where that is 0.
func NewAdds(users redisx.Users, most int) *Adds {
	if most == 0 {
		return nil
	}
	return &Adds{most: uint32(most), users: users, counts: make([]atomic.Uint64, users.Places())}
}

// Add counts a change. It returns how long the user must wait, 0 if the change may pass.
func (a *Adds) Add(user uint32, now time.Time) (wait time.Duration) {
	counter := a.counter(user)
	if counter == nil {
		return 0
	}
	for {
		old := counter.Load()
		next := counted(old, now)
		if wait := a.wait(next, now); wait > 0 || counter.CompareAndSwap(old, next) {
			return wait
		}
	}
}

// Wait is Add without counting.
func (a *Adds) Wait(user uint32, now time.Time) (wait time.Duration) {
	counter := a.counter(user)
	if counter == nil {
		return 0
	}
	return a.wait(counted(counter.Load(), now), now)
}

// counter is the counter of a user, nil where no bound is.
func (a *Adds) counter(user uint32) *atomic.Uint64 {
	if a == nil {
		return nil
	}
	place := a.users.Place(user)
	if place < 0 {
		return nil
	}
	return &a.counts[place]
}

// counted returns a user's counter with one change more.
func counted(old uint64, now time.Time) (next uint64) {
	minute := uint64(now.Unix() / 60)
	// A request may bring a time of the minute before: it counts in the new one.
	if old>>32 != minute && old>>32 != minute+1 {
		return minute<<32 | 1
	}
	return old + 1
}

func (a *Adds) wait(next uint64, now time.Time) time.Duration {
	if uint32(next) <= a.most {
		return 0
	}
	return time.Unix(int64(next>>32+1)*60, 0).Sub(now)
}

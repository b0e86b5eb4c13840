package traffic

import (
	"slices"
	"sync"
)

// sold holds the pieces that were sold.
type sold struct {
	keys []string // of food 1, 2, 3, ...

	mu   sync.Mutex
	seen []soldAt // not flushed yet, one for each minute

	counted []int64 // pieces that Redis has counted; only the flusher uses it
}

// soldAt is all pieces of each food that were sold up to some moment of a minute.
type soldAt struct {
	minute int64
	pieces []int64
}

// SoldKeys sets the keys under which pieces of food 1, 2, 3, ... are counted. It must be called before Run.
func (t *Traffic) SoldKeys(keys []string) {
	if t != nil {
		t.sold.keys, t.sold.counted = keys, make([]int64, len(keys))
	}
}

// Sold takes the pieces of each food that were sold since the sale was opened. New pieces are counted once,
// whichever processes see them. The list is kept and must not change.
func (t *Traffic) Sold(pieces []int64) {
	now := soldAt{t.now().Unix() / 60, pieces}
	s := &t.sold
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.seen); n > 0 && s.seen[n-1].minute == now.minute {
		s.seen[n-1] = now
	} else {
		s.seen = append(s.seen, now)
	}
}

// oldest returns the pieces that are to be flushed next, false if no pieces wait.
func (s *sold) oldest() (first soldAt, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return first, false
	}
	return s.seen[0], true
}

// flushed removes the oldest pieces, unless more was sold in that minute meanwhile.
func (s *sold) flushed(first soldAt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.seen[0].pieces, first.pieces) {
		s.seen = s.seen[1:]
	}
}

// flushSold sends the pieces that were sold and reports whether all are counted.
func (t *Traffic) flushSold() bool {
	for {
		first, found := t.sold.oldest()
		if !found {
			return true
		}
		if !t.sendSold(first) {
			return false
		}
		t.sold.flushed(first)
	}
}

// sendSold sends the pieces that were sold up to a moment and reports whether they are counted.
func (t *Traffic) sendSold(now soldAt) bool {
	s := &t.sold
	args := t.hitsArgs([]int64{now.minute})
	own := len(args)
	send := func() bool {
		var counted int64
		x := soldScript.Call(&counted, []string{stateKey, namesKey, soldPrefix + t.cfg.Sale}, args...)
		return t.send(x) == 1
	}
	for i, pieces := range now.pieces {
		if pieces > s.counted[i] {
			args = append(args, s.keys[i], itoa(pieces))
		}
		if len(args) == own+2*chunkHits {
			if !send() {
				return false
			}
			args = args[:own]
		}
	}
	if len(args) > own && !send() {
		return false
	}
	copy(s.counted, now.pieces)
	return true
}

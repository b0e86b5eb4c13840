package push

import (
	"sync"

	"github.com/centrifugal/centrifuge"
)

const (
	recoveryMax    = 512 << 10 // bytes of messages in a recovery; a client that misses more fetches the history
	recoverySmall  = 16 << 10  // a recovery of no more needs no place
	recoveriesMax  = 64        // of those that need one, at once
	userRecoveries = 4         // of them of one user
)

// recoveries are the places of those under way that send much: each is in memory until the client has read
// it, so they do not all run at once.
type recoveries struct {
	mu    sync.Mutex
	taken int
	users map[uint32]int
}

func (r *recoveries) take(user uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken >= recoveriesMax || r.users[user] >= userRecoveries {
		return false
	}
	r.taken++
	r.users[user]++
	return true
}

func (r *recoveries) leave(user uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken--
	if r.users[user]--; r.users[user] == 0 {
		delete(r.users, user)
	}
}

// beginRecovery takes a place for the recovery that a subscription asks for. Without one the client asks
// again some time later, by itself.
func (s *Server) beginRecovery(c *centrifuge.Client, own *session, thread string) error {
	if own.position == nil {
		return nil
	}
	v, err := s.page(thread, centrifuge.HistoryFilter{Limit: centrifuge.NoLimit, Since: own.position})
	if err != nil || bytesOf(v.messages) <= recoverySmall {
		return protocolError(err)
	}
	if !s.recoveries.take(own.user) {
		return centrifuge.ErrorTooManyRequests
	}
	own.recovers.Store(true)
	if c.Context().Err() != nil { // its end did not see the place
		s.endRecovery(own)
	}
	return nil
}

// endRecovery gives the place back, if there is one.
func (s *Server) endRecovery(own *session) {
	if own.recovers.Swap(false) {
		s.recoveries.leave(own.user)
	}
}

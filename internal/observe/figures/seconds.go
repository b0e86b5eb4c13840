package figures

import "sync/atomic"

// SecondsMax is the number of seconds that Seconds keeps.
const SecondsMax = 600

// Seconds has a number for each of the last seconds.
type Seconds [SecondsMax]atomic.Uint64 // the second in the upper half, so that old numbers do not count

// Set sets the number of a second, Unix time.
func (s *Seconds) Set(second int64, n uint32) {
	s.of(second).Store(uint64(uint32(second))<<32 | uint64(n))
}

// At is the number of a second. ok is false where it was not set, or too long ago.
func (s *Seconds) At(second int64) (n uint32, ok bool) {
	entry := s.of(second).Load()
	if uint32(entry>>32) != uint32(second) {
		return 0, false
	}
	return uint32(entry), true
}

func (s *Seconds) of(second int64) *atomic.Uint64 { return &s[uint64(second)%SecondsMax] }

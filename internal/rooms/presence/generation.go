package presence

import "time"

// generation is a cache by user that is emptied when its time is over or when it is full: what it has is
// never older than its period.
type generation[V any] struct {
	period time.Duration
	most   int

	end    time.Time
	values map[uint32]V
}

// current returns the values that may be used now, and to which more may be added.
func (g *generation[V]) current(now time.Time) map[uint32]V {
	if !now.Before(g.end) || len(g.values) >= g.most {
		g.values, g.end = map[uint32]V{}, now.Add(g.period)
	}
	return g.values
}

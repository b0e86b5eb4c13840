package status

import "flashsale/internal/observe/figures"

// server is one server and what its metrics were lately.
type server struct {
	address string
	now     *reading // the last one
	before  *reading // the reading before, nil at first and after a start of the server
	err     error    // why the server could not be read now
}

// add keeps a reading, and the reading before it.
func (s *server) add(r *reading, err error) {
	if s.err = err; err != nil {
		return
	}
	s.before, s.now = s.now, r
	if s.before != nil && s.before.sum(figures.StartTime) != r.sum(figures.StartTime) {
		s.before = nil
	}
}

// well reports whether the server answers, and its Redis.
func (s *server) well() bool { return s.err == nil && s.now.sum(figures.RedisUp) > 0 }

// perSecond is how fast the values of a counter have grown since the reading before, by their first label.
// It is empty without that reading.
func (s *server) perSecond(f *figures.Family) map[string]float64 {
	if s.before == nil {
		return nil
	}
	rates, old := s.now.by(f), s.before.by(f)
	for label := range rates {
		rates[label] = (rates[label] - old[label]) / s.now.at.Sub(s.before.at).Seconds()
	}
	return rates
}

// rate is perSecond of all values together.
func (s *server) rate(f *figures.Family) (sum float64) {
	for _, n := range s.perSecond(f) {
		sum += n
	}
	return sum
}

// lately are the values of a histogram since the reading before.
func (s *server) lately(f *figures.Family) figures.Histogram {
	if s.before == nil {
		return figures.Histogram{}
	}
	return figures.Merge(s.now.values[f]).Since(figures.Merge(s.before.values[f]))
}

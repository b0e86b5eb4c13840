package status

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// windowMax is the longest window of a condition.
const windowMax = 3 * time.Minute

// server is one server and what its metrics were lately.
type server struct {
	address  string
	readings []*reading // the last is of now, if err is nil; as old as windowMax
	err      error      // why it could not be read now
}

// add keeps a reading, and drops those that no condition looks at any more.
func (s *server) add(r *reading, err error) {
	if s.err = err; err != nil {
		return
	}
	s.readings = append(s.readings, r)
	old := slices.IndexFunc(s.readings, func(one *reading) bool { return r.at.Sub(one.at) <= windowMax })
	s.readings = s.readings[old:]
}

// now is the last reading.
func (s *server) now() *reading { return s.readings[len(s.readings)-1] }

// since is the oldest reading of a window. One from before a restart does not count, nor does the only one:
// then it is nil.
func (s *server) since(window time.Duration) *reading {
	now := s.now()
	for _, one := range s.readings[:len(s.readings)-1] {
		if now.at.Sub(one.at) <= window && now.same(one) {
			return one
		}
	}
	return nil
}

// before is the reading before the last one, nil for none of this start.
func (s *server) before() *reading {
	if n := len(s.readings); n > 1 && s.readings[n-2].same(s.now()) {
		return s.readings[n-2]
	}
	return nil
}

// increase is by how much each series of a counter, by the value of a label, has grown from a reading to
// now. It is empty without one to compare with.
func (s *server) increase(from *reading, name, label string) map[string]float64 {
	if from == nil {
		return nil
	}
	grown, old := s.now().by(name, label), from.by(name, label)
	for key := range grown {
		grown[key] -= old[key]
	}
	return grown
}

// grown is increase of all series together.
func (s *server) grown(from *reading, name string) float64 { return total(s.increase(from, name, "")) }

// seconds is the time from a reading to now.
func (s *server) seconds(from *reading) float64 {
	if from == nil {
		return math.Inf(1)
	}
	return s.now().at.Sub(from.at).Seconds()
}

// total adds up the values.
func total(counts map[string]float64) (sum float64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// observed are the buckets of a histogram with the values from a reading to now.
func (s *server) observed(from *reading, name string) map[float64]float64 {
	if from == nil {
		return nil
	}
	counts, old := s.now().buckets(name), from.buckets(name)
	for bound := range counts {
		counts[bound] -= old[bound]
	}
	return counts
}

// quantile is the value below which this share of a histogram's values lies: within a bucket they count as
// spread evenly, beyond the last bound as that bound, as Prometheus has it. It is NaN without a value.
func quantile(share float64, buckets map[float64]float64) float64 {
	bounds := slices.Sorted(maps.Keys(buckets))
	if len(bounds) == 0 || buckets[bounds[len(bounds)-1]] == 0 {
		return math.NaN()
	}
	rank := share * buckets[bounds[len(bounds)-1]]
	low, below := 0.0, 0.0
	for _, bound := range bounds {
		if math.IsInf(bound, 1) {
			break
		}
		if count := buckets[bound]; count >= rank && count > below {
			return low + (bound-low)*(rank-below)/(count-below)
		}
		low, below = bound, buckets[bound]
	}
	return low
}

// refused are the answers to buyers in a window that refuse because of the server: 429 and 5xx; answered
// are all.
func (s *server) refused(from *reading) (refused, answered float64) {
	count := func(r *reading, sign float64) {
		r.each("flashsale_requests_total", func(labels map[string]string, n float64) {
			if !slices.Contains(buyersCalls, labels["call"]) {
				return
			}
			answered += sign * n
			if code := labels["code"]; code == "429" || strings.HasPrefix(code, "5") {
				refused += sign * n
			}
		})
	}
	if from != nil {
		count(s.now(), 1)
		count(from, -1)
	}
	return refused, answered
}

package load

import "slices"

const (
	scoreBucketsMin = 3 // one remains without the best and the worst
	scoreTop        = 5
)

// contestScore is the score of the 2015 contest: of the orders placed in each second, the best and the worst
// second are dropped, and the mean of the top five of the rest counts. Fewer than three seconds have no
// score.
func contestScore(seconds []int64) (score float64, ok bool) {
	if len(seconds) < scoreBucketsMin {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(seconds))
	rest := sorted[1 : len(sorted)-1]
	top := rest[max(0, len(rest)-scoreTop):]
	var sum int64
	for _, n := range top {
		sum += n
	}
	return float64(sum) / float64(len(top)), true
}

// BestSecond is the most orders placed in one second.
func BestSecond(seconds []int64) int64 {
	var best int64
	for _, n := range seconds {
		best = max(best, n)
	}
	return best
}

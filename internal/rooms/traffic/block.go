package traffic

import (
	"strconv"
	"time"
)

// blockBuckets is the number of buckets in a block. Redis keeps a hash of so many small fields as one piece
// of memory (hash-max-listpack-entries, 512 by default).
const blockBuckets = 128

// block is the counts of consecutive buckets of a key. Its first bucket has the number number*blockBuckets.
type block struct {
	step   Step
	number int64
}

// member is the block in the index of its key: an integer, because Redis keeps sets of integers small.
func (b block) member() int64 { return b.number*stepCodes + int64(b.step) }

func blockOf(member int64) block { return block{Step(member % stepCodes), member / stepCodes} }

// bounds returns the time from the start of its first bucket to the end of its last one.
func (l *layout) bounds(b block) (start, end time.Time) {
	g := l.grids[b.step]
	return g.start(b.number * blockBuckets), g.start((b.number + 1) * blockBuckets)
}

// run is consecutive buckets of a block that are added up into one bucket of the next tier.
type run struct {
	last   int64 // field of the last of them
	target int64 // number of that bucket
}

// runs returns where the buckets of a block go. Each goes to the bucket in which it starts.
func (l *layout) runs(b block, next Step) (list []run) {
	from, to := l.grids[b.step], l.grids[next]
	for field := range int64(blockBuckets) {
		target := to.number(from.start(b.number*blockBuckets + field))
		if n := len(list); n > 0 && list[n-1].target == target {
			list[n-1].last = field
		} else {
			list = append(list, run{field, target})
		}
	}
	return list
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

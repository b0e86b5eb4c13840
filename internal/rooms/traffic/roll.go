package traffic

import (
	"slices"
	"strconv"

	"flashsale/redisx/pipeline"
)

// frontiers are the first buckets that tiers keep, by step; 0 where a tier keeps all. All servers share them
// in Redis, so that hits and queries agree about them.
type frontiers [stepCodes]int64

// readFrontiers takes them from the fields of the state.
func readFrontiers(state map[string]string) (f frontiers) {
	for s := range f {
		f[s], _ = strconv.ParseInt(state[strconv.Itoa(s)], 10, 64) // 0 if it is missing
	}
	return f
}

// due returns the blocks of an index that are to be added up, the finest step first, and in it the oldest.
// Blocks of a step that is in no tier any more are among them.
func (l *layout) due(index []int64, f frontiers) (list []block) {
	for _, member := range index {
		b := blockOf(member)
		behind := !l.kept(b.step) || (b.number+1)*blockBuckets <= f[b.step]
		if _, found := l.next(b.step); found && behind {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b block) int {
		if a.step != b.step {
			return int(a.step - b.step)
		}
		return int(a.number - b.number)
	})
	return list
}

// roll makes the call that adds up a block of a key into buckets of the next step, once.
func (l *layout) roll(reply *int64, id int64, b block) *pipeline.Call {
	step, _ := l.next(b.step)
	runs := l.runs(b, step)
	first := block{step, runs[0].target / blockBuckets}
	second := block{step, runs[len(runs)-1].target / blockBuckets}
	args := []string{itoa(b.member()), itoa(first.member()), itoa(second.member())}
	for _, r := range runs {
		target := "1"
		if r.target/blockBuckets != first.number {
			target = "2"
		}
		args = append(args, itoa(r.last), target, itoa(r.target%blockBuckets))
	}
	keys := []string{indexKey(id), blockKey(id, b), blockKey(id, first), blockKey(id, second)}
	return rollScript.Call(reply, keys, args...)
}

// rollSome adds up blocks of a key, each in a call of its own, and returns the first error.
func (l *layout) rollSome(redis *pipeline.Conn, id int64, blocks []block) error {
	for _, b := range blocks {
		var buckets int64
		if err := redis.Do(l.roll(&buckets, id, b)); err != nil {
			return err
		}
	}
	return nil
}

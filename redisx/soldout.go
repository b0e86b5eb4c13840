package redisx

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// soldOutMax is the most foods whose time one snapshot notes; the next ones note the rest.
const soldOutMax = 1000

// SoldOutAt returns since when no piece of any food is left; the zero time if that is not known yet. ok is
// false while there are pieces.
func (s *Snapshot) SoldOutAt() (at time.Time, ok bool) {
	if slices.ContainsFunc(s.Left, func(left int64) bool { return left > 0 }) {
		return time.Time{}, false
	}
	for _, since := range s.SoldOut {
		if since.IsZero() {
			return time.Time{}, true
		}
		if since.After(at) {
			at = since
		}
	}
	return at, true
}

// noteSoldOut fills in since when foods are sold out. What the home slice has not noted yet is noted now.
// While a slice does not answer, it may have pieces, and nothing is noted.
func (s *Sale) noteSoldOut(sum *Snapshot, home map[string]string) {
	sum.SoldOut = make([]time.Time, s.foods)
	var noted int64
	var args []string
	for food, left := range sum.Left {
		if left > 0 {
			continue
		}
		id := strconv.Itoa(food + 1)
		if ms := optional(home[soldOutPrefix+id]); ms > 0 {
			sum.SoldOut[food] = timeOf(ms)
			noted++
		} else if len(args) < soldOutMax {
			args = append(args, id)
		}
	}
	if optional(home[soldOutField]) > noted { // only with slices: pieces that were between two slices
		args = append(args, s.notSoldOut(sum, home)...)
	}
	if len(args) == 0 || sum.Slices.Away+sum.Slices.Lost > 0 {
		return
	}
	var since []int64
	x := s.home()
	keys := []string{x.keys.Marker, x.keys.Stock, x.keys.Log}
	call := soldOutScript.Call(&since, keys, append([]string{s.id, strconv.Itoa(s.foods)}, args...)...)
	if err := x.redis.Do(call); err != nil {
		return // the next snapshot notes it
	}
	for i, ms := range since {
		if food := optional(args[i]); food > 0 {
			sum.SoldOut[food-1] = timeOf(ms)
		}
	}
}

// notSoldOut returns the foods that are noted as sold out and have pieces, as below 0 for sold_out.lua.
func (s *Sale) notSoldOut(sum *Snapshot, home map[string]string) (args []string) {
	for field := range home {
		id, noted := strings.CutPrefix(field, soldOutPrefix)
		if food := optional(id); noted && food > 0 && sum.Left[food-1] > 0 {
			args = append(args, "-"+id)
		}
	}
	return args
}

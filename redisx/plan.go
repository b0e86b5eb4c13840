package redisx

import (
	"maps"
	"slices"
)

// Which transfers to make. Nothing here asks Redis: the tests simulate hundreds of slices with this code.

// pair is the two slices of a transfer.
type pair struct{ from, to int }

// planned is a transfer to make.
type planned struct {
	pair
	pieces []piecesOf
	alone  bool // not while the receiver gets pieces from another slice
}

// want is what an order needs in its slice: food, pieces, food, pieces, ...
type want struct {
	slice  int
	pieces []int64
}

// holdings are the pieces of some foods by slice.
type holdings map[int64][]int64

// enough reports whether all slices together have the wanted pieces.
func (h holdings) enough(w want) bool {
	for i := 0; i+1 < len(w.pieces); i += 2 {
		if h.of(w.pieces[i]) < w.pieces[i+1] {
			return false
		}
	}
	return true
}

// of is the pieces of a food in all slices.
func (h holdings) of(food int64) (all int64) {
	for _, left := range h[food] {
		all += left
	}
	return all
}

// clone is a copy.
func (h holdings) clone() holdings {
	other := maps.Clone(h)
	for food, left := range other {
		other[food] = slices.Clone(left)
	}
	return other
}

// need is a food that a slice needs.
type need struct {
	slice int
	food  int64
}

// draft is a plan for orders that wait. It gives each order all its pieces or none, so that two orders
// cannot take pieces from each other for ever.
type draft struct {
	free  holdings // pieces that no order of the draft needs
	needs map[need]int64
	plan  []planned
}

func newDraft(free holdings) *draft { return &draft{free: free, needs: map[need]int64{}} }

// reserve adds an order. It returns false, and changes nothing, if the free pieces are not enough.
func (d *draft) reserve(w want) bool {
	if !d.free.enough(w) {
		return false
	}
	for i := 0; i+1 < len(w.pieces); i += 2 {
		food, missing := w.pieces[i], w.pieces[i+1]
		d.needs[need{w.slice, food}] += missing
		free := d.free[food]
		for from := w.slice; missing > 0; from = richest(free, w.slice) {
			pieces := min(missing, free[from])
			free[from] -= pieces
			missing -= pieces
			if from != w.slice {
				d.move(pair{from, w.slice}, food, pieces)
			}
		}
	}
	return true
}

// move adds pieces to the plan.
func (d *draft) move(p pair, food, pieces int64) {
	i := slices.IndexFunc(d.plan, func(t planned) bool { return t.pair == p })
	if i < 0 {
		i = len(d.plan)
		d.plan = append(d.plan, planned{pair: p})
	}
	t := &d.plan[i]
	k := slices.IndexFunc(t.pieces, func(p piecesOf) bool { return p.food == food })
	if k < 0 {
		t.pieces = append(t.pieces, piecesOf{food: food, pieces: pieces})
		return
	}
	t.pieces[k].pieces += pieces
}

// transfers returns the plan. Where a giver has many pieces, the plan moves more than is needed, so that
// the next orders need not wait.
func (d *draft) transfers() []planned {
	for _, t := range d.plan {
		for i := range t.pieces {
			p, free := &t.pieces[i], d.free[t.pieces[i].food]
			more := max(free[t.from]-free[t.to], 0) / 2
			p.pieces += more
			free[t.from] -= more
			free[t.to] += more
			p.below = d.needs[need{t.to, p.food}]
		}
	}
	return d.plan
}

// richest is the slice with the most pieces, other than one.
func richest(left []int64, other int) (best int) {
	best = -1
	for i := range left {
		if i != other && (best < 0 || left[i] > left[best]) {
			best = i
		}
	}
	return best
}

// topUps plans transfers to slices that have less than seven eighths of the mean of some food. The same
// transfer brings other foods of which the slice has less than the mean. left is what each slice has
// of food 1, 2, 3, ...; nil for a slice that does not answer. The plan takes from it.
func topUps(left [][]int64) (plan []planned) {
	mean := means(left)
	busy := make([]bool, len(left)) // a slice gives once, so that no slice has all the work, or gets, not both
	for to := range left {
		if busy[to] {
			continue
		}
		foods := short(left[to], mean)
		from := bestGiver(left, busy, to, foods)
		if from < 0 {
			continue
		}
		t := planned{pair: pair{from, to}, alone: true}
		for _, food := range foods {
			if pieces := (left[from][food] - left[to][food]) / 2; pieces > 0 {
				left[from][food] -= pieces
				left[to][food] += pieces
				t.pieces = append(t.pieces, piecesOf{int64(food) + 1, pieces, mean[food]})
			}
		}
		busy[from], busy[to] = true, true
		plan = append(plan, t)
	}
	return plan
}

// means is the mean of the slices' pieces of each food.
func means(left [][]int64) (mean []int64) {
	var n int64
	for _, own := range left {
		if own == nil {
			continue
		}
		if n++; mean == nil {
			mean = make([]int64, len(own))
		}
		for food := range own {
			mean[food] += own[food]
		}
	}
	for food := range mean {
		mean[food] /= n
	}
	return mean
}

// short is the foods (from 0 on) that a transfer to a slice should bring, the scarcest first; nothing if no
// food is scarce.
func short(own, mean []int64) (foods []int) {
	scarce := false
	for food, left := range own {
		if left < mean[food] {
			foods = append(foods, food)
			scarce = scarce || 8*left < 7*mean[food]
		}
	}
	if !scarce {
		return nil
	}
	slices.SortFunc(foods, func(a, b int) int { // own/mean, without a division
		return int(own[a]*mean[b] - own[b]*mean[a])
	})
	return foods[:min(len(foods), transferFoods)]
}

// bestGiver is the slice that can bring another one most of the foods; -1 for none.
func bestGiver(left [][]int64, busy []bool, to int, foods []int) (best int) {
	best = -1
	var most int64
	for i := range left {
		if left[i] == nil || busy[i] || i == to {
			continue
		}
		var gain int64
		for _, food := range foods {
			gain += max(left[i][food]-left[to][food], 0) / 2
		}
		if gain > most {
			best, most = i, gain
		}
	}
	return best
}

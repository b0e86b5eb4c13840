package redisx

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
)

var simulate = flag.Bool("simulate", false, "TestSimulatedScale: print the table of README.md")

// A simulated sale moves pieces with the plans of the mover, over a made-up network and by a made-up clock.
// Uniform demand needs few transfers, and no order waits before the last tenth. Every piece is sold.
func TestSimulatedScale(t *testing.T) {
	sizes, seeds := []int{12, 24}, uint64(2)
	if *simulate {
		sizes, seeds = []int{12, 48, 192}, 1
		fmt.Println(simulationHead)
	}
	for _, n := range sizes {
		for _, zipf := range []bool{false, true} {
			for seed := range seeds {
				s := newSimulation(n, zipf, seed)
				if !*simulate {
					s.shrink()
				}
				s.run(t)
				at90 := s.marks[1]
				if !zipf && (at90.waited > 0 || at90.per1000() > 5) {
					t.Errorf("%d slices, seed %d, 90%% sold: %d orders waited, %.1f transfers per 1000 orders", n, seed,
						at90.waited, at90.per1000())
				}
				if *simulate {
					fmt.Println(s.row())
				}
			}
		}
	}
}

// simulation is a sale in slices. A tick of its clock is a millisecond.
type simulation struct {
	zipf    bool
	rate    int // orders of each slice in a tick
	share   int64
	left    [][]int64 // pieces by slice and food
	open    map[pair]*underWay
	steps   []int // of transfers in each slice
	rand    *rand.Rand
	servers []simServer
	choice  []float64 // cumulative weights of the foods that the last food list has
	now     int
	events  events
	number  int

	orders, waited, transfers, flying, mostFlying int
	longestFlight, longestWait                    int
	sold, pieces                                  int64
	marks                                         []mark
}

// underWay is a transfer that is open.
type underWay struct {
	asked, given []piecesOf
	gave, taken  bool
	since        int
}

type simServer struct {
	waiting []*simOrder
	serving bool
}

type simOrder struct {
	want
	since, waits int
}

// mark is the sums at the moment at which a part of the pieces was sold.
type mark struct {
	percent                   int
	orders, waited, transfers int
}

func (m mark) per1000() float64 { return 1000 * float64(m.transfers) / float64(max(m.orders, 1)) }

const (
	simFoods    = 100
	simInterval = 200 // between two snapshots
	simLatency  = 3   // the longest call
)

func newSimulation(parts int, zipf bool, seed uint64) *simulation {
	s := &simulation{zipf: zipf, rate: 10, share: 1000, open: map[pair]*underWay{},
		rand: rand.New(rand.NewPCG(seed, 1)), servers: make([]simServer, max(parts/8, 4)),
		left:  make([][]int64, parts),
		steps: make([]int, parts)}
	for _, percent := range []int{50, 90, 99, 100} {
		s.marks = append(s.marks, mark{percent: percent})
	}
	s.fill(simFoods)
	return s
}

// shrink leaves a tenth of the foods and of the orders.
func (s *simulation) shrink() {
	s.rate /= 10
	s.fill(simFoods / 10)
}

func (s *simulation) fill(foods int) {
	for i := range s.left {
		s.left[i] = slices.Repeat([]int64{s.share}, foods)
	}
	s.pieces = s.share * int64(foods*len(s.left))
	s.choose()
}

// choose lets buyers choose among the foods that are left.
func (s *simulation) choose() {
	s.choice = make([]float64, len(s.left[0]))
	var sum float64
	for food := range s.choice {
		if s.total(int64(food+1)) > 0 {
			if sum++; s.zipf {
				sum += 1/float64(food+1) - 1
			}
		}
		s.choice[food] = sum
	}
}

// total is how many pieces are in a stock or under way.
func (s *simulation) total(food int64) (all int64) {
	for _, left := range s.left {
		all += left[food-1]
	}
	for _, t := range s.open {
		if t.gave && !t.taken {
			for _, p := range t.given {
				if p.food == food {
					all += p.pieces
				}
			}
		}
	}
	return all
}

func (s *simulation) run(t *testing.T) {
	const longest = 100_000
	for ; s.sold < s.pieces; s.now++ {
		if s.now > longest {
			t.Fatalf("%d slices: %d of %d pieces are sold", len(s.left), s.sold, s.pieces)
		}
		for len(s.events) > 0 && s.events[0].at <= s.now {
			heap.Pop(&s.events).(event).do()
		}
		if s.now%simInterval == 0 {
			s.choose()
			for i := range s.servers {
				s.balance(&s.servers[i])
			}
		}
		for range s.rate * len(s.left) {
			s.order(t, &simOrder{want: want{s.rand.IntN(len(s.left)), s.cart()}, since: s.now})
		}
	}
}

// cart has one to three pieces, of one food or two.
func (s *simulation) cart() []int64 {
	first, second := s.food(), s.food()
	if first == second || s.rand.IntN(2) == 0 {
		return []int64{first, s.rand.Int64N(3) + 1}
	}
	return []int64{first, 1, second, s.rand.Int64N(2) + 1}
}

func (s *simulation) food() int64 {
	x := s.rand.Float64() * s.choice[len(s.choice)-1]
	return int64(sort.Search(len(s.choice)-1, func(i int) bool { return s.choice[i] > x })) + 1
}

// order is order.lua. A refused order waits at one of the servers.
func (s *simulation) order(t *testing.T, o *simOrder) {
	if o.waits == 0 {
		s.orders++
	}
	left := s.left[o.slice]
	for i := 0; i < len(o.pieces); i += 2 {
		if left[o.pieces[i]-1] < o.pieces[i+1] {
			if o.waits++; o.waits == 1 {
				s.waited++
			}
			server := &s.servers[s.rand.IntN(len(s.servers))]
			server.waiting = append(server.waiting, o)
			s.serve(t, server)
			return
		}
	}
	for i := 0; i < len(o.pieces); i += 2 {
		left[o.pieces[i]-1] -= o.pieces[i+1]
		s.sold += o.pieces[i+1]
	}
	s.ended(o)
	for i := range s.marks {
		if m := &s.marks[i]; m.orders == 0 && s.sold*100 >= s.pieces*int64(m.percent) {
			m.orders, m.waited, m.transfers = s.orders, s.waited, s.transfers
		}
	}
}

func (s *simulation) ended(o *simOrder) { s.longestWait = max(s.longestWait, s.now-o.since) }

// serve is mover.serve.
func (s *simulation) serve(t *testing.T, server *simServer) {
	if server.serving || len(server.waiting) == 0 {
		return
	}
	server.serving = true
	n := min(len(server.waiting), roundMax)
	round := server.waiting[:n:n]
	server.waiting = server.waiting[n:]
	pause := 1 // for the carts
	for _, o := range round {
		pause = max(pause, s.rand.IntN(min(o.waits, 8))+1)
	}
	s.after(pause, func() {
		s.look(round, func(first found) {
			s.look(round, func(second found) {
				s.decide(t, server, round, first, second)
			})
		})
	})
}

func (s *simulation) decide(t *testing.T, server *simServer, round []*simOrder, first, second found) {
	d := newDraft(first.left.clone())
	var again, later []*simOrder
	for _, o := range round {
		switch {
		case d.reserve(o.want):
			again = append(again, o)
		case !first.left.enough(o.want) && first.calm(second):
			s.refuse(t, o)
		default:
			o.waits++
			later = append(later, o)
		}
	}
	s.carryOut(d.transfers(), func() {
		server.serving = false
		server.waiting = append(later, server.waiting...)
		for _, o := range again {
			s.order(t, o)
		}
		s.serve(t, server)
	})
}

func (s *simulation) refuse(t *testing.T, o *simOrder) {
	short := false
	for i := 0; i < len(o.pieces); i += 2 {
		short = short || s.total(o.pieces[i]) < o.pieces[i+1]
	}
	if !short {
		t.Errorf("%d slices: an order for %v is refused, but all together have enough", len(s.left), o.want)
	}
	s.ended(o)
}

// look reads the slices one by one.
func (s *simulation) look(round []*simOrder, then func(found)) {
	f := found{left: holdings{}, steps: make([]string, len(s.left)), whole: true}
	for _, o := range round {
		for i := 0; i < len(o.pieces); i += 2 {
			f.left[o.pieces[i]] = make([]int64, len(s.left))
		}
	}
	s.all(len(s.left), func(i int) {
		for food := range f.left {
			f.left[food][i] = s.left[i][food-1]
		}
		for p, o := range s.open {
			if p.to == i && !o.taken {
				f.open = append(f.open, i)
			}
		}
		f.steps[i] = fmt.Sprint(s.steps[i])
	}, func() { then(f) })
}

// balance is the mover's look at a snapshot.
func (s *simulation) balance(server *simServer) {
	left := make([][]int64, len(s.left))
	s.all(len(left), func(i int) { left[i] = slices.Clone(s.left[i]) }, func() {
		s.carryOut(topUps(left), func() {})
	})
}

// all does n calls at once.
func (s *simulation) all(n int, do func(i int), then func()) {
	if n == 0 {
		then()
		return
	}
	for i := range n {
		s.after(s.latency(), func() {
			if do(i); n == 1 {
				s.after(1, then)
			}
			n--
		})
	}
}

func (s *simulation) latency() int { return s.rand.IntN(simLatency) + 1 }

func (s *simulation) carryOut(plan []planned, then func()) {
	left := len(plan)
	if left == 0 {
		s.after(1, then)
	}
	for _, p := range plan {
		s.transfer(p, func() {
			if left--; left == 0 {
				then()
			}
		})
	}
}

// transfer is the three scripts of a transfer.
func (s *simulation) transfer(p planned, then func()) {
	s.after(s.latency(), func() {
		o := s.ask(p)
		if o == nil {
			s.after(1, then)
			return
		}
		s.after(s.latency(), func() {
			s.give(p.pair, o)
			s.after(s.latency(), func() {
				s.take(p.pair, o)
				s.after(1, then)
			})
		})
	})
}

func (s *simulation) ask(p planned) *underWay {
	if o := s.open[p.pair]; o != nil {
		return o
	}
	for other := range s.open {
		if p.alone && other.to == p.to {
			return nil
		}
	}
	o := &underWay{since: s.now}
	for _, piece := range p.pieces[:min(len(p.pieces), transferFoods)] {
		if s.left[p.to][piece.food-1] < piece.below {
			o.asked = append(o.asked, piece)
		}
	}
	if len(o.asked) == 0 {
		return nil
	}
	s.open[p.pair] = o
	s.steps[p.to]++
	return o
}

func (s *simulation) give(p pair, o *underWay) {
	if o.gave {
		return
	}
	o.gave = true
	s.steps[p.from]++
	for _, piece := range o.asked {
		left := &s.left[p.from][piece.food-1]
		piece.pieces = min(piece.pieces, *left)
		*left -= piece.pieces
		s.flying += int(piece.pieces)
		o.given = append(o.given, piece)
	}
	o.since = s.now
	s.mostFlying = max(s.mostFlying, s.flying)
}

func (s *simulation) take(p pair, o *underWay) {
	if o.taken {
		return
	}
	o.taken = true
	s.steps[p.to]++
	s.transfers++
	s.longestFlight = max(s.longestFlight, s.now-o.since)
	for _, piece := range o.given {
		s.left[p.to][piece.food-1] += piece.pieces
		s.flying -= int(piece.pieces)
	}
	delete(s.open, p)
}

// The events of the made-up clock: those of one moment in the order in which they were planned.
type event struct {
	at, number int
	do         func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(a, b int) bool {
	return e[a].at < e[b].at || e[a].at == e[b].at && e[a].number < e[b].number
}
func (e events) Swap(a, b int) { e[a], e[b] = e[b], e[a] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (s *simulation) after(ticks int, do func()) {
	s.number++
	heap.Push(&s.events, event{s.now + ticks, s.number, do})
}

const simulationHead = `| slices | demand | transfers per 1000 orders: 50%, 90%, 99%, 100% sold |` +
	` orders waited |` +
	` longest wait | most pieces under way | longest way |
| --- | --- | --- | --- | --- | --- | --- |`

// row is a row of the table in README.md.
func (s *simulation) row() string {
	demand := map[bool]string{false: "uniform", true: "Zipf"}[s.zipf]
	var rates, waits []string
	for _, m := range s.marks {
		rates = append(rates, fmt.Sprintf("%.2f", m.per1000()))
		waits = append(waits, fmt.Sprint(m.waited))
	}
	return fmt.Sprintf("| %d | %s | %s | %s of %d | %d ms | %d of %d | %d ms |", len(s.left), demand,
		strings.Join(rates, ", "), strings.Join(waits, ", "), s.orders, s.longestWait, s.mostFlying,
		s.pieces, s.longestFlight)
}

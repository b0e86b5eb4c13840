package redisx

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// Each step of a transfer: what it finds, what it returns, what it leaves.
func TestTransferSteps(t *testing.T) {
	many := strings.Repeat("1000:1,", 100)
	for _, step := range []struct {
		name   string
		before map[string]string
		script *pipeline.Script
		args   []string
		want   string
		after  map[string]string
	}{
		{"asks", map[string]string{"1": "0", "2": "9"}, askScript,
			[]string{"4", "0", "1", "5", "1", "2", "3", "20"},
			"1 1:5,2:3,", map[string]string{"1": "0", "2": "9", "<4": "1 1:5,2:3,", "<": "1", ">": "1"}},
		{"asks only for what is low", map[string]string{"1": "0", "2": "9", "<4": "7"}, askScript,
			[]string{"4", "0", "1", "5", "1", "2", "3", "9"}, "8 1:5,",
			map[string]string{"1": "0", "2": "9", "<4": "8 1:5,", "<": "1", ">": "1"}},
		{"asks for nothing", map[string]string{"1": "4"}, askScript, []string{"4", "0", "1", "5", "4"}, "",
			map[string]string{"1": "4"}},
		{"finds an open transfer", map[string]string{"1": "0", "<4": "1 2:5,", "<": "1"}, askScript,
			[]string{"4", "0", "1", "5", "1"}, "1 2:5,", map[string]string{"1": "0", "<4": "1 2:5,",
				"<": "1"}},
		{"asks not while another transfer is open", map[string]string{"1": "0", "<": "1"}, askScript,
			[]string{"4", "0", "1", "5", "1"}, "", map[string]string{"1": "0", "<": "1"}},
		{"asks while as many are open as it may", map[string]string{"1": "0", "<": "1"}, askScript,
			[]string{"4", "1", "1", "5", "1"}, "1 1:5,", map[string]string{"1": "0", "<4": "1 1:5,",
				"<": "2", ">": "1"}},
		{"asks without a stock", nil, askScript, []string{"4", "0", "1", "5", "1"}, "", nil},
		{"gives", map[string]string{"1": "9", "2": "2"}, giveScript,
			[]string{"0", "1", "1:5,2:3,7:1,"}, "1:5,2:2,",
			map[string]string{"1": "4", "2": "0", ">0": "1 1:5,2:2,", ">": "1"}},
		{"gives once", map[string]string{"1": "9", ">0": "3 1:5,"}, giveScript,
			[]string{"0", "3", "1:5,"}, "1:5,",
			map[string]string{"1": "9", ">0": "3 1:5,"}},
		{"gives nothing for an older number", map[string]string{"1": "9", ">0": "3 1:5,"}, giveScript,
			[]string{"0", "2", "1:5,"}, "-", map[string]string{"1": "9", ">0": "3 1:5,"}},
		{"has nothing to give", map[string]string{"1": "0"}, giveScript, []string{"0", "1", "1:5,"}, "",
			map[string]string{"1": "0", ">0": "1 ", ">": "1"}},
		{"gives without a stock", nil, giveScript, []string{"0", "1", "1:5,"}, "-", nil},
		{"takes", map[string]string{"1": "0", "<4": "1 1:5,2:3,", "<": "2"}, takeScript,
			[]string{"4", "1", "1:5,2:1,"},
			"1", map[string]string{"1": "5", "2": "1", "<4": "1", "=4": "1 1:5,2:1,", "<": "1", ">": "1"}},
		{"takes and keeps older ones", map[string]string{"1": "0", "<4": "3 1:5,", "=4": "2 ;1 1:7,", "<": "1"},
			takeScript, []string{"4", "3", "1:5,"},
			"1", map[string]string{"1": "5", "<4": "3", "=4": "3 1:5,;2 ;1 1:7,", "<": "0", ">": "1"}},
		{"takes and keeps few older ones", map[string]string{"1": "0", "<4": "3 1:5,", "=4": "2 2:1,;1 " + many,
			"<": "1"}, takeScript, []string{"4", "3", "1:5,"},
			"1", map[string]string{"1": "5", "<4": "3", "=4": "3 1:5,;2 2:1,", "<": "0", ">": "1"}},
		{"takes once", map[string]string{"1": "5", "<4": "1", "<": "0"}, takeScript,
			[]string{"4", "1", "1:5,"},
			"0", map[string]string{"1": "5", "<4": "1", "<": "0"}},

		{"takes nothing of another number", map[string]string{"1": "5", "<4": "2 1:5,", "<": "1"}, takeScript,
			[]string{"4", "1", "1:5,"}, "0", map[string]string{"1": "5", "<4": "2 1:5,", "<": "1"}},
		{"gives nothing after a gap", map[string]string{"1": "9", ">0": "3 1:5,"}, giveScript,
			[]string{"0", "5", "1:5,"}, "!", map[string]string{"1": "9", ">0": "3 1:5,"}},
		{"repeats a lost transfer", map[string]string{"1": "9", "2": "1", ">0": "3 1:5,"}, repairScript,
			[]string{"0", "4 1:2,2:3,"}, "1", map[string]string{"1": "7", "2": "-2", ">0": "4 1:2,2:3,"}},
		{"repeats all lost transfers", map[string]string{"1": "9", "2": "5", ">0": "3 1:5,"}, repairScript,
			[]string{"0", "6 1:2,;5 ;4 1:3,2:1,;3 1:5,"}, "1", map[string]string{"1": "4", "2": "4", ">0": "6 1:2,"}},
		{"repeats the lost transfers that are known", map[string]string{"1": "9", ">0": "3 1:5,"}, repairScript,
			[]string{"0", "6 1:2,;5 1:1,"}, "2", map[string]string{"1": "6", ">0": "6 1:2,"}},
		{"repeats a lost first transfer", map[string]string{"1": "9"}, repairScript,
			[]string{"0", "1 1:2,"}, "1", map[string]string{"1": "7", ">0": "1 1:2,"}},
		{"repeats nothing that it knows", map[string]string{"1": "9", ">0": "4 1:5,"}, repairScript,
			[]string{"0", "4 1:5,;3 1:1,"}, "0", map[string]string{"1": "9", ">0": "4 1:5,"}},
		{"repeats nothing without a stock", nil, repairScript, []string{"0", "4 1:5,"}, "0", nil},
	} {
		t.Run(step.name, func(t *testing.T) {
			redistest.OnEach(t, func(t *testing.T, network, address string) {
				cfg := defaults
				cfg.Network, cfg.Address = network, address
				if step.before != nil {
					raw(t, cfg, nil, append([]string{"HSET", "stock"}, pairs(step.before)...)...)
				}
				var got string
				l, err := pipeline.Dial(t.Context(), cfg.Config)
				testkit.Must(t, err)
				defer l.Close()
				testkit.Must(t, l.Do(step.script.Eval(&got, []string{"stock"}, step.args...), cfg.Timeout))
				var after map[string]string
				raw(t, cfg, &after, "HGETALL", "stock")
				if got != step.want || fmt.Sprint(after) != fmt.Sprint(step.after) {
					t.Errorf("%q, want %q; the stock is %v, want %v", got, step.want, after, step.after)
				}
			})
		})
	}
}

// A slice that comes back as it was before it gave pieces away takes them out of its stock again.
func TestGiverComesBackOlder(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		cfg.Slices = 2
		s := open(t, cfg, 20)
		_, err := s.Change(Change{By: "root", State: StateClosed}) // else the mover balances the slices meanwhile
		testkit.Must(t, err)
		giver, receiver := s.slices[1].keys.Stock, s.slices[0].keys.Stock
		give := func() {
			_, err := s.reach.transfer(planned{pair: pair{1, 0}, pieces: []piecesOf{{1, 4, 1000}}})
			testkit.Must(t, err)
		}
		rollBack := func(left, record string) {
			raw(t, cfg, nil, "HSET", giver, "1", left, ">0", record)
		}
		give()
		rollBack("10", "0 ")
		testkit.Until(t, "a snapshot that shows no piece twice", func() bool {
			found, err := s.Snapshot()
			return err == nil && found.Left[0] == 20
		})
		give()
		give()
		rollBack("6", "1 1:4,") // the next transfer finds out before a snapshot does
		give()
		here, there := rawString(t, cfg, "HGET", receiver, "1"), rawString(t, cfg, "HGET", giver, "1")
		if here != "20" || there != "0" {
			t.Errorf("%s and %s pieces, want 20 and 0", here, there)
		}
	})
}

func pairs(fields map[string]string) (list []string) {
	for name, value := range fields {
		list = append(list, name, value)
	}
	return list
}

var models = flag.Int("models", 150, "TestTransfersConserve: how many")

// Servers make transfers and sell, one step at a time, in any order, and stop between two steps; old steps
// come again. After every step all pieces are there: in a stock, under way or sold. Some models run at
// once, so that their steps share pipelines.
func TestTransfersConserve(t *testing.T) {
	const steps, together = 60, 100
	cfg := unix(redistest.Start(t))
	cfg.Slices = 4
	s := open(t, cfg, 1)
	var next atomic.Int64
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			for seed := next.Add(1); seed <= int64(*models) && !t.Failed(); seed = next.Add(1) {
				m := newModel(s, uint64(seed))
				for step := range steps {
					m.step()
					if m.check(); m.err != nil {
						t.Errorf("seed %d, step %d: %v", seed, step, m.err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// model is slices whose pieces are moved and sold step by step.
type model struct {
	sale    *Sale
	id      string // of a sale of its own
	rand    *rand.Rand
	sold    []int64
	servers []step // the next step of each server, nil when it is idle
	old     []step // steps that were made, and may come again
	users   int
	err     error
}

// step is a step of a transfer; it returns the step that follows, nil behind the last one.
type step func() step

const modelFoods, modelPieces = 3, 8

func newModel(s *Sale, seed uint64) *model {
	m := &model{sale: s, id: fmt.Sprintf("m%07d", seed), rand: rand.New(rand.NewPCG(seed, 0)),
		sold: make([]int64, modelFoods), servers: make([]step, 3)}
	for i := range s.slices {
		args := []string{"HSET", m.keys(i).Stock}
		for food := range modelFoods {
			args = append(args, strconv.Itoa(food+1), strconv.Itoa(modelPieces))
		}
		m.do(pipeline.Command(new(int), args...).Command(new(string), "SET", m.keys(i).Gate, ""))
	}
	return m
}

func (m *model) keys(slice int) Keys { return m.sale.cfg.KeysOf(m.id, slice) }

func (m *model) stock(slice int) string { return m.keys(slice).Stock }

func (m *model) anySlice() int { return m.rand.IntN(len(m.sale.slices)) }

func (m *model) fail(err error) { m.err = firstOf([]error{m.err, err}) }

func (m *model) do(x *pipeline.Call) { m.fail(m.sale.conns[0].redis.Do(x)) }

// step sells, or lets a server do its next step, once, twice, or not at all for ever, or repeats any old
// step.
func (m *model) step() {
	switch m.rand.IntN(8) {
	case 0, 1:
		m.order()
		return
	case 2:
		if len(m.old) > 0 {
			m.old[m.rand.IntN(len(m.old))]()
		}
		return
	}
	server := &m.servers[m.rand.IntN(len(m.servers))]
	next := *server
	if next == nil {
		*server = m.ask(m.anySlice(), m.anySlice())
		return
	}
	m.old = append(m.old, next)
	switch m.rand.IntN(8) {
	case 0: // it crashes
		*server = nil
	case 1: // the step is repeated later
		next()
	default:
		*server = next()
	}
}

// order is an order for one food to three, through order.lua.
func (m *model) order() {
	m.users++
	k := m.keys(m.anySlice())
	name := fmt.Sprintf("%s%08d", m.id, m.users)
	order, cart := "o_"+name+k.Tag, string(k.cart(nil, []byte(name)))
	items, wanted := "", make([]int64, modelFoods)
	for _, food := range m.rand.Perm(modelFoods)[:m.rand.IntN(modelFoods)+1] {
		wanted[food] = 1
		items += fmt.Sprintf("%d:1,", food+1)
	}
	var codes []int64
	m.do(pipeline.Command(new(string), "SET", cart, items))
	m.do(orderScript.Eval(&codes, []string{k.Stock, k.Stream, k.Gate, k.Marker, k.Log, k.Events, order, cart},
		"3", "100", "100", ""))
	switch {
	case m.err != nil:
	case codes[0] == orderPlaced:
		for food, pieces := range wanted {
			m.sold[food] += pieces
		}
	case codes[0] != orderOutOfStock:
		m.fail(pipeline.UnknownCode("order.lua", codes[0]))
	}
}

func (m *model) ask(from, to int) step {
	if from == to {
		return nil
	}
	args := []string{strconv.Itoa(from), strconv.Itoa(m.anySlice())}
	for _, food := range m.rand.Perm(modelFoods)[:m.rand.IntN(modelFoods)+1] {
		args = append(args, strconv.Itoa(food+1), strconv.Itoa(m.rand.IntN(6)+1), "1000")
	}
	return func() step {
		var open string
		m.do(askScript.Eval(&open, []string{m.stock(to)}, args...))
		number, asked, found := strings.Cut(open, " ")
		if !found {
			return nil
		}
		return func() step {
			var given string
			m.do(giveScript.Eval(&given, []string{m.stock(from)}, strconv.Itoa(to), number, asked))
			if given == nothingGiven {
				given = ""
			}
			return func() step {
				m.do(takeScript.Eval(new(int), []string{m.stock(to)}, strconv.Itoa(from), number, given))
				return nil
			}
		}
	}
}

// check counts the pieces.
func (m *model) check() {
	stocks := make([]map[string]string, len(m.sale.slices))
	x := pipeline.NewCall()
	for i := range stocks {
		x.Command(&stocks[i], "HGETALL", m.stock(i))
	}
	m.do(x)
	have := slices.Clone(m.sold)
	for food := range have {
		for _, stock := range stocks {
			left := optional(stock[strconv.Itoa(food+1)])
			if have[food] += left; left < 0 {
				m.fail(fmt.Errorf("%d pieces of food %d are left", left, food+1))
			}
		}
	}
	inFlight(have, stocks)
	for food, pieces := range have {
		if want := int64(modelPieces * len(stocks)); pieces != want {
			m.fail(fmt.Errorf("%d pieces of food %d, want %d; %v, sold %v", pieces, food+1, want, stocks,
				m.sold))
		}
	}
}

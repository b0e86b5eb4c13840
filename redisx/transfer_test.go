package redisx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// Each step of a transfer: what it finds, what it returns, what it leaves.
func TestTransferSteps(t *testing.T) {
	const note = "note"
	for _, step := range []struct {
		name   string
		before map[string]string
		script *pipeline.Script
		args   []string
		want   string
		after  map[string]string
	}{
		{"asks", map[string]string{"1": "0", "2": "9"}, askScript, []string{"4", "1", "5", "1", "2", "3", "20"},
			"1 1:5,2:3,", map[string]string{"1": "0", "2": "9", "<4": "1 1:5,2:3,", "<": "1", ">": "1"}},
		{"asks only for what is low", map[string]string{"1": "0", "2": "9", "<4": "7"}, askScript,
			[]string{"4", "1", "5", "1", "2", "3", "9"}, "8 1:5,",
			map[string]string{"1": "0", "2": "9", "<4": "8 1:5,", "<": "1", ">": "1"}},
		{"asks for nothing", map[string]string{"1": "4"}, askScript, []string{"4", "1", "5", "4"}, "",
			map[string]string{"1": "4"}},
		{"finds an open transfer", map[string]string{"1": "0", "<4": "1 2:5,", "<": "1"}, askScript,
			[]string{"4", "1", "5", "1"}, "1 2:5,", map[string]string{"1": "0", "<4": "1 2:5,", "<": "1"}},
		{"asks without a stock", nil, askScript, []string{"4", "1", "5", "1"}, "", nil},
		{"gives", map[string]string{"1": "9", "2": "2"}, giveScript, []string{"0", "1", "1:5,2:3,7:1,"}, "1:5,2:2,",
			map[string]string{"1": "4", "2": "0", ">0": "1 1:5,2:2,", ">": "1"}},
		{"gives once", map[string]string{"1": "9", ">0": "3 1:5,"}, giveScript, []string{"0", "3", "1:5,"}, "1:5,",
			map[string]string{"1": "9", ">0": "3 1:5,"}},
		{"gives nothing for an older number", map[string]string{"1": "9", ">0": "3 1:5,"}, giveScript,
			[]string{"0", "2", "1:5,"}, "-", map[string]string{"1": "9", ">0": "3 1:5,"}},
		{"has nothing to give", map[string]string{"1": "0"}, giveScript, []string{"0", "1", "1:5,"}, "",
			map[string]string{"1": "0", ">0": "1 ", ">": "1"}},
		{"gives without a stock", nil, giveScript, []string{"0", "1", "1:5,"}, "-", nil},
		{"takes", map[string]string{"1": "0", "<4": "1 1:5,2:3,", "<": "2"}, takeScript, []string{"4", "1", "1:5,2:1,"},
			"1", map[string]string{"1": "5", "2": "1", "<4": "1", "<": "1", ">": "1"}},
		{"takes once", map[string]string{"1": "5", "<4": "1", "<": "0"}, takeScript, []string{"4", "1", "1:5,"},
			"0", map[string]string{"1": "5", "<4": "1", "<": "0"}},
		{"takes nothing of another number", map[string]string{"1": "5", "<4": "2 1:5,", "<": "1"}, takeScript,
			[]string{"4", "1", "1:5,"}, "0", map[string]string{"1": "5", "<4": "2 1:5,", "<": "1"}},
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

func pairs(fields map[string]string) (list []string) {
	for name, value := range fields {
		list = append(list, name, value)
	}
	return list
}

// Servers make transfers and sell, one step at a time, in any order, and stop between two steps. After every
// step all pieces are there: in a stock, under way or sold.
func TestTransfersConserve(t *testing.T) {
	const parts, foods, initial, seeds, steps = 4, 3, 10, 30, 100
	cfg := unix(redistest.Start(t))
	cfg.Slices = parts
	l, err := pipeline.Dial(t.Context(), cfg.Config)
	testkit.Must(t, err)
	defer l.Close()
	m := &model{t: t, cfg: &cfg, link: l, foods: foods}
	for seed := range uint64(seeds) {
		m.rand = rand.New(rand.NewPCG(seed, 0))
		m.begin(initial)
		for range steps {
			m.step()
			m.check(seed, initial)
		}
	}
}

// model is slices whose pieces are moved and sold step by step.
type model struct {
	t       *testing.T
	cfg     *Config
	link    *pipeline.Link
	rand    *rand.Rand
	foods   int
	sold    []int64
	servers []step // the next step of each server, nil when it is idle
}

// step is a step of a transfer; it returns the step that follows, nil behind the last one.
type step func() step

func (m *model) do(x *pipeline.Call) { testkit.Must(m.t, m.link.Do(x, m.cfg.Timeout)) }

func (m *model) stock(slice int) string { return m.cfg.KeysOf("abcdefgh", slice).Stock }

func (m *model) begin(pieces int) {
	m.sold, m.servers = make([]int64, m.foods), make([]step, 3)
	for i := range m.cfg.Slices {
		m.do(pipeline.Command(new(int), "DEL", m.stock(i)))
		for food := range m.foods {
			m.do(pipeline.Command(new(int), "HSET", m.stock(i), strconv.Itoa(food+1), strconv.Itoa(pieces)))
		}
	}
}

// step sells a piece or lets a server do its next step, once, twice, or not at all for ever.
func (m *model) step() {
	if m.rand.IntN(3) == 0 {
		m.sell()
		return
	}
	server := m.rand.IntN(len(m.servers))
	next := m.servers[server]
	if next == nil {
		m.servers[server] = m.ask(m.rand.IntN(m.cfg.Slices), m.rand.IntN(m.cfg.Slices))
		return
	}
	switch m.rand.IntN(8) {
	case 0: // it crashes
		m.servers[server] = nil
	case 1: // the step is repeated later
		next()
	default:
		m.servers[server] = next()
	}
}

func (m *model) sell() {
	slice, food := m.rand.IntN(m.cfg.Slices), m.rand.IntN(m.foods)
	var left int64
	m.do(pipeline.Command(&left, "HGET", m.stock(slice), strconv.Itoa(food+1)))
	if left > 0 {
		m.do(pipeline.Command(&left, "HINCRBY", m.stock(slice), strconv.Itoa(food+1), "-1"))
		m.sold[food]++
	}
}

func (m *model) ask(from, to int) step {
	if from == to {
		return nil
	}
	food, pieces := strconv.Itoa(m.rand.IntN(m.foods)+1), strconv.Itoa(m.rand.IntN(6)+1)
	return func() step {
		var open string
		m.do(askScript.Eval(&open, []string{m.stock(to)}, strconv.Itoa(from), food, pieces, "1000"))
		number, asked, found := strings.Cut(open, " ")
		if !found {
			return nil
		}
		return func() step {
			var given string
			m.do(giveScript.Eval(&given, []string{m.stock(from)}, strconv.Itoa(to), number, asked))
			if given == nothingGiven {
				return nil
			}
			return func() step {
				m.do(takeScript.Eval(new(int), []string{m.stock(to)}, strconv.Itoa(from), number, given))
				return nil
			}
		}
	}
}

func (m *model) check(seed uint64, initial int) {
	stocks := make([]map[string]string, m.cfg.Slices)
	have := slices.Clone(m.sold)
	for i := range stocks {
		m.do(pipeline.Command(&stocks[i], "HGETALL", m.stock(i)))
		for food := range have {
			have[food] += optional(stocks[i][strconv.Itoa(food+1)])
		}
	}
	inFlight(have, stocks)
	for food, pieces := range have {
		if pieces != int64(initial*m.cfg.Slices) {
			m.t.Fatalf("seed %d: %d pieces of food %d, want %d; %v, sold %v", seed, pieces, food+1,
				initial*m.cfg.Slices, stocks, m.sold)
		}
	}
}

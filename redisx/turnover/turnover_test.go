package turnover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

// A turnover that ends after any of its scripts is completed by the next server that starts, or by another
// call, and nothing is sold before.
func TestTurnoverIsCompleted(t *testing.T) {
	const orders = 30
	for _, by := range []string{"server", "command"} {
		t.Run("by a "+by, func(t *testing.T) {
			saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
				for scripts, broken := 1, true; broken; scripts++ {
					for slice := range cfg.SliceCount() {
						saletest.Command(t, cfg, nil, "FLUSHALL")
						broken = brokenOff(t, cfg, by, orders, scripts, slice)
					}
				}
			})
		})
	}
}

// brokenOff lets a turnover break off after some scripts, and checks that it is completed. A part of one
// more step is done in a slice. It returns false if the turnover needs no more scripts.
func brokenOff(t *testing.T, cfg redisx.Config, by string, orders, scripts, slice int) bool {
	t.Helper()
	s := sold(t, cfg, orders)
	testkit.Must(t, s.AddToCart(50, saletest.CartName(50), 1, 1))
	exported(t, cfg, s.ID(), orders)
	id, own, err := OpenNext(t.Context(), breaking(t, cfg, scripts), nextOf(s.ID()))
	broken := err != nil
	if !broken && !own {
		t.Errorf("after %d scripts: sale %s is of another turnover", scripts, id)
	}
	if err := s.PlaceOrder(50, saletest.CartName(50), nil); err == nil {
		t.Errorf("after %d scripts an order between two sales is placed", scripts)
	}
	l, err := pipeline.Dial(t.Context(), cfg.Slice(slice))
	testkit.Must(t, err)
	defer l.Close()
	marker, err := redisx.ReadMarker(t.Context(), cfg)
	testkit.Must(t, err)
	if id = marker.Sale; marker.Next != "" {
		id = marker.Next
		if _, err := redisx.Find(t.Context(), cfg, nextPrint, ""); !errors.Is(err, redisx.ErrTurning) {
			t.Errorf("between two sales Find gives %v, want redisx.ErrTurning", err)
		}
		begun := &turnover{cfg: cfg, before: s.ID(), next: id, link: l, keys: cfg.KeysOf(s.ID(), slice)}
		testkit.Must(t, begun.move([]string{"o_3" + begun.keys.Tag}, []string{"3"}))
	}
	if by == "command" && marker.Next != "" {
		again, own, err := OpenNext(t.Context(), cfg, nextOf(s.ID()))
		if err != nil || own || again != id {
			t.Errorf("another call: sale %s, own %v, %v; want %s of the first", again, own, err, id)
		}
	}
	checkNext(t, cfg, s.ID(), id, orders)
	if t.Failed() {
		t.Fatalf("the turnover broke off after %d scripts, %d slices", scripts, cfg.SliceCount())
	}
	return broken
}

// breaking is a way to the same Redis that passes some scripts, and then breaks with all connections.
func breaking(t *testing.T, cfg redisx.Config, scripts int) redisx.Config {
	t.Helper()
	way, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	t.Cleanup(func() { way.Close() })
	left := int64(scripts)
	pass := func(from, to net.Conn) {
		defer from.Close()
		defer to.Close()
		for chunk := make([]byte, 1<<16); ; {
			n, err := from.Read(chunk)
			if err != nil {
				return
			}
			evals := bytes.Count(chunk[:n], []byte("EVAL"))
			if atomic.AddInt64(&left, -int64(evals)) < 0 {
				way.Close()
				return
			}
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
	}
	network, address := cfg.Network, cfg.Address
	go func() {
		for {
			from, err := way.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial(network, address)
			if err != nil {
				from.Close()
				return
			}
			go pass(from, to)
			go pass(to, from)
		}
	}()
	cfg.Network, cfg.Address = "tcp", way.Addr().String()
	return cfg
}

// A caller that was frozen in a turnover which others have completed moves nothing of the next sale.
func TestTurnoverIsOver(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		s := sold(t, cfg, 2)
		exported(t, cfg, s.ID(), 2)
		l, err := pipeline.Dial(t.Context(), cfg.Config)
		testkit.Must(t, err)
		defer l.Close()
		next := nextOf(s.ID())
		testkit.Must(t, next.begin(t.Context(), l, cfg, "frozen23"))
		frozen, err := readTurnover(l, cfg)
		testkit.Must(t, err)
		frozen.link, frozen.keys = l, cfg.KeysOf(s.ID(), 0)
		checkNext(t, cfg, s.ID(), "frozen23", 2) // places an order of user 2
		if err := frozen.move([]string{"o_2"}, []string{"2"}); err != nil || !frozen.moved {
			t.Errorf("moved by the frozen caller: %v, over %v", err, frozen.moved)
		}
		testkit.Must(t, frozen.end(t.Context(), l))
		after := saletest.Join(t, cfg, "frozen23", 3)
		stock, err := after.Stock()
		if err != nil || !slices.Equal(stock, []int64{7, 8, 8}) {
			t.Errorf("stock of the next sale %v, %v; want one piece less", stock, err)
		}
		if o, err := after.Order(2); err != nil || len(o.Items) != 1 {
			t.Errorf("the order in the next sale: %v, %v", o, err)
		}
	})
}

// Of several calls at once one begins the turnover, and all end with the same sale.
func TestOpenNextAtOnce(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		const callers = 4
		s := sold(t, cfg, 20)
		exported(t, cfg, s.ID(), 20)
		var calling sync.WaitGroup
		var ids [callers]string
		var own [callers]bool
		for i := range callers {
			calling.Go(func() {
				var err error
				ids[i], own[i], err = OpenNext(context.Background(), cfg, nextOf(s.ID()))
				// A call that comes when all is over finds another sale than the one that it is to end.
				if err != nil && !errors.Is(err, redisx.ErrSaleGone) {
					t.Error(err)
				}
			})
		}
		calling.Wait()
		begun := slices.Index(own[:], true)
		if begun < 0 || slices.Contains(own[begun+1:], true) {
			t.Fatalf("begun by %v, want one", own)
		}
		for _, id := range ids {
			if id != ids[begun] && id != "" {
				t.Errorf("sales %q, want one", ids)
			}
		}
		checkNext(t, cfg, s.ID(), ids[begun], 20)
	})
}

// No step of a turnover gives Redis more keys than moveMax, however many orders there are.
func TestTurnoverStepsAreBounded(t *testing.T) {
	const orders = 200_000
	cfg := saletest.Config(redistest.New(t))
	s := saletest.Open(t, cfg, 5, 5)
	saletest.Command(t, cfg, nil, "EVAL", fmt.Sprintf(
		`for i = 2, %d do redis.call('SET', 'o_' .. i, '1:1,|\\n1') end`, orders+1), "0")
	saletest.Command(t, cfg, nil, "CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "5000")
	saletest.Command(t, cfg, nil, "CONFIG", "RESETSTAT")
	next := nextOf(s.ID())
	next.Force = true
	if _, _, err := OpenNext(t.Context(), cfg, next); err != nil {
		t.Fatal(err)
	}
	var calls int
	_, stats, _ := strings.Cut(saletest.Text(t, cfg, "INFO", "commandstats"), "cmdstat_eval:calls=")
	if _, err := fmt.Sscanf(stats, "%d,", &calls); err != nil || calls < orders/moveMax {
		t.Errorf("%d steps, %v; want at least %d", calls, err, orders/moveMax)
	}
	// The last steps, with the commands in them. Redis shows 31 arguments of a command, and how many more there
	// were. Those of EVAL: itself, source, number of keys, marker, kept orders, id, number of users, and each
	// key with its user beside it.
	var slow any
	saletest.Command(t, cfg, &slow, "SLOWLOG", "GET", "5000")
	most := 0
	for _, found := range regexp.MustCompile(`\((\d+) more arguments\)`).FindAllStringSubmatch(
		fmt.Sprintf("%s", slow), -1) {
		more, err := strconv.Atoi(found[1])
		testkit.Must(t, err)
		most = max(most, more+31)
	}
	if keys := (most - 7) / 2; keys > moveMax || keys < moveMax/10 {
		t.Errorf("the largest step has %d keys, want at most %d", keys, moveMax)
	}
	if n := saletest.Text(t, cfg, "HLEN", "past_"+s.ID()); n != strconv.Itoa(orders) {
		t.Errorf("%s orders are kept, want %d", n, orders)
	}
}

// A writer of the ledger of a sale that has ended changes nothing of the next one.
func TestFilledOfAnEndedSale(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 5, 5)
		orders := openStreams(t, cfg, s)[0]
		next := nextOf(s.ID())
		next.Force = true
		if _, _, err := OpenNext(t.Context(), cfg, next); err != nil {
			t.Fatal(err)
		}
		saletest.Command(t, cfg, nil, "HSET", redisx.MarkerKey, "ledger", "filling")
		if err := orders.Filled(); !errors.Is(err, redisx.ErrSaleGone) || !orders.Filling() {
			t.Errorf("filled: %v, want redisx.ErrSaleGone", err)
		}
		if ledger := saletest.Text(t, cfg, "HGET", redisx.MarkerKey, "ledger"); ledger != "filling" {
			t.Errorf("the ledger of the next sale is %s", ledger)
		}
	})
}

// Where a Redis has no memory left, a turnover by force still shuts the sale.
func TestTurnoverWithoutMemory(t *testing.T) {
	server := redistest.New(t)
	cfg := saletest.Config(server)
	next := nextOf(saletest.Open(t, cfg, 5, 5).ID())
	next.Force = true
	server.Do(t, "CONFIG SET maxmemory 1mb")
	_, _, err := OpenNext(t.Context(), cfg, next) // a step of it needs memory and may fail
	if there := saletest.Text(t, cfg, "EXISTS", cfg.KeysOf(next.Before, 0).Stock); there != "0" {
		t.Errorf("the stock of the sale is still there: %v", err)
	}
}

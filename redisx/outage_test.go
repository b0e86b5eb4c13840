package redisx

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

func TestScriptFlushHealed(t *testing.T) { onServers(t, testScriptFlushHealed) }

func testScriptFlushHealed(t *testing.T, server *redistest.Server, cfg Config) {
	s := open(t, cfg, 1000)
	for wave := range 4 {
		server.Do(t, "SCRIPT FLUSH SYNC")
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				user, cart := uint32(50*wave+i+2), cartName(50*wave+i)
				if err := s.addToCart(user, cart, 1, 1); err != nil {
					t.Error(err)
				}
				if err := s.placeOrder(user, cart, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if left, err := s.Stock(); err != nil || left[0] != 800 {
		t.Errorf("stock %v, %v; want 800", left, err)
	}
}

// A frozen Redis: every call ends within the timeout, later ones at once; it thaws and service resumes.
func TestFrozenRedis(t *testing.T) { onServers(t, testFrozenRedis) }

func testFrozenRedis(t *testing.T, server *redistest.Server, cfg Config) {
	cfg.Timeout = 200 * time.Millisecond
	s := open(t, cfg, 1000)
	server.Freeze(t)
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			if err := s.placeOrder(uint32(i+2), cartName(i), nil); !errors.Is(err, ErrUnavailable) {
				t.Errorf("order on a frozen Redis: %v, want ErrUnavailable", err)
			}
		})
	}
	wg.Wait() // a hang fails the test by its own limit
	server.Thaw(t)
	testkit.Until(t, "orders are taken again", func() bool {
		return errors.Is(s.placeOrder(2, cartName(0), nil), ErrCartEmpty)
	})
}

// A Redis that is killed and comes back from its append-only file: every acknowledged order is there.
func TestKilledRedis(t *testing.T) {
	onServers(t, testKilledRedis, "--appendonly", "yes", "--appendfsync", "always")
}

func testKilledRedis(t *testing.T, server *redistest.Server, cfg Config) {
	s := open(t, cfg, 100_000)
	var placed, unknown atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var users atomic.Int64
	for range 20 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				i := users.Add(1)
				if s.addToCart(uint32(i), cartName(int(i)), 1, 1) != nil {
					continue
				}
				switch err := s.placeOrder(uint32(i), cartName(int(i)), nil); {
				case err == nil:
					placed.Add(1)
				case errors.Is(err, ErrUnavailable):
					unknown.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	for kill := range int64(3) {
		before := placed.Load()
		flowing := func() bool { return placed.Load() > before+50 }
		testkit.Until(t, fmt.Sprintf("orders flow before kill %d", kill), flowing)
		server.Kill(t)
		server.Restart(t)
	}
	close(stop)
	wg.Wait()
	testkit.Until(t, "Redis answers", func() bool { return s.Check() == nil })
	left, err := s.Stock()
	if err != nil {
		t.Fatal(err)
	}
	orders := int64(0)
	for scan := s.ScanOrders(); ; {
		page, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		orders += int64(len(page))
	}
	sold, least, most := 100_000-left[0], placed.Load(), placed.Load()+unknown.Load()
	if sold != orders || orders < least || orders > most {
		t.Errorf("sold %d, %d orders, %d acknowledged, %d unknown", sold, orders, placed.Load(), unknown.Load())
	}
}

// A Redis that accepts and never answers: the case in which plain radix blocks for ever.
func TestBlackHole(t *testing.T) { onEngines(t, testBlackHole) }

func testBlackHole(t *testing.T, loop pipeline.Loop) {
	hole := &proxy{target: redistest.Start(t).Socket}
	hole.listen(t)
	cfg := defaults
	cfg.Network, cfg.Address, cfg.Timeout, cfg.Loop = "tcp", hole.address, 200*time.Millisecond, loop
	s := open(t, cfg, 1000)
	hole.swallow.Store(true)
	for i := range 300 {
		if err := s.placeOrder(2, cartName(i), nil); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("order into the hole: %v, want ErrUnavailable", err)
		}
	}
	hole.swallow.Store(false)
	testkit.Until(t, "orders are taken again", func() bool {
		return errors.Is(s.placeOrder(2, cartName(0), nil), ErrCartEmpty)
	})
}

// proxy stands between a test and its Redis; while swallow is set it accepts and drops what comes.
type proxy struct {
	target  string
	address string
	swallow atomic.Bool
}

func (p *proxy) listen(tb testing.TB) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p.address = l.Addr().String()
	tb.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(c)
		}
	}()
}

func (p *proxy) carry(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("unix", p.target)
	if err != nil {
		return
	}
	defer up.Close()
	go io.Copy(c, up)
	for buf := make([]byte, 64<<10); ; {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if p.swallow.Load() {
			continue
		}
		if _, err := up.Write(buf[:n]); err != nil {
			return
		}
	}
}

// A sale drops the connection on which it was sent an evil reply, and serves again on the next one.
func TestEvilReplyDropsTheConnection(t *testing.T) {
	redis := redistest.Start(t)
	between := &proxy{target: redis.Socket}
	between.listen(t)
	cfg := defaults
	cfg.Network, cfg.Address = "tcp", between.address
	s := open(t, cfg, 5)
	raw(t, unix(redis), nil, "SET", "o_7", strings.Repeat("x", 1<<20+1)) // over the limit on a string
	if _, err := s.Order(7); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an order of a megabyte: %v, want ErrUnavailable", err)
	}
	redis.Do(t, `SET o_7 "1:2,|\n1"`)
	testkit.Until(t, "the sale is served again", func() bool {
		order, err := s.Order(7)
		return err == nil && slices.Equal(order.Items, []Item{{1, 2}})
	})
}

func TestErrorReplyBelongsToItsCall(t *testing.T) { onServers(t, testErrorReplyBelongsToItsCall) }

func testErrorReplyBelongsToItsCall(t *testing.T, server *redistest.Server, cfg Config) {
	s := open(t, cfg, 5)
	server.Do(t, "LPUSH c_"+string(cartName(1))+" x") // a wrong type under the cart's key
	if err := s.addToCart(1, cartName(1), 1, 1); !errors.Is(err, ErrUnavailable) {
		t.Errorf("add: %v, want ErrUnavailable", err)
	}
	if err := s.addToCart(1, cartName(2), 1, 1); err != nil {
		t.Errorf("the connection did not survive an error reply: %v", err)
	}
}

func TestNoAllocations(t *testing.T) {
	s := open(t, unix(redistest.Start(t)), 1000)
	user := uint32(0)
	var carts [1100][]byte
	for i := range carts {
		carts[i] = cartName(i)
	}
	done := make(outcome, 1)
	for name, call := range map[string]func(){
		"adds and an order": func() {
			user++
			for range CartMax + 1 { // the last one is refused
				s.AddToCart(user, carts[user], 1, 1, done)
				<-done
			}
			s.PlaceOrder(user, carts[user], nil, done)
			<-done
		},
		"an add to a full cart": func() {
			s.AddToCart(1, carts[0], 1, 1, done)
			<-done
		},
	} {
		if n := testing.AllocsPerRun(900, call); n != 0 && !testkit.Race {
			t.Errorf("%v allocations for %s, want 0", n, name)
		}
	}
}

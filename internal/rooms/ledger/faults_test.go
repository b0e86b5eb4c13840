package ledger

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// A consumer that dies between the commit and Done writes the batch again after its restart.
func testCommitWithoutDone(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "restart")
	l := s.ledger(t, "a")
	s.buy(t, users(2, 20)...)
	s.half(t, l)
	testkit.Background(t, s.ledger(t, "a").Run)
	s.await(t, 19)
	s.check(t, users(2, 20)...)
}

// half reads a batch and writes it, but does not say so.
func (s *shop) half(t *testing.T, l *Ledger) {
	t.Helper()
	stream, err := l.writers[0].open(t.Context())
	testkit.Must(t, err)
	defer stream.Close()
	orders, err := stream.Read(false, batchMax)
	if err != nil || len(orders) == 0 {
		t.Fatalf("%d orders to write, %v", len(orders), err)
	}
	testkit.Must(t, l.cfg.Database.Prepare(t.Context()))
	first := []entry{l.book.entry(orders[0].Order)}
	testkit.Must(t, l.cfg.Database.write(t.Context(), first))
}

// Another server takes over what a dead one has left, whether it was written or not.
func testDeadConsumer(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "dead")
	s.buy(t, users(2, 9)...)
	dead := s.ledger(t, "dead")
	s.buy(t, users(10, 20)...)
	s.half(t, dead)
	alive := s.ledger(t, "alive")
	alive.takeOverIdle, alive.takeOverEvery = 50*time.Millisecond, 10*time.Millisecond
	testkit.Background(t, alive.Run)
	s.buy(t, 21)
	s.await(t, 20)
	s.check(t, users(2, 21)...)
}

// The sale goes on without its database, one line says how far behind it is, and then everything is there.
func testDatabaseAway(t *testing.T, server *launch.MariaDB) {
	log := testkit.CaptureLog(t)
	s := openShop(t, roomtest.Redis(t), server, "away")
	l := s.ledger(t, "a")
	l.behindAfter, l.behindEvery = 500*time.Millisecond, 20*time.Millisecond
	testkit.Background(t, l.Run)
	s.buy(t, 2)
	s.await(t, 1)
	if !l.Up() {
		t.Error("the ledger is not up with its database")
	}
	server.Kill()
	s.buy(t, users(3, 100)...)
	testkit.Until(t, "line about the fault", func() bool {
		return log.Count("orders do not get into the database; they wait in Redis") == 1
	})
	if l.Up() {
		t.Error("the ledger is up without its database")
	}
	testkit.Until(t, "line about the backlog", func() bool {
		return log.Count(`"the database is behind the sale" orders=98 oldest=`) > 2
	})
	if found, err := s.Ready(); err != nil || found.Orders != 98 || found.Age(time.Now()) <= 0 {
		t.Errorf("backlog %+v, %v; want 98 orders", found, err)
	}
	server.Restart(t)
	s.await(t, 99)
	s.check(t, users(2, 100)...)
	testkit.Until(t, "line about the end", func() bool { // a slow machine is behind at other times too
		text := log.String()
		return strings.LastIndex(text, "no longer behind the sale") > strings.LastIndex(text, "is behind the sale")
	})
	if n := log.Count("orders do not get into the database"); n != 1 {
		t.Errorf("the fault is logged %d times, want once", n)
	}
	testkit.Until(t, "line about the end of the fault", func() bool {
		return log.Count("orders go to the database again") == 1 && l.Up()
	})
	if n := log.Count("toor"); n != 0 {
		t.Error("the log shows the password")
	}
}

// A database that accepts and does not answer holds up neither the sale nor a stop.
func testDatabaseFrozen(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "frozen")
	l := s.ledger(t, "a")
	l.flushLimit = 50 * time.Millisecond
	stop := testkit.Background(t, l.Run)
	s.buy(t, 2)
	s.await(t, 1)
	server.Freeze()
	s.buy(t, users(3, 50)...)
	start := time.Now()
	stop()
	if took := time.Since(start); took > stallTimeout {
		t.Errorf("a stop took %v", took)
	}
	if found, err := s.Ready(); err != nil || found.Orders != 48 {
		t.Errorf("%d orders in the stream, %v; want 48", found.Orders, err)
	}
	testkit.Background(t, s.ledger(t, "a").Run)
	server.Thaw()
	s.await(t, 49)
	s.check(t, users(2, 50)...)
}

// load places orders of these users until stop, several at once, and returns who has one.
func (s *shop) load(t *testing.T, first, last uint32, fault func()) (placed []uint32) {
	t.Helper()
	var mu sync.Mutex
	next := first
	var buying sync.WaitGroup
	half := make(chan struct{})
	for range 8 {
		buying.Go(func() {
			for {
				mu.Lock()
				user := next
				next++
				mu.Unlock()
				if user == (first+last)/2 {
					close(half)
				}
				if user > last {
					return
				}
				if s.settle(user) {
					mu.Lock()
					placed = append(placed, user)
					mu.Unlock()
				}
			}
		})
	}
	<-half
	fault()
	buying.Wait()
	return placed
}

// settle orders until the outcome is known: true when the user has an order. A cart may have been lost on
// the way.
func (s *shop) settle(user uint32) bool {
	for try := 0; ; try++ {
		err := s.order(user)
		switch {
		case err == nil:
			return true
		case errors.Is(err, redisx.ErrHasOrder):
			return true
		case !errors.Is(err, redisx.ErrUnavailable) && !errors.Is(err, redisx.ErrOverLimit):
			panic(err)
		case try > 1_000_000:
			return false
		}
		if order, err := s.Order(user); err == nil && len(order.Items) > 0 {
			return true
		}
		if errors.Is(err, redisx.ErrOverLimit) { // pieces of an earlier try are in the cart
			if s.PlaceOrder(user, fmt.Appendf(nil, "cart%012d", user), nil) == nil {
				return true
			}
		}
	}
}

func testDatabaseKilled(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "killed")
	testkit.Background(t, s.ledger(t, "a").Run)
	testkit.Background(t, s.ledger(t, "b").Run)
	for kill := range uint32(2) {
		placed := s.load(t, 2+kill*1000, 1001+kill*1000, func() {
			server.Kill()
			server.Restart(t)
		})
		if len(placed) != 1000 {
			t.Errorf("%d orders, want 1000: the sale does not need the database", len(placed))
		}
	}
	s.await(t, 2000)
	s.check(t, users(2, 2001)...)
}

// With appendfsync always no acknowledged order is lost, neither from the sale nor on its way to the
// database.
func testRedisKilled(t *testing.T, server *launch.MariaDB) {
	redis := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	s := openShop(t, roomtest.Of(redis), server, "redis")
	testkit.Background(t, s.ledger(t, "a").Run)
	for kill := range uint32(2) {
		s.load(t, 2+kill*1000, 1001+kill*1000, func() {
			redis.Kill(t)
			if kill > 0 { // both at once
				server.Kill()
				server.Restart(t)
			}
			redis.Restart(t)
		})
	}
	s.await(t, 2000)
	// What was bought is asked of Redis: a cart whose answer was lost may have got other pieces than
	// planned.
	a, err := Compare(t.Context(), s.auditConfig(t))
	if err != nil || !a.Equal() || a.InRedis != 2000 || a.Rows != 2000 {
		t.Errorf("audit %+v, %v; want 2000 orders in both", a, err)
	}
}

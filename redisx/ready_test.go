package redisx

import (
	"context"
	"errors"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	sys "golang.org/x/sys/unix"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

func TestReady(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5)
		before := rawString(t, cfg, "DBSIZE")
		for range 3 {
			if backlog, err := s.Ready(); err != nil || backlog.Kept {
				t.Errorf("ready: %+v, %v", backlog, err)
			}
		}
		if after := rawString(t, cfg, "DBSIZE"); after != before {
			t.Errorf("%s keys before, %s after", before, after)
		}
		raw(t, cfg, nil, "FLUSHALL")
		if _, err := s.Ready(); !errors.Is(err, ErrSaleGone) {
			t.Errorf("without the sale: %v, want ErrSaleGone", err)
		}
	})
}

// checkWritesRefused expects Ready to agree with what an add meets, before and after.
func checkWritesRefused(t *testing.T, s *Sale, begin, end func(), reply string) {
	t.Helper()
	if _, err := s.Ready(); err != nil {
		t.Fatal(err)
	}
	begin()
	user := uint32(2)
	testkit.Until(t, "an add is refused", func() bool {
		user++
		return s.addToCart(user, cartName(int(user)), 1, 1) != nil
	})
	_, err := s.Ready()
	want := "writes are refused: " + reply
	if !errors.Is(err, ErrWritesRefused) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("ready: %v\nwant  %s", err, want)
	}
	end()
	testkit.Until(t, "the sale is ready again", func() bool {
		_, err := s.Ready()
		return err == nil
	})
	testkit.Wants(t, "an add on a ready sale", s.addToCart(1, cartName(1), 1, 1), nil)
}

func TestReadyAsksForWrites(t *testing.T) {
	for name, tc := range map[string]struct{ begin, end, reply string }{
		"memory": {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0",
			"OOM command not allowed when used memory > 'maxmemory'."},
		"replica": {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE",
			"READONLY You can't write against a read only replica."},
		"replicas of its own": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0",
			"NOREPLICAS Not enough good replicas to write."},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, server *redistest.Server, cfg Config) {
				s := open(t, cfg, 10)
				begin, end := func() { server.Do(t, tc.begin) }, func() { server.Do(t, tc.end) }
				checkWritesRefused(t, s, begin, end, tc.reply)
			})
		})
	}
}

// A limit on the size of its files fails the writes of Redis as a full disk does.
func TestReadyOnAFullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ) // redis-server inherits that: a write over the limit is then an error
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "everysec")
	signal.Reset(syscall.SIGXFSZ)
	s := open(t, unix(server), 10)
	limit := func(bytes uint64) {
		limits := sys.Rlimit{Cur: bytes, Max: sys.RLIM_INFINITY}
		testkit.Must(t, sys.Prlimit(server.Pid(), sys.RLIMIT_FSIZE, &limits, nil))
	}
	checkWritesRefused(t, s, func() { limit(1) }, func() { limit(sys.RLIM_INFINITY) },
		"MISCONF Errors writing to the AOF file: File too large")
}

// A server joins an open sale also where Redis takes no writes, and an order of a full cart is still placed
// there.
func TestJoinAndOrderWithoutMemory(t *testing.T) { onServers(t, testJoinAndOrderWithoutMemory) }

func testJoinAndOrderWithoutMemory(t *testing.T, server *redistest.Server, cfg Config) {
	s := open(t, cfg, 10)
	testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
	server.Do(t, "CONFIG SET maxmemory 1")
	other := Opening{Catalog: catalogPrint, Stock: []int64{10}, Server: []Fingerprint{{"ab", "cd", "ef"}}}
	if opened, err := Open(t.Context(), cfg, other); err != nil || opened.Sale != s.ID() {
		t.Errorf("joined %+v, %v", opened, err)
	}
	testkit.Wants(t, "order", s.placeOrder(2, cartName(2), nil), nil)
}

// A Redis that wants another password in mid-sale answers, and the log has its words.
func TestPasswordChangedInMidSale(t *testing.T) { onServers(t, testPasswordChangedInMidSale) }

func testPasswordChangedInMidSale(t *testing.T, server *redistest.Server, cfg Config) {
	log := testkit.CaptureLog(t)
	s := open(t, cfg, 10)
	server.Do(t, "CONFIG SET requirepass other\r\nCLIENT KILL TYPE normal SKIPME yes")
	testkit.Until(t, "the refusal is logged", func() bool {
		testkit.Wants(t, "add", s.addToCart(2, cartName(2), 1, 1), ErrUnavailable)
		return log.Count("NOAUTH Authentication required. (set REDIS_PASSWORD)") == 1
	})
	if log.Count("Redis refuses to serve: orders get 503 until it does") != 1 {
		t.Errorf("log %s", log)
	}
}

// endedLoop is an event loop that has ended: a connection on it never serves.
type endedLoop struct{ pipeline.Loop }

func (endedLoop) AtEnd(func(time.Time) time.Time) {}
func (endedLoop) Post(func()) bool                { return false }

var threeLooks = regexp.MustCompile(`cmdstat_hgetall:calls=([3-9]|\d\d)`)

// As long as only the connection for reads serves, a sale is not ready and its stock is not published:
// every order would get 503.
func TestNotReadyWithoutConnectionForChanges(t *testing.T) {
	server := redistest.Start(t)
	cfg := unix(server)
	opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Stock: []int64{5}})
	testkit.Must(t, err)
	cfg.Loop = endedLoop{}
	s := Join(cfg, opened.Sale, 1, usersMax)
	runUnready(t, s)
	testkit.Until(t, "reads are answered", func() bool { return s.Check() == nil })
	if _, err := s.Ready(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("ready: %v, want ErrUnavailable", err)
	}
	server.Do(t, "CONFIG RESETSTAT")
	testkit.Background(t, func(ctx context.Context) error {
		s.Snapshots(ctx, time.Hour, func(found Snapshot) { t.Errorf("published %v", found) },
			func() { t.Error("the sale is gone") })
		return nil
	})
	testkit.Until(t, "three looks at the stock", func() bool {
		return threeLooks.MatchString(rawString(t, cfg, "INFO", "commandstats"))
	})
}

package redisx

import (
	"errors"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	sys "golang.org/x/sys/unix"

	"flashsale/internal/testkit"
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
	wantError(t, "an add on a ready sale", s.addToCart(1, cartName(1), 1, 1), nil)
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

package handlers

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/orderstream"
	"flashsale/redisx/redistest"
)

// A sale that keeps a ledger tells how far the database is behind and is ready all the same.
func TestReadyTellsOfTheLedger(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		stream, err := orderstream.Open(t.Context(), s.redis, s.cfg.Sale.ID(), 0, 5, "a")
		testkit.Must(t, err)
		defer stream.Close()
		ready := `{"status":"ready","sale":"` + s.cfg.Sale.ID() +
			`","users":20,"foods":5,"ledger":{"orders_waiting":0,"oldest_seconds":0}}`
		s.expect(t, 0, "GET", "/readyz", "", 200, ready)
	})
}

// A Redis that answers and refuses writes is not ready. Only operators read its words.
func TestReadySaysThatWritesAreRefused(t *testing.T) { onEngines(t, testWritesRefused) }

func testWritesRefused(t *testing.T, open opener) {
	for name, tc := range map[string]struct{ do, reason string }{
		"memory":  {"CONFIG SET maxmemory 1", `OOM command not allowed when used memory > 'maxmemory'.`},
		"replica": {"REPLICAOF 127.0.0.1 1", `READONLY You can't write against a read only replica.`},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.New(t)
			s := open(t, "unix", server.Socket)
			server.Do(t, tc.do)
			s.do(func() { s.cfg.ServiceToken = serviceToken })
			words := `{"code":"SERVICE_UNAVAILABLE","message":"writes are refused: ` + tc.reason + `"}`
			for _, user := range []uint32{0, 2} {
				s.expect(t, user, "GET", "/readyz", "", 503, unavailable)
			}
			s.expect(t, 0, "GET", "/readyz", "", 503, unavailable, "Authorization", "Bearer "+serviceToken+"x")
			s.expect(t, 0, "GET", "/readyz", "", 503, words, "Authorization", "Bearer "+serviceToken)
			h := s.expect(t, 1, "GET", "/readyz", "", 503, words)
			if h.Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q, want 1", h.Get("Retry-After"))
			}
			s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(2), `{"food_id":1,"count":1}`, 503, unavailable)
		})
	}
}

// Redis is asked once each readyInterval, whatever the number of callers.
func TestReadyFlood(t *testing.T) { onEngines(t, testReadyFlood) }

func testReadyFlood(t *testing.T, open opener) {
	server := redistest.Start(t)
	s := open(t, "unix", server.Socket)
	ready := `{"status":"ready","sale":"` + s.cfg.Sale.ID() + `","users":20,"foods":5}`
	server.Do(t, "CONFIG RESETSTAT")
	begin := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 20 {
				s.expect(t, 0, "GET", "/readyz", "", 200, ready)
			}
		})
	}
	wg.Wait()
	most := int(time.Since(begin)/readyInterval) + 1
	if n := commandCalls(t, server, "lpushx"); n < 1 || n > most {
		t.Errorf("%d checks for 400 calls, want 1 to %d", n, most)
	}
}

// What is known of Redis is told on the event loop; it is asked for elsewhere.
func TestReadyOnTheLoop(t *testing.T) {
	s := openOnLoop(t, "unix", redistest.Start(t).Socket)
	s, lines := s.logged(t, 1)
	for i, where := range []string{lentByLoop, onEventLoop} {
		s.call(t, 0, "GET", "/readyz", "")
		if line := lines.await(t, i+1)[i]; !strings.HasSuffix(line, " connection="+where+"\n") {
			t.Errorf("call %d: %s, want connection=%s", i, line, where)
		}
		s.readiness.mu.Lock()
		s.readiness.last.begun = time.Now().Add(time.Hour) // it stays recent
		s.readiness.mu.Unlock()
	}
}

// commandCalls returns the number of times that Redis has carried out a command since CONFIG RESETSTAT.
func commandCalls(t *testing.T, server *redistest.Server, command string) int {
	t.Helper()
	reply := server.Do(t, `EVAL "local stats = redis.call('INFO', 'commandstats') `+
		`return tonumber(string.match(stats, 'cmdstat_`+command+`:calls=(%d+)') or 0)" 0`)
	n, err := strconv.Atoi(strings.TrimPrefix(reply, ":"))
	testkit.Must(t, err)
	return n
}

func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l readiness
		asked, answer := 0, make(chan string)
		ask := func() ([]byte, *failure, *failure) {
			asked++
			return []byte(<-answer), nil, nil
		}
		// All who come while a check is under way get its outcome, however long it takes.
		got := make(chan string, 10)
		for range cap(got) {
			go func() { got <- string(l.check(ask).body) }()
			time.Sleep(readyInterval)
		}
		synctest.Wait()
		answer <- "first"
		for range cap(got) {
			if body := <-got; body != "first" {
				t.Errorf("%q, want the first check", body)
			}
		}
		// It began long ago: the next caller asks again, and those who follow within the interval do not.
		go func() { answer <- "second" }()
		for range 3 {
			if body := string(l.check(ask).body); body != "second" {
				t.Errorf("%q, want the second check", body)
			}
			time.Sleep(readyInterval / 3)
		}
		time.Sleep(readyInterval)
		go func() { answer <- "third" }()
		if body := string(l.check(ask).body); body != "third" || asked != 3 {
			t.Errorf("%q after %d checks, want the third", body, asked)
		}
	})
}

// A check that panics leaves no caller waiting.
func TestReadinessPanics(t *testing.T) {
	var l readiness
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		l.check(func() ([]byte, *failure, *failure) { panic("in a check") })
	}()
	if got := l.check(nil).failure; got != errInternal {
		t.Errorf("outcome %v, want errInternal", got)
	}
}

func TestHealth(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expect(t, 0, "GET", "/healthz", "", 200, `{"status":"alive"}`)
		s.expect(t, 0, "GET", "/readyz", "", 200,
			`{"status":"ready","sale":"`+s.cfg.Sale.ID()+`","users":20,"foods":5}`)
		s.foods.Store(nil)
		s.expect(t, 0, "GET", "/readyz", "", 503, unavailable)
		s.expect(t, 0, "GET", "/healthz", "", 200, `{"status":"alive"}`)
	})
}

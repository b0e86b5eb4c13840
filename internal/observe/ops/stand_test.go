package ops

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// started is the test server's start.
var started = time.Unix(1_700_000_000, 0)

const patience = 20 * time.Second // with a Redis that is slow, as on a busy machine

// newConfig is a server of two workers, with a sale of so many slices in its Redis, for which it waits for
// so long.
func newConfig(
	tb testing.TB, server *redistest.Server, slices int, timeout time.Duration,
) (cfg Config, workers []*figures.Worker) {
	tb.Helper()
	testkit.KeepLog(tb)
	memory, err := figures.New(2)
	testkit.Must(tb, err)
	tb.Cleanup(func() { memory.File().Close() })
	for number := range 2 {
		w, err := figures.Join(memory.File(), number)
		testkit.Must(tb, err)
		tb.Cleanup(w.Leave)
		workers = append(workers, w)
	}
	redis := redisx.Config{CartTTL: time.Hour, Quiet: true, Slices: slices}
	redis.Network, redis.Address, redis.Timeout = "unix", server.Socket, patience
	if slices > 1 { // what only some sales show
		redis.Hold = time.Hour
	}
	opened, err := redisx.Open(tb.Context(), redis,
		redisx.Opening{Catalog: "3 foods, 0123456789abcdef", Stock: []int64{10, 0, 5}})
	testkit.Must(tb, err)
	redis.Timeout = timeout
	return Config{Figures: memory, Version: "v1.2.3", Started: started, Pieces: 20,
		Watch: redisx.Join(redis, opened.Sale, 3, 0)}, workers
}

// everyRoom shows what the rooms of a server know.
func everyRoom(s *Scrape) {
	s.SetFlag(figures.LedgerUp, true)
	s.Set(figures.MessagesStored, 50)
	s.Set(figures.MessagesWaiting, 0)
	s.Set(figures.WebhookEvents, 9, "shop", "delivered")
	s.Set(figures.WebhookBehind, 2, "shop")
	s.Set(figures.WebhookAge, 1.5, "shop")
	s.Set(figures.WebhookDead, 1, "shop")
	s.SetFlag(figures.WebhookOff, false, "shop")
	s.SetFlag(figures.VKUp, false)
	s.SetFlag(figures.PushUp, true)
	s.Set(figures.RefundsDue, 3)
	s.Set(figures.RefundsDueFor, 60)
	s.SetFlag(figures.VKTokenRefused, true, "7")
	s.Set(figures.Documents, 130)
	s.SetAge(figures.BlocklistAge, time.Now().Add(time.Hour)) // a clock that was set back
	s.Set(figures.BlocklistRefresh, 86400)
	s.SetTime(figures.CertificateEnd, time.Unix(1_900_000_000, 0))
	if s.RedisUp() {
		s.Set(figures.VKWaiting, 4)
		s.Set(figures.TrafficKeys, 70)
		s.Set(figures.TrafficKeysMax, 100)
	}
}

// count counts something of everything, in both workers.
func count(workers []*figures.Worker) {
	for i, w := range workers {
		w.Starts.Inc()
		w.Calls.Count(w.Calls.Index("POST /orders"), 200, 700*time.Microsecond)
		w.Calls.Count(w.Calls.Index("POST /orders"), 403, 300*time.Microsecond)
		w.Refusals.Inc(w.Refusals.Index([]byte("FOOD_OUT_OF_STOCK")))
		w.LimitsRefused.Inc(w.LimitsRefused.Index([]byte("order")))
		for _, c := range []*figures.Counter{&w.ConnectionsRefused, &w.OrdersPlaced, &w.RepeatsCounted,
			&w.RepeatsNotRecorded, &w.TrafficDroppedHits, &w.LogLinesDropped, &w.ViewersDropped,
			&w.Heartbeats, &w.PresenceLookups,
			&w.Redis.Reconnects, &w.Redis.Overloads} {
			c.Inc()
		}
		w.Redis.BatchCalls.Observe(3)
		w.Redis.QueueWait.Observe(time.Millisecond)
		w.Redis.RoundTrip.Observe(2 * time.Second)
		w.Connections.Set(int64(5 + i))
		w.ConnectionsMax.Set(100)
		w.Viewers.Set(int64(3 + i))
		w.QueueCalls.Set(2)
		w.QueueCallsMax.Set(8192)
		w.StockRead.Set(time.Now().Add(-time.Minute).UnixNano())
	}
}

// serve serves metrics until the test ends and returns their address.
func serve(tb testing.TB, cfg Config, rooms ...Room) (address string) {
	tb.Helper()
	l, err := Listen("127.0.0.1:0")
	testkit.Must(tb, err)
	s := New(cfg, l, rooms...)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return "http://" + s.Address()
}

func get(tb testing.TB, url string) (status int, text string) {
	tb.Helper()
	r, err := http.Get(url)
	testkit.Must(tb, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	testkit.Must(tb, err)
	return r.StatusCode, string(body)
}

// values are the lines of a scrape that are values, by their names and labels.
func values(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := cutLast(strings.TrimSpace(line)); ok && !strings.HasPrefix(line, "#") {
			found[name] = value
		}
	}
	return found
}

func cutLast(line string) (name, value string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// awaitRedis waits for the first scrape with the sale, and returns it.
func awaitRedis(tb testing.TB, address, up string) (text string) {
	tb.Helper()
	testkit.Until(tb, "redis_up "+up, func() bool {
		_, text = get(tb, address+"/metrics")
		return values(text)["flashsale_redis_up"] == up
	})
	return text
}

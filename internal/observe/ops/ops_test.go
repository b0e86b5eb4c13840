package ops

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// One scrape covers all workers. Every family of the list comes, with its type and its help.
func TestMetrics(t *testing.T) {
	server := redistest.Start(t)
	cfg, workers := newConfig(t, server, 3, patience)
	count(workers)
	server.Do(t, "XADD orders_"+cfg.Watch.ID()+"{sale} * user 1 items 1:1,")
	server.Do(t, "HSET stock_"+cfg.Watch.ID()+"{sale} +1 4 +3 -2 orders 3")
	server.Do(t, "HSET stock_"+cfg.Watch.ID()+"{sale} ~1 2")
	server.Do(t, "ZADD holds_"+cfg.Watch.ID()+"{sale} 4000000000000 2")
	server.Do(t, "HSET sale paused 1")
	server.Do(t, "HINCRBY sale revision 1")
	text := awaitRedis(t, serve(t, cfg, everyRoom), "1")
	got := values(text)
	for name, want := range map[string]string{
		`sale_info{sale="` + cfg.Watch.ID() + `"}`: "1", "start_time_seconds": "1.7e+09",
		`requests_total{call="POST /orders",code="200"}`:                              "2",
		`requests_total{call="POST /orders",code="403"}`:                              "2",
		`request_duration_seconds_bucket{call="POST /orders",code="2xx",le="0.0005"}`: "0",
		`request_duration_seconds_bucket{call="POST /orders",code="2xx",le="0.001"}`:  "2",
		`request_duration_seconds_bucket{call="POST /orders",code="4xx",le="+Inf"}`:   "2",
		`request_duration_seconds_sum{call="POST /orders",code="2xx"}`:                "0.0014",
		`refusals_total{reason="FOOD_OUT_OF_STOCK"}`:                                  "2",
		"orders_placed_total": "2", "stock_pieces": "15", "foods_sold_out": "1", "sale_pieces_sold": "5",
		"sale_pieces_held": "2", "sale_orders_held": "1", "hold_overdue_seconds": "0",
		`orders_released_total{reason="expired"}`: "0",
		"sale_orders": "3", "slices": "3", "slices_away": "0", "slices_lost": "0", "slices_behind": "2",
		"redis_clock_skew_seconds": "0", `sale_state{state="paused"}`: "1", `sale_state{state="open"}`: "0",
		`connections{worker="0"}`: "5", `connections{worker="1"}`: "6", `connections_max{worker="1"}`: "100",
		`live_viewers{worker="1"}`: "4", "live_viewers_dropped_total": "2",
		"connections_refused_total": "2", "redis_reconnects_total": "2", "redis_batches_total": "2",
		"redis_calls_total": "6", `redis_batch_calls_bucket{le="2"}`: "0", `redis_batch_calls_bucket{le="4"}`: "2",
		"redis_batch_calls_sum": "6", "redis_queue_wait_seconds_count": "2", "redis_round_trip_seconds_sum": "4",
		"redis_overload_refusals_total": "2", `redis_queue_calls{worker="1"}`: "2",
		`redis_queue_calls_max{worker="0"}`: "8192", "ledger_lag_orders": "1", "ledger_up": "1",
		`worker_starts_total{worker="0"}`: "1", "workers": "2", `limits_refused_total{event="order"}`: "2",
		"repeats_counted_total": "2", "vk_replies_waiting": "4", "vk_up": "0", `vk_token_refused{group="7"}`: "1",
		"blocklist_age_seconds": "0", "repeats_not_recorded_total": "2",
		"blocklist_documents": "130", "blocklist_refresh_seconds": "86400",
		"traffic_dropped_hits_total": "2", "traffic_keys": "70", "traffic_keys_max": "100",
		"presence_heartbeats_total": "2", "presence_lookups_total": "2",
		"log_lines_dropped_total":              "2",
		"certificate_expiry_timestamp_seconds": "1.9e+09",
	} {
		if got["flashsale_"+name] != want {
			t.Errorf("%s is %q, want %s", name, got["flashsale_"+name], want)
		}
	}
	for _, f := range figures.Families {
		if !strings.Contains(text, fmt.Sprintf("# HELP %s %s\n# TYPE %[1]s %[3]s\n", f.Name, f.Help, f.Type)) {
			t.Errorf("%s is not in the scrape, or not as %s", f.Name, f.Type)
		}
	}
	if n := strings.Count(text, "# TYPE "); n != len(figures.Families) {
		t.Errorf("%d families in the scrape, %d in the list", n, len(figures.Families))
	}
	lint(t, cfg, text)
}

// A scrape is of one sale, also where the next one follows while it runs.
func TestOneSaleOfAScrape(t *testing.T) {
	cfg, _ := newConfig(t, redistest.Start(t), 1, patience)
	asked := 0
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(func() *Config {
		asked++
		return &cfg
	}, nil))
	_, err := registry.Gather()
	testkit.Must(t, err)
	if asked != 1 {
		t.Errorf("the sale is asked for %d times, want once", asked)
	}
}

// lint holds the metrics to the conventions of Prometheus, by its library and by its own tool.
func lint(t *testing.T, cfg Config, text string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(func() *Config { return &cfg }, []Room{everyRoom}))
	problems, err := testutil.GatherAndLint(registry)
	testkit.Must(t, err)
	if len(problems) > 0 {
		t.Errorf("lint: %v", problems)
	}
	if n, err := testutil.GatherAndCount(registry); n < len(figures.Families) || err != nil {
		t.Errorf("%d metrics were linted, %v", n, err)
	}
	check := exec.Command(testkit.Need(t, "promtool"), "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// A server without rooms, with one slice, which has not counted anything yet, shows nothing of them.
func TestRoomsThatAreOff(t *testing.T) {
	cfg, _ := newConfig(t, redistest.Start(t), 1, patience)
	text := awaitRedis(t, serve(t, cfg), "1")
	for _, f := range []*figures.Family{figures.LedgerUp, figures.VKUp, figures.Documents,
		figures.CertificateEnd, figures.SnapshotAge, figures.Slices, figures.SlicesAway, figures.SlicesLost,
		figures.SlicesBehind, figures.ClockSkew, figures.PiecesHeld, figures.OrdersHeld, figures.HoldOverdue} {
		if strings.Contains(text, f.Name) {
			t.Errorf("%s is there", f.Name)
		}
	}
}

// A scrape answers also while Redis is away or does not answer: the figures of the sale are missing then.
func TestRedisAway(t *testing.T) {
	server := redistest.New(t)
	cfg, workers := newConfig(t, server, 3, RedisTimeout)
	count(workers)
	address := serve(t, cfg, everyRoom)
	awaitRedis(t, address, "1")
	expectAway := func(slices string) {
		t.Helper()
		var got map[string]string
		testkit.Until(t, "slices "+slices, func() bool {
			got = values(awaitRedis(t, address, "0"))
			return got["flashsale_slices_"+slices] == "3"
		})
		_, stock := got["flashsale_stock_pieces"]
		_, waits := got["flashsale_vk_replies_waiting"]
		if orders := got["flashsale_orders_placed_total"]; stock || waits || orders != "2" {
			t.Errorf("stock %v, replies %v, orders %s", stock, waits, orders)
		}
	}
	server.Freeze(t)
	expectAway("away")
	server.Thaw(t)
	awaitRedis(t, address, "1")
	server.Kill(t)
	expectAway("away")
	server.Restart(t)
	server.Do(t, "FLUSHALL") // another Redis than that of the sale
	expectAway("lost")
}

func TestOtherPages(t *testing.T) {
	cfg, _ := newConfig(t, redistest.Start(t), 1, patience)
	address := serve(t, cfg)
	if status, text := get(t, address+"/healthz"); status != 200 || text != `{"status":"alive"}` {
		t.Errorf("/healthz: %d %s", status, text)
	}
	want := "flashsale, sale " + cfg.Watch.ID() + ": see /metrics and /healthz\n"
	if status, text := get(t, address+"/"); status != 200 || text != want {
		t.Errorf("/: %d %s", status, text)
	}
	if status, _ := get(t, address+"/nowhere"); status != 404 {
		t.Errorf("/nowhere: %d", status)
	}
	taken := strings.TrimPrefix(address, "http://")
	if _, err := Listen(taken); err == nil || !strings.HasPrefix(err.Error(), "cannot serve metrics (-ops): ") {
		t.Errorf("a port that is taken: %v", err)
	}
}

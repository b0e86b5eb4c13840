package status

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"flashsale/internal/observe/ops"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/grafana"
)

const started = "flashsale_start_time_seconds 1000\n"

// at is a reading that many seconds after an origin; the clock of the server is right.
func at(t *testing.T, seconds int, text string) *reading {
	t.Helper()
	now := time.Unix(1_800_000_000+int64(seconds), 0)
	if !strings.Contains(text, "start_time") {
		text += started
	}
	if !strings.Contains(text, "flashsale_time_seconds") {
		text += fmt.Sprintf("flashsale_time_seconds %d\n", now.Unix())
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	testkit.Must(t, err)
	return &reading{now, families}
}

// watched is a Status of one server that was read at these moments.
func watched(readings ...*reading) *Status {
	one := &server{address: "a:9100"}
	for _, r := range readings {
		one.add(r, nil)
	}
	s := &Status{servers: []*server{one}}
	s.wrong = findWrong(s.servers)
	return s
}

// trips is a histogram of round trips: fast ones in 1 ms, slow ones in 60 ms and slower than 250 ms.
func trips(fast, slow, slower int) string {
	const name = "flashsale_redis_round_trip_seconds"
	return fmt.Sprintf(`# TYPE %[1]s histogram
%[1]s_bucket{le="0.001"} %[2]d
%[1]s_bucket{le="0.05"} %[2]d
%[1]s_bucket{le="0.1"} %[3]d
%[1]s_bucket{le="0.25"} %[3]d
%[1]s_bucket{le="+Inf"} %[4]d
%[1]s_count %[4]d
%[1]s_sum 1
`, name, fast, fast+slow, fast+slow+slower)
}

const (
	going   = "flashsale_sale_pieces_sold 5\nflashsale_stock_pieces 95\nflashsale_orders_placed_total "
	open    = "flashsale_sale_state{state=\"open\"} 1\n"
	selling = open + going
	paused  = "flashsale_sale_state{state=\"open\"} 0\n" + going
	list    = "flashsale_blocklist_documents 9\nflashsale_blocklist_refresh_seconds 36000\n"
)

// conditionTests have one case for each alert but ServerAway.
var conditionTests = []struct {
	before, now string
	seconds     int // between the two
	wrong       string
}{
	{started, "flashsale_start_time_seconds 1100\n", 5, "ServerRestarted: a:9100: it was started again"},
	{`flashsale_worker_starts_total{worker="0"} 1
flashsale_worker_starts_total{worker="1"} 1
`, `flashsale_worker_starts_total{worker="0"} 2
flashsale_worker_starts_total{worker="1"} 3
`, 60, "WorkerRestarting: a:9100: worker 1 was started 2 times"},
	{"", "flashsale_redis_up 0\n", 1,
		"RedisAway: a:9100: Redis does not answer, has another sale, or takes no writes"},
	{"flashsale_redis_reconnects_total 0\n", "flashsale_redis_reconnects_total 4\nflashsale_workers 2\n", 60,
		"RedisReconnecting: a:9100: connections to Redis were lost 4 times"},
	{trips(100, 0, 0), trips(200, 40, 0), 1, "RedisSlow: a:9100: round trips to Redis: p99 98.2ms"},
	{trips(100, 0, 0), trips(2000, 0, 2), 1,
		"RedisStalls: a:9100: 2 round trips to Redis took longer than 250 ms"},
	{"", `flashsale_redis_queue_calls{worker="0"} 10
flashsale_redis_queue_calls{worker="1"} 900
flashsale_redis_queue_calls_max{worker="0"} 1000
flashsale_redis_queue_calls_max{worker="1"} 1000
`, 1, "QueueNearLimit: a:9100: the queue of calls to Redis is 90% full"},
	{"flashsale_redis_overload_refusals_total 1\n", "flashsale_redis_overload_refusals_total 3\n", 1,
		"QueueNearLimit: a:9100: 2 calls were refused because too many wait for Redis"},
	{"", `flashsale_connections{worker="0"} 95
flashsale_connections_max{worker="0"} 100
`, 1, "ConnectionsNearLimit: a:9100: a worker has 95% of its connections"},
	{`flashsale_requests_total{call="POST /orders",code="200"} 100
`, `flashsale_requests_total{call="POST /orders",code="200"} 190
flashsale_requests_total{call="POST /orders",code="503"} 6
flashsale_requests_total{call="POST /login",code="429"} 4
flashsale_requests_total{call="POST /limits/check",code="200"} 1000
`, 1, "RefusalsHigh: a:9100: 10 of 100 calls of buyers were refused with 429 or 5xx"},
	{"", "flashsale_ledger_up 0\n", 1,
		"LedgerBehind: a:9100: orders do not get into the database of the ledger"},
	{"", "flashsale_ledger_up 1\nflashsale_ledger_lag_orders 20000\n", 1,
		"LedgerBehind: a:9100: the ledger is 20000 orders behind"},
	{"", list + "flashsale_blocklist_age_seconds 72000\n", 1,
		"BlocklistStale: a:9100: the blocklist was last refreshed 20.0 hours ago"},
	{"", "flashsale_blocklist_documents 0\nflashsale_blocklist_refresh_seconds 36000\n", 1,
		"BlocklistStale: a:9100: there is no blocklist: all logins pass"},
	{"", "flashsale_vk_up 0\nflashsale_vk_replies_waiting 3\n", 1,
		"VKRepliesWait: a:9100: 3 replies of the bot wait for VK"},
	{"", "flashsale_vk_up 1\nflashsale_vk_replies_waiting 1300\n", 1,
		"VKRepliesWait: a:9100: 1300 replies of the bot wait for VK"},
	{"flashsale_traffic_dropped_hits_total 1\n", "flashsale_traffic_dropped_hits_total 8\n", 60,
		"TrafficDropsHits: a:9100: 7 hits were dropped from the traffic statistics"},
	{"", "flashsale_traffic_keys 10001\nflashsale_traffic_keys_max 10000\n", 1,
		"TrafficKeysFull: a:9100: the statistics have all 10000 keys of -traffic-keys"},
	{"", `flashsale_vk_token_refused{group="7"} 1
flashsale_vk_token_refused{group="8"} 0
`, 1, "VKTokenRefused: a:9100: VK refuses the token of group 7"},
	{"flashsale_repeats_not_recorded_total 1\n", "flashsale_repeats_not_recorded_total 4\n", 1,
		"RepeatsFull: a:9100: 3 texts were not recorded: they fill -repeats-memory"},
	{"", "flashsale_time_seconds 1800000101\n", 1, "ClockWrong: a:9100: its clock is 100 s off"},
	{"", "flashsale_certificate_expiry_timestamp_seconds 1800129601\n", 1,
		"CertificateExpires: a:9100: the certificate ends in 1.5 days"},
	{selling + "7\n", selling + "7\n", 60, "SaleHasNoOrders: no server places an order, though stock is left"},
}

func TestConditions(t *testing.T) {
	named := []string{"ServerAway"} // TestServerAway
	for _, test := range conditionTests {
		s := watched(at(t, 0, test.before), at(t, test.seconds, test.now))
		if got := s.Wrong(); !slices.Equal(got, []string{test.wrong}) {
			t.Errorf("%q after %q: %q, want %q", test.now, test.before, got, test.wrong)
		}
		if !strings.Contains(strings.Join(strings.Fields(s.String()), " "), test.wrong) {
			t.Errorf("%s\ndoes not show %s", s, test.wrong)
		}
		name, _, _ := strings.Cut(test.wrong, ":")
		named = append(named, name)
	}
	for _, alert := range grafana.AlertNames() {
		if !slices.Contains(named, alert) {
			t.Errorf("flashsale status has no condition of the alert %s", alert)
		}
	}
}

// The bounds are those of the alerts.
func TestBounds(t *testing.T) {
	for alert, bound := range map[string]string{
		"WorkerRestarting":     fmt.Sprint("> ", startsMax),
		"RedisReconnecting":    fmt.Sprint("> ", reconnectsMax),
		"RedisSlow":            fmt.Sprint("> ", roundTripMax),
		"QueueNearLimit":       fmt.Sprint("> ", queueShare),
		"ConnectionsNearLimit": fmt.Sprint("> ", connsShare),
		"RefusalsHigh":         fmt.Sprint("> ", refusedShare),
		"LedgerBehind":         fmt.Sprint("> ", lagMax),
		"BlocklistStale":       fmt.Sprint("> ", staleMin),
		"VKRepliesWait":        fmt.Sprint("> ", repliesMax),
		"TrafficKeysFull":      ">= flashsale_traffic_keys_max",
		"ClockWrong":           fmt.Sprint("> ", clockMax),
		"CertificateExpires":   fmt.Sprintf("< %.0f * 24 * 3600", certificateMin.Hours()/24),
		"SaleHasNoOrders":      fmt.Sprintf("[%.0fm]", idleMin.Minutes()),
	} {
		_, rule, found := strings.Cut(grafana.Alerts, "- alert: "+alert+"\n")
		rule, _, _ = strings.Cut(rule, "labels:")
		if !found || !strings.Contains(rule, bound) {
			t.Errorf("the alert %s has not the bound %s of this room:\n%s", alert, bound, rule)
		}
	}
	if calls := `call=~"` + strings.Join(buyersCalls, "|") + `"`; strings.Count(grafana.Alerts, calls) != 2 {
		t.Errorf("the alert RefusalsHigh is not of the calls %s", calls)
	}
}

// Nothing is wrong with a server on its first reading, within the bounds, or when a fault is long ago.
func TestAllIsWell(t *testing.T) {
	for name, readings := range map[string][]*reading{
		"the first reading": {at(t, 0, trips(1, 500, 500)+selling+"7\nflashsale_redis_up 1\n"+
			"flashsale_ledger_up 1\nflashsale_traffic_keys 9\nflashsale_traffic_keys_max 10\n"+
			"flashsale_redis_reconnects_total 99\nflashsale_worker_starts_total{worker=\"0\"} 99\n")},
		"a reload": {at(t, 0, "flashsale_worker_starts_total{worker=\"0\"} 1\n"),
			at(t, 60, "flashsale_worker_starts_total{worker=\"0\"} 2\n")},
		"a restart of Redis": {at(t, 0, "flashsale_redis_reconnects_total 0\n"),
			at(t, 60, "flashsale_redis_reconnects_total 2\nflashsale_workers 2\n")},
		"faults that are over": {at(t, 0, trips(1, 0, 0)), at(t, 10, trips(1, 900, 900)),
			at(t, 90, trips(2, 900, 900)), at(t, 100, trips(500, 900, 900))},
		"too few round trips":           {at(t, 0, trips(1, 0, 0)), at(t, 1, trips(1, 90, 0))},
		"some seconds without an order": {at(t, 0, selling+"7\n"), at(t, 30, selling+"7\n")},
		"orders":                        {at(t, 0, selling+"7\n"), at(t, 60, selling+"8\n")},
		"a sale that did not begin": {at(t, 0, "flashsale_orders_placed_total 0\nflashsale_stock_pieces 9\n"),
			at(t, 60, "flashsale_orders_placed_total 0\nflashsale_stock_pieces 9\n")},
		"a sale that is not open":           {at(t, 0, paused+"7\n"), at(t, 60, paused+"7\n")},
		"a sale that was just opened again": {at(t, 0, paused+"7\n"), at(t, 60, selling+"7\n")},
		"a sale that is sold out": {at(t, 0, open+"flashsale_sale_pieces_sold 9\n"),
			at(t, 60, open+"flashsale_sale_pieces_sold 9\nflashsale_stock_pieces 0\n")},
		"checks of other programs that are refused": {at(t, 0, ""), at(t, 1,
			"flashsale_requests_total{call=\"POST /orders\",code=\"200\"} 1\n"+
				"flashsale_requests_total{call=\"POST /limits/check\",code=\"429\"} 1000\n")},
		"a blocklist that is due": {at(t, 0, list+"flashsale_blocklist_age_seconds 40000\n")},
		"replies on their way":    {at(t, 0, "flashsale_vk_up 1\nflashsale_vk_replies_waiting 90\n")},
		"no reply to send to VK":  {at(t, 0, "flashsale_vk_up 0\nflashsale_vk_replies_waiting 0\n")},
	} {
		s := watched(readings...)
		if len(s.Wrong()) > 0 || !strings.HasSuffix(s.String(), "\nall is well\n") {
			t.Errorf("%s: %q\n%s", name, s.Wrong(), s)
		}
	}
}

func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		share   float64
		buckets map[float64]float64
		want    float64
	}{
		{0.5, nil, math.NaN()},
		{0.5, map[float64]float64{1: 0, inf: 0}, math.NaN()},
		{0.5, map[float64]float64{1: 10, 2: 10, inf: 10}, 0.5},
		{0.99, map[float64]float64{1: 0, 2: 100, inf: 100}, 1.99},
		{0.75, map[float64]float64{1: 50, 2: 50, 4: 100, inf: 100}, 3},
		{0.99, map[float64]float64{1: 50, 2: 60, inf: 100}, 2}, // beyond the last bound
	} {
		got := quantile(test.share, test.buckets)
		if math.Abs(got-test.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(test.want) {
			t.Errorf("%v of %v: %v, want %v", test.share, test.buckets, got, test.want)
		}
	}
}

// serve answers /metrics; the address comes without the scheme.
func serve(t *testing.T, code int, text string) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestServerAway(t *testing.T) {
	good := serve(t, 200, started+fmt.Sprintf("flashsale_time_seconds %d\n", time.Now().Unix()))
	closed := "127.0.0.1:" + launch.ClosedPort(t)
	for _, test := range []struct{ address, wrong string }{
		{good, ""},
		{closed, "connection refused"},
		{serve(t, 503, ""), "/metrics is answered 503 Service Unavailable"},
		{serve(t, 200, "go_goroutines 5\n"), "cannot read metrics: they are not those of flashsale"},
		{serve(t, 200, "<html>"), "cannot read metrics: "},
	} {
		s := New([]string{test.address})
		s.Read(t.Context())
		wrong := strings.Join(s.Wrong(), "\n")
		if s.Reached() != (test.wrong == "") || !strings.Contains(wrong, test.wrong) ||
			!s.Reached() && !strings.HasPrefix(wrong, "ServerAway: "+test.address+": ") {
			t.Errorf("%s: reached %v, %q, want %q", test.address, s.Reached(), wrong, test.wrong)
		}
	}
	both := New([]string{closed, good})
	if both.Read(t.Context()); !both.Reached() || len(both.Wrong()) != 1 {
		t.Errorf("one of two: reached %v, %q", both.Reached(), both.Wrong())
	}
}

// A server forgets what no condition looks at any more.
func TestReadingsAreForgotten(t *testing.T) {
	s := New([]string{"a:9100"})
	for i := range 1000 {
		s.servers[0].add(at(t, i, ""), nil)
	}
	if n := len(s.servers[0].readings); n != int(windowMax.Seconds())+1 {
		t.Errorf("%d readings are kept", n)
	}
}

// Each name of a metric in the sources is one of /metrics.
func TestNamesExist(t *testing.T) {
	known := map[string]bool{}
	for _, family := range ops.Families() {
		known[family.Name] = true
	}
	entries, err := os.ReadDir(".")
	testkit.Must(t, err)
	found := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		for _, name := range regexp.MustCompile(`"(flashsale_\w+)"`).FindAllStringSubmatch(
			testkit.ReadFile(t, entry.Name()), -1) {
			if found++; !known[name[1]] {
				t.Errorf("%s names %s, which /metrics does not have", entry.Name(), name[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d names are found", found)
	}
}

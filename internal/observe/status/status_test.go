package status

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

const started = "flashsale_start_time_seconds 1000\n"

// at is a reading that many seconds after an origin.
func at(t *testing.T, seconds int, text string) *reading {
	t.Helper()
	if !strings.Contains(text, "start_time") {
		text += started
	}
	r, err := parse(time.Unix(1_800_000_000+int64(seconds), 0), strings.NewReader(text))
	testkit.Must(t, err)
	return r
}

// show is the page of one server after some readings.
func show(readings ...*reading) string {
	one := &server{address: "a:9100"}
	for _, r := range readings {
		one.add(r, nil)
	}
	return (&Status{servers: []*server{one}}).String()
}

// histogram is one of times that were up to 1 ms, up to 2.5 ms and longer than 5 s.
func histogram(name, labels string, short, medium, long int) string {
	return fmt.Sprintf(`# TYPE flashsale_%[1]s histogram
flashsale_%[1]s_bucket{%[2]sle="0.001"} %[3]d
flashsale_%[1]s_bucket{%[2]sle="0.0025"} %[4]d
flashsale_%[1]s_bucket{%[2]sle="5"} %[4]d
flashsale_%[1]s_bucket{%[2]sle="+Inf"} %[5]d
flashsale_%[1]s_count{%[2]s} %[5]d
flashsale_%[1]s_sum{%[2]s} 1
`, name, labels, short, short+medium, short+medium+long)
}

const durations, trips = "request_duration_seconds", "redis_round_trip_seconds"

// busy is the reading of one of two servers of a sale, at the first moment or two seconds later.
func busy(t *testing.T, seconds, connections, queued, slow int) *reading {
	t.Helper()
	orders := 10250 + 250*seconds
	return at(t, seconds, fmt.Sprintf(`flashsale_sale_info{sale="zv2hq6ya"} 1
flashsale_sale_state{state="open"} 1
flashsale_sale_state{state="paused"} 0
flashsale_stock_pieces 58000
flashsale_sale_pieces_sold 42000
flashsale_foods_sold_out 17
flashsale_orders_placed_total %[1]d
flashsale_requests_total{call="POST /orders",code="200"} %[1]d
flashsale_refusals_total{reason="FOOD_OUT_OF_STOCK"} %[1]d
flashsale_refusals_total{reason="CART_EMPTY"} 0
flashsale_workers 2
flashsale_connections{worker="0"} %[2]d
flashsale_connections_max{worker="0"} 20000
flashsale_redis_up 1
flashsale_redis_queue_calls{worker="0"} %[3]d
flashsale_slices 3
flashsale_slices_away 0
flashsale_slices_lost 0
flashsale_slices_behind 0
flashsale_redis_clock_skew_seconds 0.0021
flashsale_ledger_up 1
flashsale_ledger_lag_orders 120
flashsale_blocklist_documents 1300000
flashsale_blocklist_age_seconds 7200
flashsale_vk_up 0
flashsale_vk_replies_waiting 3
flashsale_traffic_keys 70
flashsale_traffic_keys_max 10000
flashsale_push_up 1
flashsale_push_connections{worker="2"} %[2]d
flashsale_certificate_expiry_timestamp_seconds 1808640002
`, orders, connections, queued)+histogram("push_lag_seconds", "", orders-slow, slow, 0)+
		histogram(trips, "", orders, 0, 0)+
		histogram(durations, `call="POST /orders",code="2xx",`, orders-slow, slow, 0))
}

// The README shows what the servers of a busy sale give.
func TestREADME(t *testing.T) {
	s := New([]string{"10.0.0.11:9100", "10.0.0.12:9100"})
	for i, one := range s.servers {
		one.add(busy(t, 0, 120, 0, 0), nil)
		one.add(busy(t, 2, 120-2*i, 3*i, 20), nil)
	}
	text := s.String()
	if !strings.Contains(testkit.ReadFile(t, "README.md"), "\n"+text+"```\n") {
		t.Errorf("README.md does not show this:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if !s.Well() {
		t.Error("a server is away")
	}
}

// What is not known is shown as such, and a figure that needs two readings of one start of the server is 0.
func TestUnknown(t *testing.T) {
	const orders = "flashsale_orders_placed_total "
	times := func(long int) string { return histogram(durations, `call="other",code="2xx",`, 1, 1, long) }
	first := at(t, 0, orders+"7\nflashsale_redis_up 1\n"+times(0))
	for name, test := range map[string]struct {
		readings []*reading
		want     []string
	}{
		"the first reading": {[]*reading{first}, []string{
			"orders      7 placed since the start of the servers (1), 0.0 a second\n",
			"stock       unknown while Redis is away\n",
			"requests    0.0 a second, p50 -, p99 -\nrefusals    none\n\nserver",
			" 0      0.0       -    up       -     0\n"}},
		"a server that was started again": {[]*reading{first,
			at(t, 1, "flashsale_start_time_seconds 1100\n"+orders+"2\nflashsale_redis_up 0\n")},
			[]string{"orders      2 placed since the start of the servers (1), 0.0 a second\n",
				"       -  away       - "}},
		"a ledger without Redis": {[]*reading{at(t, 0, "flashsale_ledger_up 0\n")},
			[]string{"ledger      away, unknown how far behind\n"}},
		"requests that were slower than the last bound": {[]*reading{first,
			at(t, 1, orders+"7\n"+times(9))},
			[]string{"p50 5.0s, p99 5.0s\n"}},
	} {
		text := show(test.readings...)
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
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
	good := serve(t, 200, started+"flashsale_redis_up 1\n")
	closed := "127.0.0.1:" + launch.ClosedPort(t)
	for _, test := range []struct{ address, away string }{
		{good, ""},
		{closed, "connection refused"},
		{serve(t, 503, ""), "/metrics is answered 503 Service Unavailable"},
		{serve(t, 200, "go_goroutines 5\n"), "cannot read metrics: they are not those of flashsale"},
		{serve(t, 200, "<html>"), "cannot read metrics: "},
	} {
		s := New([]string{test.address})
		s.Read(t.Context())
		text := s.String()
		if s.Reached() != (test.away == "") || s.Well() != s.Reached() ||
			!strings.Contains(text, test.away) ||
			!s.Reached() && !strings.HasPrefix(text, "ServerAway: "+test.address+": ") {
			t.Errorf("%s: reached %v, well %v, %q, want %q", test.address, s.Reached(), s.Well(), text, test.away)
		}
	}
	for _, address := range []string{closed, serve(t, 200, started+"flashsale_redis_up 0\n"),
		serve(t, 200, started+"flashsale_redis_up 1\nflashsale_slices 3\nflashsale_slices_away 1\n"),
		serve(t, 200, started+"flashsale_redis_up 1\nflashsale_slices 3\nflashsale_slices_lost 1\n")} {
		both := New([]string{address, good})
		if both.Read(t.Context()); !both.Reached() || both.Well() {
			t.Errorf("one of two: reached %v, well %v\n%s", both.Reached(), both.Well(), both)
		}
	}
}

package status

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// busy is the reading of one of two servers of a sale, at the first moment or two seconds later.
func busy(t *testing.T, seconds, connections, queued, slow int) *reading {
	t.Helper()
	orders := 10250 + 250*seconds
	const name = "flashsale_request_duration_seconds"
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
flashsale_ledger_up 1
flashsale_ledger_lag_orders 120
flashsale_certificate_expiry_timestamp_seconds 1808640002
# TYPE %[4]s histogram
%[4]s_bucket{call="POST /orders",code="2xx",le="0.001"} %[5]d
%[4]s_bucket{call="POST /orders",code="2xx",le="0.0025"} %[1]d
%[4]s_bucket{call="POST /orders",code="2xx",le="+Inf"} %[1]d
%[4]s_count{call="POST /orders",code="2xx"} %[1]d
%[4]s_sum{call="POST /orders",code="2xx"} 1
`, orders, connections, queued, name, orders-slow)+trips(orders, 0, 0))
}

// The README shows what the servers of a busy sale give.
func TestREADME(t *testing.T) {
	s := New([]string{"10.0.0.11:9100", "10.0.0.12:9100"})
	for i, one := range s.servers {
		one.add(busy(t, 0, 120, 0, 0), nil)
		one.add(busy(t, 2, 120-2*i, 3*i, 20), nil)
	}
	s.wrong = findWrong(s.servers)
	if text := s.String(); !strings.Contains(testkit.ReadFile(t, "README.md"), "\n"+text+"```\n") {
		t.Errorf("README.md does not show this:\n%s", text)
	}
	for line := range strings.Lines(s.String()) {
		if len(line) > columnsMax+1 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestFold(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for line := range strings.Lines(fold(long)) {
		if len(line) > columnsMax+1 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if got := strings.Fields(fold(long)); len(got) != 40 {
		t.Errorf("%d words of 40 are left", len(got))
	}
}

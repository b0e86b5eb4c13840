// Package status shows at a glance in a terminal how a sale goes: flashsale status. It reads /metrics of one
// or several servers again and again, keeps the readings of the last minutes, prints a summary of at most 80
// columns, and names what is wrong, under the same conditions as the alerts in scripts/grafana.
//
// It only reads. Its figures are those of the time between two readings.
package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Status is what is known of some servers of one sale. It is for one goroutine.
type Status struct {
	servers []*server
	wrong   []string
}

// New makes the Status of the servers with these -ops addresses, host:port.
func New(addresses []string) *Status {
	s := &Status{}
	for _, address := range addresses {
		s.servers = append(s.servers, &server{address: address})
	}
	return s
}

// Read asks all servers at once. It takes no longer than five seconds.
func (s *Status) Read(ctx context.Context) {
	var all sync.WaitGroup
	for _, one := range s.servers {
		all.Go(func() { one.add(read(ctx, one.address)) })
	}
	all.Wait()
	s.wrong = findWrong(s.servers)
}

// Reached reports whether a server has answered the last time.
func (s *Status) Reached() bool { return len(s.read()) > 0 }

// Wrong is one line for each thing that is wrong.
func (s *Status) Wrong() []string { return s.wrong }

// read are the servers that have answered.
func (s *Status) read() (list []*server) {
	for _, one := range s.servers {
		if one.err == nil && len(one.readings) > 0 {
			list = append(list, one)
		}
	}
	return list
}

const (
	columnsMax   = 80
	refusalsMax  = 6  // lines
	addressWidth = 22 // of a table's column; the end of a longer one is shown
)

// String is the summary, some lines.
func (s *Status) String() string {
	var text strings.Builder
	line := func(name, format string, values ...any) {
		fmt.Fprintf(&text, "%-12s%s\n", name, fmt.Sprintf(format, values...))
	}
	if list := s.read(); len(list) > 0 {
		printSale(list, line)
		printRequests(list, line)
		printRooms(list, line)
		text.WriteByte('\n')
		printServers(list, &text)
		text.WriteByte('\n')
	}
	for _, wrong := range s.wrong {
		text.WriteString(fold(wrong))
	}
	if len(s.wrong) == 0 {
		text.WriteString("all is well\n")
	}
	return text.String()
}

type printLine func(name, format string, values ...any)

// printSale shows what the servers share. Each of them knows it, unless Redis is away.
func printSale(list []*server, line printLine) {
	var sale []string
	state := ""
	var left, sold, gone, placed, rate float64
	known := false
	for _, s := range list {
		now := s.now()
		if id := now.label("flashsale_sale_info", "sale"); !slices.Contains(sale, id) {
			sale = append(sale, id)
		}
		for name, on := range now.by("flashsale_sale_state", "state") {
			if on > 0 {
				state = ", " + name
			}
		}
		if pieces, found := now.value("flashsale_stock_pieces"); found {
			known, left = true, pieces
			sold, gone = now.sum("flashsale_sale_pieces_sold"), now.sum("flashsale_foods_sold_out")
		}
		placed += now.sum("flashsale_orders_placed_total")
		rate += s.grown(s.before(), "flashsale_orders_placed_total") / s.seconds(s.before())
	}
	line("sale", "%s%s", strings.Join(sale, ", "), state)
	line("orders", "%.0f placed since the start of the servers (%d), %.1f a second", placed, len(list), rate)
	if known {
		line("stock", "%.0f of %.0f pieces left, %.0f foods sold out", left, left+sold, gone)
	} else {
		line("stock", "unknown while Redis is away")
	}
}

// printRequests shows all requests of all servers in the last interval, and the most frequent refusals.
func printRequests(list []*server, line printLine) {
	times := map[float64]float64{}
	refusals, lately := map[string]float64{}, map[string]float64{}
	rate := 0.0
	for _, s := range list {
		before := s.before()
		rate += s.grown(before, "flashsale_requests_total") / s.seconds(before)
		addAll(times, s.observed(before, "flashsale_request_duration_seconds"), 1)
		addAll(refusals, s.now().by("flashsale_refusals_total", "reason"), 1)
		addAll(lately, s.increase(before, "flashsale_refusals_total", "reason"), 1/s.seconds(before))
	}
	line("requests", "%.1f a second, p50 %s, p99 %s", rate, duration(quantile(0.5, times)),
		duration(quantile(0.99, times)))
	name := "refusals"
	for _, reason := range mostFirst(refusals) {
		line(name, "%-42s %12.0f %8.1f/s", reason, refusals[reason], lately[reason])
		name = ""
	}
	if name != "" {
		line(name, "none")
	}
}

// addAll adds values times a factor to sums.
func addAll[K comparable](sums, values map[K]float64, factor float64) {
	for key, n := range values {
		sums[key] += n * factor
	}
}

// mostFirst are the keys with the largest counts, none with 0.
func mostFirst(counts map[string]float64) []string {
	keys := slices.Sorted(maps.Keys(counts))
	keys = slices.DeleteFunc(keys, func(key string) bool { return counts[key] == 0 })
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return keys[:min(len(keys), refusalsMax)]
}

// printRooms shows the ledger and the certificate, where there are any.
func printRooms(list []*server, line printLine) {
	for _, s := range list {
		if up, found := s.now().value("flashsale_ledger_up"); found {
			lag, known := s.now().value("flashsale_ledger_lag_orders")
			behind := "unknown how far behind"
			if known {
				behind = fmt.Sprintf("%.0f orders behind", lag)
			}
			line("ledger", "%s, %s", upOrAway(up), behind)
			break
		}
	}
	soonest, any := time.Duration(math.MaxInt64), false
	for _, s := range list {
		if left, found := s.certificate(); found {
			soonest, any = min(soonest, left), true
		}
	}
	if any {
		line("certificate", "%.1f days left", soonest.Hours()/24)
	}
}

// printServers is a table with a line for each server.
func printServers(list []*server, out *strings.Builder) {
	fmt.Fprintf(out, "%-*s %7s %12s %8s %7s %5s %7s %5s\n", addressWidth, "server", "workers", "connections",
		"orders/s", "p99", "redis", "p99", "queue")
	for _, s := range list {
		now, before := s.now(), s.before()
		fmt.Fprintf(out, "%-*s %7.0f %12s %8.1f %7s %5s %7s %5.0f\n", addressWidth,
			s.address[max(0, len(s.address)-addressWidth):], now.sum("flashsale_workers"),
			connections(now.sum("flashsale_connections"), now.sum("flashsale_connections_max")),
			s.grown(before, "flashsale_orders_placed_total")/s.seconds(before),
			duration(quantile(0.99, s.observed(before, "flashsale_request_duration_seconds"))),
			upOrAway(now.sum("flashsale_redis_up")),
			duration(quantile(0.99, s.observed(before, "flashsale_redis_round_trip_seconds"))),
			now.sum("flashsale_redis_queue_calls"))
	}
}

// connections are those that are open, with the limit where there is one.
func connections(open, limit float64) string {
	if limit == 0 {
		return fmt.Sprintf("%.0f", open)
	}
	return fmt.Sprintf("%.0f/%.0f", open, limit)
}

func upOrAway(up float64) string {
	if up > 0 {
		return "up"
	}
	return "away"
}

// duration is a short text for some seconds, "-" for NaN.
func duration(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "-"
	case seconds < 1:
		return fmt.Sprintf("%.1fms", seconds*1e3)
	}
	return fmt.Sprintf("%.1fs", seconds)
}

// fold breaks a line at spaces so that it fits; what follows is indented.
func fold(line string) string {
	var text strings.Builder
	width := 0
	for word := range strings.FieldsSeq(line) {
		switch {
		case width == 0:
		case width+1+len(word) > columnsMax:
			text.WriteString("\n  ")
			width = 2
		default:
			text.WriteByte(' ')
			width++
		}
		text.WriteString(word)
		width += len(word)
	}
	return text.String() + "\n"
}

// Package status shows at a glance in a terminal how a sale goes: flashsale status. It reads /metrics of one
// or several servers again and again, and prints a page of 80 columns.
//
// It only reads; the alerts in scripts/grafana judge. Its rates are of the time between two readings.
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

	"flashsale/internal/observe/figures"
)

// Status holds the last readings of some servers of one sale. It is for one goroutine.
type Status struct{ servers []*server }

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
}

// Reached reports whether a server has answered the last time.
func (s *Status) Reached() bool { return len(s.read()) > 0 }

// Well reports whether all servers have answered the last time, each with a Redis that answers it for every
// slice.
func (s *Status) Well() bool {
	return !slices.ContainsFunc(s.servers, func(one *server) bool { return !one.well() })
}

// read are the servers that have answered.
func (s *Status) read() (list []*server) {
	for _, one := range s.servers {
		if one.err == nil && one.now != nil {
			list = append(list, one)
		}
	}
	return list
}

const (
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
		if len(list) < len(s.servers) {
			text.WriteByte('\n')
		}
	}
	for _, one := range s.servers {
		if one.err != nil {
			fmt.Fprintf(&text, "ServerAway: %s: %v\n", one.address, one.err)
		}
	}
	return text.String()
}

type printLine func(name, format string, values ...any)

// printSale shows the sale. Every server knows it, unless its Redis is away.
func printSale(list []*server, line printLine) {
	var sale []string
	state, stock := "", "unknown while Redis is away"
	var placed, rate float64
	for _, s := range list {
		for id := range s.now.by(figures.SaleInfo) {
			if !slices.Contains(sale, id) {
				sale = append(sale, id)
			}
		}
		for name, on := range s.now.by(figures.SaleState) {
			if on > 0 {
				state = ", " + name
			}
		}
		if s.now.has(figures.StockPieces) {
			left := s.now.sum(figures.StockPieces)
			stock = fmt.Sprintf("%.0f of %.0f pieces left, %.0f foods sold out", left,
				left+s.now.sum(figures.PiecesSold), s.now.sum(figures.SoldOut))
		}
		placed += s.now.sum(figures.OrdersPlaced)
		rate += s.rate(figures.OrdersPlaced)
	}
	line("sale", "%s%s", strings.Join(sale, ", "), state)
	line("orders", "%.0f placed since the start of the servers (%d), %.1f a second", placed, len(list), rate)
	line("stock", "%s", stock)
}

// printRequests shows all requests of all servers in the last interval, and the most frequent refusals.
func printRequests(list []*server, line printLine) {
	var times figures.Histogram
	refusals, lately := map[string]float64{}, map[string]float64{}
	rate := 0.0
	for _, s := range list {
		rate += s.rate(figures.Requests)
		times.Add(s.lately(figures.RequestTimes))
		addAll(refusals, s.now.by(figures.ErrorReplies))
		addAll(lately, s.perSecond(figures.ErrorReplies))
	}
	line("requests", "%.1f a second, p50 %s, p99 %s", rate, quantile(times, 0.5), quantile(times, 0.99))
	name := "refusals"
	for _, reason := range mostFirst(refusals) {
		line(name, "%-42s %12.0f %8.1f/s", reason, refusals[reason], lately[reason])
		name = ""
	}
	if name != "" {
		line(name, "none")
	}
}

// addAll adds values to sums.
func addAll(sums, values map[string]float64) {
	for key, n := range values {
		sums[key] += n
	}
}

// mostFirst returns up to refusalsMax keys with counts above 0, the largest count first.
func mostFirst(counts map[string]float64) []string {
	keys := slices.Sorted(maps.Keys(counts))
	keys = slices.DeleteFunc(keys, func(key string) bool { return counts[key] == 0 })
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return keys[:min(len(keys), refusalsMax)]
}

// rooms are the lines of the slices and of some rooms. A server without the metric has one slice, or has the
// room switched off.
var rooms = []struct {
	name   string
	metric *figures.Family
	text   func(*reading) string
}{
	{"slices", figures.Slices, func(r *reading) string {
		return fmt.Sprintf("%.0f: %.0f away, %.0f lost, %.0f behind, clocks %.0fms apart", r.sum(figures.Slices),
			r.sum(figures.SlicesAway), r.sum(figures.SlicesLost), r.sum(figures.SlicesBehind),
			1000*r.sum(figures.ClockSkew))
	}},
	{"ledger", figures.LedgerUp, func(r *reading) string {
		behind := "unknown how far behind"
		if r.has(figures.LedgerLag) {
			behind = fmt.Sprintf("%.0f orders behind", r.sum(figures.LedgerLag))
		}
		return upOrAway(r.sum(figures.LedgerUp)) + ", " + behind
	}},
	{"blocklist", figures.Documents, func(r *reading) string {
		return fmt.Sprintf("%.0f documents, %.1f hours old", r.sum(figures.Documents),
			r.sum(figures.BlocklistAge)/3600)
	}},
	{"bot", figures.VKUp, func(r *reading) string {
		return fmt.Sprintf("%s, %.0f replies wait", upOrAway(r.sum(figures.VKUp)), r.sum(figures.VKWaiting))
	}},
	{"statistics", figures.TrafficKeys, func(r *reading) string {
		return fmt.Sprintf("%.0f of %.0f keys", r.sum(figures.TrafficKeys), r.sum(figures.TrafficKeysMax))
	}},
}

// printRooms shows each room as the first server that has it, the pushes of all, and the certificate that
// ends first.
func printRooms(list []*server, line printLine) {
	for _, room := range rooms {
		i := slices.IndexFunc(list, func(s *server) bool { return s.now.has(room.metric) })
		if i >= 0 {
			line(room.name, "%s", room.text(list[i].now))
		}
	}
	printPush(list, line)
	soonest := math.Inf(1)
	for _, s := range list {
		if s.now.has(figures.CertificateEnd) {
			soonest = min(soonest, s.now.sum(figures.CertificateEnd)-float64(s.now.at.Unix()))
		}
	}
	if !math.IsInf(soonest, 1) {
		line("certificate", "%.1f days left", soonest/(24*time.Hour).Seconds())
	}
}

// printPush shows the push service of all servers that have one.
func printPush(list []*server, line printLine) {
	var lag figures.Histogram
	var there, up, connections float64
	for _, s := range list {
		if s.now.has(figures.PushUp) {
			there++
			up += s.now.sum(figures.PushUp)
			connections += s.now.sum(figures.PushConnections)
			lag.Add(s.lately(figures.PushLag))
		}
	}
	if there > 0 {
		line("push", "%.0f of %.0f up, %.0f connections, messages wait p50 %s, p99 %s", up, there, connections,
			quantile(lag, 0.5), quantile(lag, 0.99))
	}
}

// printServers is a table with a line for each server.
func printServers(list []*server, out *strings.Builder) {
	fmt.Fprintf(out, "%-*s %7s %12s %8s %7s %5s %7s %5s\n", addressWidth, "server", "workers", "connections",
		"orders/s", "p99", "redis", "p99", "queue")
	for _, s := range list {
		fmt.Fprintf(out, "%-*s %7.0f %12s %8.1f %7s %5s %7s %5.0f\n", addressWidth,
			s.address[max(0, len(s.address)-addressWidth):], s.now.sum(figures.WorkersRunning),
			connections(s.now.sum(figures.Connections), s.now.sum(figures.ConnectionsMax)),
			s.rate(figures.OrdersPlaced), quantile(s.lately(figures.RequestTimes), 0.99),
			upOrAway(s.now.sum(figures.RedisUp)), quantile(s.lately(figures.RedisRoundTrip), 0.99),
			s.now.sum(figures.RedisQueue))
	}
}

// connections returns the number of open connections, with the limit if there is one.
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

// quantile is the time below which this share of the times lies, "-" without times.
func quantile(times figures.Histogram, share float64) string {
	nanoseconds, ok := times.Quantile(share)
	switch {
	case !ok:
		return "-"
	case nanoseconds < 1e9:
		return fmt.Sprintf("%.1fms", nanoseconds/1e6)
	}
	return fmt.Sprintf("%.1fs", nanoseconds/1e9)
}

package ops

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"flashsale/internal/observe/figures"
)

// Family is one family of metrics.
type Family struct {
	Name, Help string
	Type       string // counter, gauge or histogram
	Labels     []string

	desc *prometheus.Desc
	kind prometheus.ValueType
}

var families []*Family

// Families are all families that there can be, in the order of this file.
func Families() []*Family { return slices.Clone(families) }

var (
	buildInfo = gauge("build_info", "Always 1; the labels name the build of the server.", "version", "go")
	saleInfo  = gauge("sale_info", "Always 1; the label names the sale that is served.", "sale")
	startTime = gauge("start_time_seconds", "When the server was started, Unix time.")
	clockTime = gauge("time_seconds", "The server's clock, Unix time.")

	requests = counter("requests_total", "Requests that were answered.", "call", "code")
	times    = histogram("request_duration_seconds",
		"From when a request was read to its reply, by class of status.", "call", "code")
	refusals = counter("refusals_total", "Error replies by their code.", "reason")
	placed   = counter("orders_placed_total", "Orders that this server has placed.")

	stockPieces = gauge("stock_pieces", "Pieces left of all foods.")
	soldOut     = gauge("foods_sold_out", "Foods without a piece left.")
	piecesSold  = gauge("sale_pieces_sold", "Pieces sold so far by all servers of the sale.")
	saleOrders  = gauge("sale_orders", "Orders placed so far by all servers of the sale.")
	saleState   = gauge("sale_state", "1 for the state that the sale is in, 0 for the others.", "state")
	snapshotAge = gauge("snapshot_age_seconds",
		"Time since the worker that is furthest behind has read the stock.")

	connections    = gauge("connections", "Connections of clients that are open.", "worker")
	connectionsMax = gauge("connections_max", "Connections that a worker takes at most.", "worker")
	connsRefused   = counter("connections_refused_total", "Connections of clients over a limit of number.")

	viewers        = gauge("live_viewers", "Viewers of GET /live.", "worker")
	viewersDropped = counter("live_viewers_dropped_total", "Viewers of GET /live that were too slow.")

	redisUp    = gauge("redis_up", "1 while Redis answers, holds the sale and takes writes, else 0.")
	reconnects = counter("redis_reconnects_total", "Connections to Redis that were lost and made again.")
	batches    = counter("redis_batches_total", "Batches of calls that were sent to Redis.")
	calls      = counter("redis_calls_total", "Calls that were sent to Redis.")
	batchCalls = histogram("redis_batch_calls", "Calls of a batch.")
	queueWait  = histogram("redis_queue_wait_seconds", "How long the oldest call of a batch waited to be sent.")
	roundTrip  = histogram("redis_round_trip_seconds", "From when a batch was sent to its last reply.")
	overloads  = counter("redis_overload_refusals_total", "Calls refused because too many waited for Redis.")
	queueCalls = gauge("redis_queue_calls", "Calls that wait to be sent to Redis.", "worker")
	queueMax   = gauge("redis_queue_calls_max", "Calls that may wait to be sent to Redis.", "worker")

	ledgerLag = gauge("ledger_lag_orders", "Orders that are not in the database of the ledger yet.")
	ledgerUp  = gauge("ledger_up", "1 while orders get into the database, else 0.")

	starts  = counter("worker_starts_total", "Starts of a worker, also after SIGHUP.", "worker")
	workers = gauge("workers", "Worker processes that run.")

	limitsRefused = counter("limits_refused_total", "Calls over a rate limit, by its event.", "event")
	repeats       = counter("repeats_counted_total", "Texts that were counted.")
	notRecorded   = counter("repeats_not_recorded_total", "Texts that were answered and not recorded.")
	vkWaiting     = gauge("vk_replies_waiting", "Replies of the VK bot that wait to be sent, of all servers.")
	vkUp          = gauge("vk_up", "1 while VK takes the replies of its bot, else 0.")
	vkRefused     = gauge("vk_token_refused", "1 while VK refuses the token of the group, else 0.", "group")
	documents     = gauge("blocklist_documents", "Documents on the blocklist, 0 where there is none yet.")
	blocklistAge  = gauge("blocklist_age_seconds",
		"Time since the blocklist was last known to be that of its source.")
	blocklistRefresh = gauge("blocklist_refresh_seconds",
		"Time between two looks at the source of the blocklist.")
	droppedHits = counter("traffic_dropped_hits_total", "Hits that were dropped from the traffic statistics.")
	trafficKeys = gauge("traffic_keys", "Keys of the traffic statistics, of all servers.")
	trafficMax  = gauge("traffic_keys_max", "Keys that the traffic statistics count at most.")

	certificateEnd = gauge("certificate_expiry_timestamp_seconds",
		"When the certificate ends, Unix time.")
	droppedLines = counter("log_lines_dropped_total", "Lines of the log that were dropped.")
)

func counter(name, help string, labels ...string) *Family {
	return add(name, help, "counter", prometheus.CounterValue, labels)
}

func gauge(name, help string, labels ...string) *Family {
	return add(name, help, "gauge", prometheus.GaugeValue, labels)
}

func histogram(name, help string, labels ...string) *Family {
	return add(name, help, "histogram", prometheus.UntypedValue, labels)
}

func add(name, help, kind string, value prometheus.ValueType, labels []string) *Family {
	f := &Family{Name: "flashsale_" + name, Help: help, Type: kind, Labels: labels, kind: value}
	f.desc = prometheus.NewDesc(f.Name, help, labels, nil)
	families = append(families, f)
	return f
}

// value is a counter or a gauge with its value.
func (f *Family) value(v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(f.desc, f.kind, v, labels...)
}

// count is value for a counter.
func (f *Family) count(n uint64, labels ...string) prometheus.Metric {
	return f.value(float64(n), labels...)
}

// distribution is a histogram. unit is what one of its values is divided by.
func (f *Family) distribution(h figures.Histogram, unit float64, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		buckets[float64(bound)/unit] = h.Cumulative[i]
	}
	return prometheus.MustNewConstHistogram(f.desc, h.Count, float64(h.Sum)/unit, buckets, labels...)
}

package status

import (
	"fmt"
	"math"
	"time"
)

// condition is one thing that may be wrong with a server. Its name is that of the alert with the same
// condition in scripts/grafana/alerts.yml.
type condition struct {
	alert string
	wrong func(s *server) string // what is wrong, "" for nothing
}

// The bounds are those of the alerts.
const (
	startsMax      = 1.5
	reconnectsMax  = 1.5 // of each worker
	roundTripMax   = 0.05
	tripsMin       = 100 // fewer have no p99
	queueShare     = 0.8
	connsShare     = 0.9
	refusedShare   = 0.05
	lagMax         = 10000
	staleMin       = 1.25 // of -blocklist-refresh
	repliesMax     = 1200
	clockMax       = 5.0 // seconds
	certificateMin = 14 * 24 * time.Hour
)

// buyersCalls are those that RefusalsHigh looks at: to refuse is what programs ask /limits/check for.
var buyersCalls = []string{"POST /login", "GET /foods", "POST /carts", "PATCH /carts/:id", "POST /orders",
	"GET /orders"}

// conditions of a server that was read. Those over a window look at as much of it as was read.
var conditions = []condition{
	{"ServerRestarted", func(s *server) string {
		for _, one := range s.readings {
			if s.now().at.Sub(one.at) <= 2*time.Minute && !one.same(s.now()) {
				return "it was started again"
			}
		}
		return ""
	}},
	{"WorkerRestarting", func(s *server) string {
		for worker, n := range s.increase(s.since(3*time.Minute), "flashsale_worker_starts_total", "worker") {
			if n > startsMax {
				return fmt.Sprintf("worker %s was started %.0f times", worker, n)
			}
		}
		return ""
	}},
	{"RedisAway", func(s *server) string {
		if up, found := s.now().value("flashsale_redis_up"); found && up == 0 {
			return "Redis does not answer, has another sale, or takes no writes"
		}
		return ""
	}},
	{"RedisReconnecting", func(s *server) string {
		n := s.grown(s.since(2*time.Minute), "flashsale_redis_reconnects_total")
		if n/s.now().sum("flashsale_workers") > reconnectsMax {
			return fmt.Sprintf("connections to Redis were lost %.0f times", n)
		}
		return ""
	}},
	{"RedisSlow", func(s *server) string {
		trips := s.observed(s.since(time.Minute), "flashsale_redis_round_trip_seconds")
		if p99 := quantile(0.99, trips); trips[math.Inf(1)] >= tripsMin && p99 > roundTripMax {
			return "round trips to Redis: p99 " + duration(p99)
		}
		return ""
	}},
	{"RedisStalls", func(s *server) string {
		trips := s.observed(s.since(time.Minute), "flashsale_redis_round_trip_seconds")
		if n := trips[math.Inf(1)] - trips[0.25]; n > 0 {
			return fmt.Sprintf("%.0f round trips to Redis took longer than 250 ms", n)
		}
		return ""
	}},
	{"QueueNearLimit", func(s *server) string {
		share := s.fullest("flashsale_redis_queue_calls", "flashsale_redis_queue_calls_max")
		if share > queueShare {
			return fmt.Sprintf("the queue of calls to Redis is %.0f%% full", 100*share)
		}
		if n := s.grown(s.since(time.Minute), "flashsale_redis_overload_refusals_total"); n > 0 {
			return fmt.Sprintf("%.0f calls were refused because too many wait for Redis", n)
		}
		return ""
	}},
	{"ConnectionsNearLimit", func(s *server) string {
		if share := s.fullest("flashsale_connections", "flashsale_connections_max"); share > connsShare {
			return fmt.Sprintf("a worker has %.0f%% of its connections", 100*share)
		}
		return ""
	}},
	{"RefusalsHigh", func(s *server) string {
		if refused, answered := s.refused(s.since(time.Minute)); refused > refusedShare*answered {
			return fmt.Sprintf("%.0f of %.0f calls of buyers were refused with 429 or 5xx", refused, answered)
		}
		return ""
	}},
	{"LedgerBehind", func(s *server) string {
		if up, found := s.now().value("flashsale_ledger_up"); found && up == 0 {
			return "orders do not get into the database of the ledger"
		}
		if lag := s.now().sum("flashsale_ledger_lag_orders"); lag > lagMax {
			return fmt.Sprintf("the ledger is %.0f orders behind", lag)
		}
		return ""
	}},
	{"BlocklistStale", func(s *server) string {
		if stored, found := s.now().value("flashsale_blocklist_documents"); found && stored == 0 {
			return "there is no blocklist: all logins pass"
		}
		age, refresh := s.now().sum("flashsale_blocklist_age_seconds"),
			s.now().sum("flashsale_blocklist_refresh_seconds")
		if age/refresh > staleMin {
			return fmt.Sprintf("the blocklist was last refreshed %.1f hours ago", age/3600)
		}
		return ""
	}},
	{"VKRepliesWait", func(s *server) string {
		waiting := s.now().sum("flashsale_vk_replies_waiting")
		if up, found := s.now().value("flashsale_vk_up"); found && up == 0 && waiting > 0 || waiting > repliesMax {
			return fmt.Sprintf("%.0f replies of the bot wait for VK", waiting)
		}
		return ""
	}},
	{"TrafficDropsHits", func(s *server) string {
		if n := s.grown(s.since(2*time.Minute), "flashsale_traffic_dropped_hits_total"); n > 0 {
			return fmt.Sprintf("%.0f hits were dropped from the traffic statistics", n)
		}
		return ""
	}},
	{"TrafficKeysFull", func(s *server) string {
		keys, found := s.now().value("flashsale_traffic_keys")
		if most := s.now().sum("flashsale_traffic_keys_max"); found && keys >= most {
			return fmt.Sprintf("the statistics have all %.0f keys of -traffic-keys", most)
		}
		return ""
	}},
	{"VKTokenRefused", func(s *server) string {
		for group, refused := range s.now().by("flashsale_vk_token_refused", "group") {
			if refused > 0 {
				return "VK refuses the token of group " + group
			}
		}
		return ""
	}},
	{"RepeatsFull", func(s *server) string {
		if n := s.grown(s.since(time.Minute), "flashsale_repeats_not_recorded_total"); n > 0 {
			return fmt.Sprintf("%.0f texts were not recorded: they fill -repeats-memory", n)
		}
		return ""
	}},
	{"ClockWrong", func(s *server) string {
		clock, found := s.now().value("flashsale_time_seconds")
		off := clock - float64(s.now().at.UnixNano())/1e9
		if found && math.Abs(off) > clockMax {
			return fmt.Sprintf("its clock is %.0f s off", off)
		}
		return ""
	}},
	{"CertificateExpires", func(s *server) string {
		if left, found := s.certificate(); found && left < certificateMin {
			return fmt.Sprintf("the certificate ends in %.1f days", left.Hours()/24)
		}
		return ""
	}},
}

// fullest is the share of a limit that the worker nearest to it has.
func (s *server) fullest(name, limit string) (share float64) {
	limits := s.now().by(limit, "worker")
	for worker, n := range s.now().by(name, "worker") {
		if limits[worker] > 0 {
			share = max(share, n/limits[worker])
		}
	}
	return share
}

// certificate is how long it holds.
func (s *server) certificate() (left time.Duration, found bool) {
	end, found := s.now().value("flashsale_certificate_expiry_timestamp_seconds")
	return time.Duration((end - float64(s.now().at.Unix())) * float64(time.Second)), found
}

// idleMin is how long no server may place an order. Less is not judged: a slow sale has pauses.
const idleMin = time.Minute

// isOpen reports whether the sale is open in a reading.
func isOpen(r *reading) bool { return r.by("flashsale_sale_state", "state")["open"] > 0 }

// hasNoOrders is the condition of the whole sale: it goes on, but no server places an order.
func hasNoOrders(servers []*server) bool {
	const placed = "flashsale_orders_placed_total"
	var sold, left float64
	for _, s := range servers {
		from := s.since(idleMin)
		if from == nil || s.seconds(from) < 0.9*idleMin.Seconds() || s.grown(from, placed) > 0 ||
			!isOpen(from) || !isOpen(s.now()) {
			return false
		}
		sold = max(sold, s.now().sum("flashsale_sale_pieces_sold"))
		left = max(left, s.now().sum("flashsale_stock_pieces"))
	}
	return sold > 0 && left > 0
}

// findWrong lists what is wrong, one line each.
func findWrong(servers []*server) (lines []string) {
	var read []*server
	for _, s := range servers {
		if s.err != nil {
			lines = append(lines, fmt.Sprintf("ServerAway: %s: %v", s.address, s.err))
			continue
		}
		read = append(read, s)
		for _, c := range conditions {
			if text := c.wrong(s); text != "" {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", c.alert, s.address, text))
			}
		}
	}
	if len(read) > 0 && hasNoOrders(read) {
		lines = append(lines, "SaleHasNoOrders: no server places an order, though stock is left")
	}
	return lines
}

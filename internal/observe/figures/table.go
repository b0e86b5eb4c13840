package figures

// Family is a metric: a line of the table below.
type Family struct {
	Name, Help string
	Type       string // counter, gauge or histogram
	Labels     []string
	Bounds     []int64 // of a histogram's buckets
	Unit       float64 // a histogram's bounds and sum are divided by it

	read func(*Memory) []Value
}

// Read returns the values that the workers have counted, nil for a metric that is set at each scrape.
func (f *Family) Read(m *Memory) []Value {
	if f.read == nil {
		return nil
	}
	return f.read(m)
}

// Families are all metrics that there can be, in the order of the table. Each line of the table adds itself.
var Families []*Family

// The table: each metric with its name, its help, its labels, and where the workers count it. A metric that
// no worker counts is set at each scrape, by internal/observe/ops or by a room.
var (
	BuildInfo = set("build_info", "Always 1; the labels name the build of the server.", "version", "go")
	SaleInfo  = set("sale_info", "Always 1; the label names the sale that is served.", "sale")
	StartTime = set("start_time_seconds", "When the server was started, Unix time.")
	ClockTime = set("time_seconds", "The server's clock, Unix time.")

	Requests = counted("requests_total", "Requests that were answered.",
		func(c *Counters) []Value { return c.Calls.Requests() }, "call", "code")
	RequestTimes = measured("request_duration_seconds",
		"From when a request was read to its reply, by class of status.",
		func(c *Counters) []Value { return c.Calls.Times() }, "call", "code")
	ErrorReplies = counted("refusals_total", "Error replies by their code.",
		func(c *Counters) []Value { return c.Refusals.Values() }, "reason")
	OrdersPlaced = counter("orders_placed_total", "Orders that this server has placed.",
		func(c *Counters) uint64 { return c.OrdersPlaced.Value() })
	OrdersWaited = counter("orders_waited_total", "Orders that waited for pieces of another slice.",
		func(c *Counters) uint64 { return c.OrdersWaited.Value() })
	Transfers = counter("transfers_total", "Transfers of pieces between slices that this server has ended.",
		func(c *Counters) uint64 { return c.Transfers.Value() })

	OrdersReleased = counted("orders_released_total", "Held orders that this server has released, by why.",
		func(c *Counters) []Value {
			return []Value{{Labels: []string{"expired"}, Number: float64(c.OrdersExpired.Value())},
				{Labels: []string{"buyer"}, Number: float64(c.OrdersGivenBack.Value())}}
		}, "reason")
	ReleaseDelay = measured("release_delay_seconds",
		"From the end of a hold to the sweep that released its order.",
		func(c *Counters) []Value { return distribution(c.ReleaseDelay.Read()) })

	StockPieces = set("stock_pieces", "Pieces left of all foods.")
	SoldOut     = set("foods_sold_out", "Foods without a piece left.")
	PiecesSold  = set("sale_pieces_sold", "Pieces sold so far by all servers of the sale.")
	SaleOrders  = set("sale_orders", "Orders placed so far by all servers of the sale.")
	PiecesHeld  = set("sale_pieces_held", "Pieces of orders that are held until they are paid.")
	OrdersHeld  = set("sale_orders_held", "Orders that are held until they are paid.")
	HoldOverdue = set("hold_overdue_seconds",
		"For how long the first held order should have been released, else 0.")
	SaleState    = set("sale_state", "1 for the state that the sale is in, 0 for the others.", "state")
	Slices       = set("slices", "Slices of the sale.")
	SlicesAway   = set("slices_away", "Slices with a Redis that does not answer.")
	SlicesLost   = set("slices_lost", "Slices that their Redis has lost.")
	SlicesBehind = set("slices_behind", "Slices that do not have the last change of state or times yet.")
	ClockSkew    = set("redis_clock_skew_seconds", "How far the clocks of the sale's Redis are apart at least.")
	SnapshotAge  = gauge("snapshot_age_seconds",
		"Time since the worker that is furthest behind has read the stock.", readSnapshotAge)

	Connections = each("connections", "Connections of clients that are open.",
		func(g *Gauges) *Gauge { return &g.Connections })
	ConnectionsMax = most("connections_max", "Connections that a worker takes at most.",
		func(g *Gauges) *Gauge { return &g.ConnectionsMax })
	ConnectionsRefused = counter("connections_refused_total",
		"Connections of clients over a limit of number.",
		func(c *Counters) uint64 { return c.ConnectionsRefused.Value() })

	LiveViewers = each("live_viewers", "Viewers of GET /live.", func(g *Gauges) *Gauge { return &g.Viewers })
	LiveDropped = counter("live_viewers_dropped_total", "Viewers of GET /live that were too slow.",
		func(c *Counters) uint64 { return c.ViewersDropped.Value() })

	RedisUp         = set("redis_up", "1 while Redis answers, holds the sale and takes writes, else 0.")
	RedisReconnects = counter("redis_reconnects_total", "Connections to Redis that were lost and made again.",
		func(c *Counters) uint64 { return c.Redis.Reconnects.Value() })
	RedisBatches = counter("redis_batches_total", "Batches of calls that were sent to Redis.",
		func(c *Counters) uint64 { return c.Redis.BatchCalls.Read().Count })
	RedisCalls = counter("redis_calls_total", "Calls that were sent to Redis.",
		func(c *Counters) uint64 { return c.Redis.BatchCalls.Read().Sum })
	RedisBatchCalls = sized("redis_batch_calls", "Calls of a batch.",
		func(c *Counters) []Value { return distribution(c.Redis.BatchCalls.Read()) })
	RedisQueueWait = measured("redis_queue_wait_seconds",
		"How long the oldest call of a batch waited to be sent.",
		func(c *Counters) []Value { return distribution(c.Redis.QueueWait.Read()) })
	RedisRoundTrip = measured("redis_round_trip_seconds", "From when a batch was sent to its last reply.",
		func(c *Counters) []Value { return distribution(c.Redis.RoundTrip.Read()) })
	RedisOverloads = counter("redis_overload_refusals_total",
		"Calls refused because too many waited for Redis.",
		func(c *Counters) uint64 { return c.Redis.Overloads.Value() })
	RedisQueue = each("redis_queue_calls", "Calls that wait to be sent to Redis.",
		func(g *Gauges) *Gauge { return &g.QueueCalls })
	RedisQueueMax = most("redis_queue_calls_max", "Calls that may wait to be sent to Redis.",
		func(g *Gauges) *Gauge { return &g.QueueCallsMax })

	LedgerLag = set("ledger_lag_orders", "Orders that are not in the database of the ledger yet.")
	LedgerUp  = set("ledger_up", "1 while orders get into the database, else 0.")

	MessagesStored = line("ledger_messages_total", "counter",
		"Messages of conversations that this server has written to the database.", nil, nil)
	MessagesWaiting = set("ledger_messages_waiting_seconds",
		"For how long old messages have waited for the database, 0 while they get in.")

	WebhookEvents = line("webhook_events_total", "counter",
		"Events that this server has posted to a webhook, by how that has ended.",
		[]string{"webhook", "outcome"}, nil)
	WebhookBehind = set("webhook_behind_events", "Events that a webhook has not got yet.", "webhook")
	WebhookAge    = set("webhook_behind_seconds", "Age of the oldest event that a webhook has not got yet.",
		"webhook")
	WebhookDead = set("webhook_dead_letters", "Events that were given up, kept for a call to send them again.",
		"webhook")
	WebhookOff = set("webhook_off", "1 after a webhook has answered 410 and gets no events, else 0.", "webhook")

	WorkerStarts = perSlot("worker_starts_total", "Starts of a worker, also after SIGHUP.", "counter",
		func(m *Memory, slot int) int64 { return int64(m.Counters(slot).Starts.Value()) })
	WorkersRunning = gauge("workers", "Worker processes that run.", readRunning)

	LimitsRefused = counted("limits_refused_total", "Calls over a rate limit, by its event.",
		func(c *Counters) []Value { return c.LimitsRefused.Values() }, "event")
	RepeatsCounted = counter("repeats_counted_total", "Texts that were counted.",
		func(c *Counters) uint64 { return c.RepeatsCounted.Value() })
	RepeatsNotRecorded = counter("repeats_not_recorded_total", "Texts that were answered and not recorded.",
		func(c *Counters) uint64 { return c.RepeatsNotRecorded.Value() })
	VKWaiting      = set("vk_replies_waiting", "Replies of the VK bot that wait to be sent, of all servers.")
	VKUp           = set("vk_up", "1 while VK takes the replies of its bot, else 0.")
	VKTokenRefused = set("vk_token_refused", "1 while VK refuses the token of the group, else 0.", "group")
	Documents      = set("blocklist_documents", "Documents on the blocklist, 0 where there is none yet.")
	BlocklistAge   = set("blocklist_age_seconds",
		"Time since the blocklist was last known to be that of its source.")
	BlocklistRefresh = set("blocklist_refresh_seconds",
		"Time between two looks at the source of the blocklist.")
	TrafficDropped = counter("traffic_dropped_hits_total",
		"Hits that were dropped from the traffic statistics.",
		func(c *Counters) uint64 { return c.TrafficDroppedHits.Value() })
	TrafficKeys    = set("traffic_keys", "Keys of the traffic statistics, of all servers.")
	TrafficKeysMax = set("traffic_keys_max", "Keys that the traffic statistics count at most.")

	Heartbeats = counter("presence_heartbeats_total", "Heartbeats of users.",
		func(c *Counters) uint64 { return c.Heartbeats.Value() })
	PresenceLookups = counter("presence_lookups_total", "Statuses of users that were read from Redis.",
		func(c *Counters) uint64 { return c.PresenceLookups.Value() })
	PushUp          = set("push_up", "1 while the push service of this server takes connections, else 0.")
	PushConnections = each("push_connections", "Connections of the push service that are open.",
		func(g *Gauges) *Gauge { return &g.Pushed })
	PushPublishes = counter("push_publishes_total", "Publications to a channel with a subscriber.",
		func(c *Counters) uint64 { return c.PushPublishes.Value() })
	PushDeliveries = counter("push_deliveries_total", "Publications that were sent to a connection.",
		func(c *Counters) uint64 { return c.PushDeliveries.Value() })
	PushDropped = counter("push_dropped_total", "Connections that were too slow.",
		func(c *Counters) uint64 { return c.PushDropped.Value() })
	PushRecoveries = counted("push_recoveries_total",
		"Subscriptions that continued at a position; recovered is true if nothing was missing.",
		func(c *Counters) []Value {
			return []Value{{Labels: []string{"true"}, Number: float64(c.PushRecovered.Value())},
				{Labels: []string{"false"}, Number: float64(c.PushUnrecovered.Value())}}
		}, "recovered")
	PushLag = measured("push_lag_seconds", "From storing a message to sending it.",
		func(c *Counters) []Value { return distribution(c.PushLag.Read()) })
	PushHooks = counter("push_offline_posts_total", "Posts for messages to users who were not connected.",
		func(c *Counters) uint64 { return c.PushHooks.Value() })
	PushHooksLost = counter("push_offline_lost_total", "Messages that the hook did not get or did not want.",
		func(c *Counters) uint64 { return c.PushHooksLost.Value() })

	PaymentsOpened = counter("payments_opened_total", "Payments that buyers have opened.",
		func(c *Counters) uint64 { return c.PaymentsOpened.Value() })
	PaymentFailures = counter("payment_failures_total", "Payments that the provider did not open.",
		func(c *Counters) uint64 { return c.PaymentFailures.Value() })
	PaymentEvents = counted("payment_events_total", "Events of the provider of payments, by what they led to.",
		func(c *Counters) []Value { return c.PaymentEvents.Values() }, "outcome")
	RefundsDue    = set("refunds_due", "Payments that are due to be given back.")
	RefundsDueFor = set("refunds_due_seconds", "For how long the oldest of them has been due, 0 for none.")

	CertificateEnd = set("certificate_expiry_timestamp_seconds", "When the certificate ends, Unix time.")
	LinesDropped   = counter("log_lines_dropped_total", "Lines of the log that were dropped.",
		func(c *Counters) uint64 { return c.LogLinesDropped.Value() })
)

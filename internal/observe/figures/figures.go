// Package figures counts what a server does, for its metrics. The supervisor makes one area of shared
// memory (Memory) with a slot for each worker. A worker joins its slot and counts there, and the supervisor
// reads all slots. So a scrape asks no worker, and a worker that is started again goes on where the one
// before it stopped, also after kill -9.
//
// To count costs an atomic addition or two: no lock, no allocation, no system call. The table in
// table.go makes a metric of each figure.
package figures

import (
	"hash/fnv"
	"sync/atomic"
)

// Counter only grows. It is safe for concurrent use, by several processes too.
type Counter struct{ n atomic.Uint64 }

// Inc adds one.
func (c *Counter) Inc() { c.n.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Value is the count so far.
func (c *Counter) Value() uint64 { return c.n.Load() }

// Gauge is a number that goes up and down.
type Gauge struct{ n atomic.Int64 }

// Set sets the number. Most often it is the same as before, and a load costs less than a store.
func (g *Gauge) Set(n int64) {
	if g.n.Load() != n {
		g.n.Store(n)
	}
}

// Value is the number that was set last.
func (g *Gauge) Value() int64 { return g.n.Load() }

// Counters are the figures of a slot that only grow, over all its workers since the supervisor's start.
type Counters struct {
	Starts             Counter
	Calls              Calls    // requests
	Refusals           Labelled // error replies by their code
	ConnectionsRefused Counter  // over a limit of number
	OrdersPlaced       Counter
	OrdersWaited       Counter   // for pieces of another slice
	Transfers          Counter   // of pieces between slices
	OrdersExpired      Counter   // held orders that were released because their hold was over
	OrdersGivenBack    Counter   // held orders that their buyers gave back
	ReleaseDelay       Durations // from the end of a hold to its release, of the first order of a sweep
	Redis              Redis     // of the sale
	LimitsRefused      Labelled  // calls over a rate limit by its event
	RepeatsCounted     Counter
	RepeatsNotRecorded Counter // texts that were answered, for want of memory
	TrafficDroppedHits Counter
	Heartbeats         Counter // of users
	PresenceLookups    Counter // statuses that heartbeats have read from Redis
	LogLinesDropped    Counter
	ViewersDropped     Counter // of /live, too slow
	PaymentsOpened     Counter
	PaymentFailures    Counter  // payments that the provider did not open
	PaymentEvents      Labelled // of the provider, by what they led to

	PushPublishes   Counter   // publications with a subscriber here
	PushDeliveries  Counter   // of publications to connections
	PushDropped     Counter   // connections that were too slow
	PushRecovered   Counter   // subscriptions that missed nothing
	PushUnrecovered Counter   // subscriptions that must fetch the history
	PushHooks       Counter   // posts for users who were not connected
	PushHooksLost   Counter   // messages that the hook did not get
	PushLag         Durations // from storing a message to sending it
}

// Redis are the figures of connections to Redis.
type Redis struct {
	BatchCalls Sizes     // calls of each batch that was sent
	QueueWait  Durations // from the oldest call of a batch to when it was sent
	RoundTrip  Durations // of a batch, from when it was sent to its last reply
	Reconnects Counter
	Overloads  Counter // calls that were refused because too many waited
}

// Gauges are the figures of one worker that end with it.
type Gauges struct {
	Connections    Gauge // of clients, open
	ConnectionsMax Gauge
	QueueCalls     Gauge // to Redis that wait to be sent
	QueueCallsMax  Gauge
	StockRead      Gauge // when the stock was last read, Unix nanoseconds; 0 for never
	Viewers        Gauge // of /live
	Pushed         Gauge // connections of the push service
	PushUp         Gauge // 1 while it takes connections
	Sale           Gauge // that it serves, see SaleNumber
	SaleOrders     Gauge // of that sale, by all servers

	_ [6]Gauge // the gauges of two workers share no cache line
}

// SaleNumber is the id of a sale as a number: replaced workers still serve the sale before.
func SaleNumber(id string) int64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return int64(h.Sum64())
}

func (g *Gauges) reset() {
	for _, gauge := range []*Gauge{&g.Connections, &g.ConnectionsMax, &g.QueueCalls, &g.QueueCallsMax,
		&g.StockRead, &g.Viewers, &g.Pushed, &g.PushUp, &g.Sale, &g.SaleOrders} {
		gauge.Set(0)
	}
}

// Worker is where one worker counts.
type Worker struct {
	*Counters
	*Gauges
	presence int // a descriptor that holds the lock of the gauges, -1 without a lock
}

// Private makes a Worker with memory of its own, for programs and tests without a Memory.
func Private() *Worker { return &Worker{Counters: &Counters{}, Gauges: &Gauges{}, presence: -1} }

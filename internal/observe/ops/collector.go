package ops

import (
	"maps"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flashsale/internal/observe/figures"
	"flashsale/redisx"
)

const nanoseconds = 1e9 // of a second

// collector makes metrics of the figures of all workers, and of what the supervisor knows.
type collector struct{ cfg func() *Config }

// scrape is one collection: of one sale, also where the next one follows meanwhile.
type scrape struct {
	*Config
	now time.Time
	out chan<- prometheus.Metric
}

// Describe names all families.
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range families {
		out <- f.desc
	}
}

// Collect reads everything. It asks Redis meanwhile.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := scrape{c.cfg(), time.Now(), out}
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(s.sale)
	out <- buildInfo.value(1, s.Version, runtime.Version())
	out <- saleInfo.value(1, s.Watch.ID())
	out <- startTime.value(seconds(s.Started))
	out <- clockTime.value(seconds(s.now))
	sum := newTotals()
	for number := range s.Figures.Slots() {
		sum.add(s.Figures.Counters(number))
		s.worker(number)
	}
	sum.collect(out)
	s.running()
	s.rooms()
}

// worker makes the metrics of one slot.
func (s scrape) worker(number int) {
	var open, openMax, watching, waiting, waitingMax int64
	for _, g := range s.Figures.Running(number) {
		open += g.Connections.Value()
		openMax = max(openMax, g.ConnectionsMax.Value())
		watching += g.Viewers.Value()
		waiting += g.QueueCalls.Value()
		waitingMax = max(waitingMax, g.QueueCallsMax.Value())
	}
	worker := strconv.Itoa(number)
	s.out <- starts.count(s.Figures.Counters(number).Starts.Value(), worker)
	s.out <- connections.value(float64(open), worker)
	s.out <- connectionsMax.value(float64(openMax), worker)
	s.out <- viewers.value(float64(watching), worker)
	s.out <- queueCalls.value(float64(waiting), worker)
	s.out <- queueMax.value(float64(waitingMax), worker)
}

// running counts the workers that run, and finds the one that is furthest behind.
func (s scrape) running() {
	count, oldest := 0, int64(0)
	for number := range s.Figures.Slots() {
		for _, g := range s.Figures.Running(number) {
			count++
			if read := g.StockRead.Value(); read > 0 && (oldest == 0 || read < oldest) {
				oldest = read
			}
		}
	}
	s.out <- workers.value(float64(count))
	if oldest > 0 {
		s.out <- snapshotAge.value(age(time.Unix(0, oldest), s.now))
	}
}

// sale asks Redis. While it is away its figures are missing, and nothing else is asked of it.
func (s scrape) sale() {
	var found redisx.Snapshot
	var unknown error
	var asking sync.WaitGroup
	asking.Go(func() { found, unknown = s.Watch.Snapshot() }) // with the other question: one round trip
	backlog, err := s.Watch.Ready()
	asking.Wait()
	if err != nil {
		s.out <- redisUp.value(0)
		return
	}
	s.out <- redisUp.value(1)
	if backlog.Kept {
		s.out <- ledgerLag.value(float64(backlog.Orders))
	}
	if unknown == nil {
		s.snapshot(&found)
	}
	if s.Replies != nil {
		if n, err := s.Replies(); err == nil {
			s.out <- vkWaiting.value(float64(n))
		}
	}
	if s.TrafficKeys != nil {
		if n, most, err := s.TrafficKeys(); err == nil {
			s.out <- trafficKeys.value(float64(n))
			s.out <- trafficMax.value(float64(most))
		}
	}
}

// snapshot makes the metrics of the sale as Redis has it.
func (s scrape) snapshot(found *redisx.Snapshot) {
	left, sold, gone := int64(0), s.Pieces, 0
	for i, n := range found.Left {
		left += n
		sold += found.Restocked[i] - n
		if n == 0 {
			gone++
		}
	}
	s.out <- stockPieces.value(float64(left))
	s.out <- piecesSold.value(float64(sold))
	s.out <- soldOut.value(float64(gone))
	s.out <- saleOrders.value(float64(found.Orders))
	for _, state := range redisx.States {
		s.out <- saleState.value(flag(found.State == state), string(state))
	}
}

// rooms makes the metrics of what the supervisor runs.
func (s scrape) rooms() {
	if s.Ledger != nil {
		s.out <- ledgerUp.value(flag(s.Ledger()))
	}
	if s.Replying != nil {
		s.out <- vkUp.value(flag(s.Replying()))
	}
	if s.RefusedTokens != nil {
		for group, refused := range s.RefusedTokens() {
			s.out <- vkRefused.value(flag(refused), strconv.FormatInt(group, 10))
		}
	}
	if s.Blocklist != nil {
		list := s.Blocklist()
		s.out <- documents.count(list.Documents)
		s.out <- blocklistRefresh.value(list.Refresh.Seconds())
		if !list.Checked.IsZero() {
			s.out <- blocklistAge.value(age(list.Checked, s.now))
		}
	}
	if s.Certificate != nil {
		s.out <- certificateEnd.value(seconds(s.Certificate()))
	}
}

// totals are the figures of all workers together.
type totals struct {
	calls    map[string]figures.Call
	refusals map[string]uint64
	limits   map[string]uint64

	placed, connsRefused, repeats, droppedHits, droppedLines uint64
	notRecorded                                              uint64
	viewersDropped                                           uint64
	reconnects, overloads                                    uint64

	batchCalls, queueWait, roundTrip figures.Histogram
}

func newTotals() *totals {
	return &totals{calls: map[string]figures.Call{}, refusals: map[string]uint64{}, limits: map[string]uint64{}}
}

func (t *totals) add(c *figures.Counters) {
	for call := range c.Calls.All() {
		t.addCall(call)
	}
	for reason, n := range c.Refusals.All() {
		t.refusals[reason] += n
	}
	for event, n := range c.LimitsRefused.All() {
		t.limits[event] += n
	}
	t.placed += c.OrdersPlaced.Value()
	t.connsRefused += c.ConnectionsRefused.Value()
	t.repeats += c.RepeatsCounted.Value()
	t.notRecorded += c.RepeatsNotRecorded.Value()
	t.droppedHits += c.TrafficDroppedHits.Value()
	t.droppedLines += c.LogLinesDropped.Value()
	t.viewersDropped += c.ViewersDropped.Value()
	t.reconnects += c.Redis.Reconnects.Value()
	t.overloads += c.Redis.Overloads.Value()
	t.batchCalls.Add(c.Redis.BatchCalls.Read())
	t.queueWait.Add(c.Redis.QueueWait.Read())
	t.roundTrip.Add(c.Redis.RoundTrip.Read())
}

func (t *totals) addCall(call figures.Call) {
	known, found := t.calls[call.Name]
	if !found {
		t.calls[call.Name] = call
		return
	}
	for code, n := range call.Requests {
		known.Requests[code] += n
	}
	for class, h := range call.Times {
		sum := known.Times[class]
		sum.Add(h)
		known.Times[class] = sum
	}
}

func (t *totals) collect(out chan<- prometheus.Metric) {
	for name, call := range t.calls {
		for code, n := range call.Requests {
			out <- requests.count(n, name, strconv.Itoa(code))
		}
		for class, h := range call.Times {
			out <- times.distribution(h, nanoseconds, name, strconv.Itoa(class)+"xx")
		}
	}
	for reason, n := range maps.All(t.refusals) {
		out <- refusals.count(n, reason)
	}
	for event, n := range maps.All(t.limits) {
		out <- limitsRefused.count(n, event)
	}
	out <- placed.count(t.placed)
	out <- connsRefused.count(t.connsRefused)
	out <- repeats.count(t.repeats)
	out <- notRecorded.count(t.notRecorded)
	out <- droppedHits.count(t.droppedHits)
	out <- droppedLines.count(t.droppedLines)
	out <- viewersDropped.count(t.viewersDropped)
	out <- reconnects.count(t.reconnects)
	out <- batches.count(t.batchCalls.Count)
	out <- calls.count(t.batchCalls.Sum)
	out <- overloads.count(t.overloads)
	out <- batchCalls.distribution(t.batchCalls, 1)
	out <- queueWait.distribution(t.queueWait, nanoseconds)
	out <- roundTrip.distribution(t.roundTrip, nanoseconds)
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / nanoseconds }

// age is the time since then in seconds. It is not below 0: clocks are set back.
func age(then, now time.Time) float64 { return max(now.Sub(then), 0).Seconds() }

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

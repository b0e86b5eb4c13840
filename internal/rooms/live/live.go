// Package live tells viewers how a sale goes, as server-sent events (GET /live): the sale's state, the
// stock, and each second how many orders were placed, how many calls were refused and how long orders took.
// README.md beside this file shows every event.
//
// Each worker has one Hub, with one goroutine that writes to all of its viewers. A viewer is a socket and a
// few words of memory: no goroutine, no buffer, no timer. A message is made once a second and written to
// every viewer without a copy. The sockets do not block. A viewer with a full socket is dropped: no viewer
// waits for a slow one. A viewer over TLS costs a goroutine, because its connection encrypts for itself.
//
// To write to a socket is what viewers cost. So the writes are spread over the second, a few each turn;
// with more viewers than writesMax allows, each gets several seconds at once. The event loop, which serves
// orders, takes no part: it runs on a thread of its own. Without a viewer the Hub does nothing, and asks
// Redis nothing.
//
// The figures of all servers together come from the Keeper, of which each server has one, in its
// supervisor. It puts them up on a board in shared memory (figures.Board), where the Hubs read them: so
// all viewers of all servers see the same numbers. The package does not know HTTP. Of the sale it knows
// what the functions of Config tell.
package live

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/listener"
)

const (
	turnsPerSecond = 20
	turnTime       = time.Second / turnsPerSecond
	writesMax      = 100 // to viewers in one turnTime; README.md has their cost
	urgency        = 4   // times as many when the state of the sale has changed
	joinsMax       = 200 // viewers that get their first message in one turn
	yieldAfter     = 16  // writes, to let other goroutines have the processor

	batchesMax  = 60               // seconds that a viewer may be behind, or have missed
	helloTime   = 10 * time.Second // for the first message, which may be longer than a socket takes at once
	beatSeconds = 15               // between comments that keep idle proxies from closing a stream
	topSeconds  = 15               // between the lists of most-hit keys
)

// Config is what a Hub needs.
type Config struct {
	Board      *figures.Board  // of the server's Keeper
	SaleID     string          // of what the board must be
	Own        *figures.Worker // where this worker counts
	ViewersMax int             // of this worker

	// Sale returns the body of GET /sale, nil while it is not known. It must not wait.
	Sale func() []byte
	// Look asks how Redis is. It is called at most once a second, and only while there are viewers.
	Look func() State
	// Top returns the most-hit keys as a JSON list, nil where they are not known. It is called at most once
	// a second, and only while root is among the viewers. Without Top there is no list.
	Top func() []byte
}

// State is what Redis answers.
type State struct {
	Up        bool // it answers, holds the sale and takes writes
	Ledger    bool // the sale keeps one
	LedgerLag int  // orders that are not in it yet
}

// Hub has the viewers of one worker. Its methods are safe for concurrent use, Run excepted.
type Hub struct {
	cfg   Config
	stock atomic.Pointer[[]int64]
	of    atomic.Pointer[[]int64]
	wake  chan struct{}

	mu      sync.Mutex
	taken   int                // places of viewers, also before they join
	takenBy map[netip.Addr]int // those of each listener.Subscriber that is counted
	joining []Viewer
	ending  bool // End has been called

	// All below is for the goroutine of Run.
	second  int64 // of the turn, Unix time
	slot    int64 // in which viewers were served last, a turnTime each
	viewers []*viewer
	roots   int // viewers that are root
	next    int // viewer
	urgent  int // viewers that must learn of a new state

	writesMax int
	watcher   watcher
	board     reader
	batches   [batchesMax + 1]batch // with the last that a viewer has got
	latest    int64                 // number of the last batch
	shown     shown
	history   history
	gathered  gathered
	looks     asked[State]
	tops      asked[[]byte]
	random    func(n int) int
}

// New makes a Hub. Run must run for its viewers to see anything.
func New(cfg Config) (*Hub, error) {
	h := &Hub{cfg: cfg, wake: make(chan struct{}, 1), random: rand.IntN, latest: batchesMax,
		writesMax: writesMax, takenBy: map[netip.Addr]int{}, board: reader{board: cfg.Board, sale: cfg.SaleID}}
	if err := h.watcher.open(); err != nil {
		return nil, err
	}
	return h, nil
}

// PublishStock shows the viewers the pieces left of food 1, 2, 3, ... The slice must not change.
func (h *Hub) PublishStock(stock []int64) { h.stock.Store(&stock) }

// PublishOf shows new viewers how many pieces there have been of food 1, 2, 3, ..., and all viewers each
// change of that. The slice must not change.
func (h *Hub) PublishOf(pieces []int64) { h.of.Store(&pieces) }

// Reserve takes a place for a viewer from an address. It reports false if all places are taken, or the
// share of the address, or after End. Join or Release must follow. An address of this machine has no share.
func (h *Hub) Reserve(from netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	most := h.viewersMax()
	counts, from := counted(from)
	if h.ending || h.taken >= most || counts && h.takenBy[from] >= listener.ShareOf(most) {
		return false
	}
	h.taken++
	if counts {
		h.takenBy[from]++
	}
	return true
}

// counted returns the client that an address stands for, and whether its places are counted.
func counted(from netip.Addr) (counts bool, client netip.Addr) {
	return from.IsValid() && !from.Unmap().IsLoopback(), listener.Subscriber(from)
}

// viewersMax leaves a quarter of the worker's connections to buyers.
func (h *Hub) viewersMax() int {
	if conns := int(h.cfg.Own.ConnectionsMax.Value()); conns > 0 {
		return min(h.cfg.ViewersMax, max(conns*3/4, 1))
	}
	return h.cfg.ViewersMax
}

// Release gives back a place that no viewer has taken, or that a viewer has left.
func (h *Hub) Release(from netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken--
	if counts, from := counted(from); counts {
		if h.takenBy[from]--; h.takenBy[from] == 0 {
			delete(h.takenBy, from)
		}
	}
}

// Join begins to send to a viewer with a place. The Hub closes its connection in the end.
func (h *Hub) Join(v Viewer) {
	h.mu.Lock()
	h.joining = append(h.joining, v)
	h.mu.Unlock()
	h.call()
}

// End ends all viewers, soon, each with a hint when to come back, and lets no more viewers in.
func (h *Hub) End() {
	h.mu.Lock()
	h.ending = true
	h.mu.Unlock()
	h.call()
}

// call makes the next turn begin.
func (h *Hub) call() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Run serves the viewers until ctx ends, and returns nil then.
func (h *Hub) Run(ctx context.Context) error {
	defer h.watcher.close()
	defer h.looks.wait()
	defer h.tops.wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-h.wake:
		case <-ctx.Done():
			h.End()
			h.turn(time.Now())
			return nil
		}
		h.turn(time.Now())
		timer.Reset(h.pause())
	}
}

// pause is the time until the next turn: without viewers there is one each second.
func (h *Hub) pause() time.Duration {
	step := time.Second
	if len(h.viewers) > 0 || h.waiting() {
		step = turnTime
	}
	now := time.Now()
	return now.Truncate(step).Add(step).Sub(now)
}

func (h *Hub) waiting() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.joining) > 0
}

// turn is one step of Run. A turn that begins early, because a viewer joins, sends nothing to the others:
// viewers who join would multiply the writes.
func (h *Hub) turn(now time.Time) {
	if second := now.Unix(); second != h.second {
		h.begin(second)
	}
	h.watcher.ended(func(v *viewer) { h.remove(v) })
	joining, ending := h.takeJoining()
	for i := range joining {
		h.admit(&joining[i])
		yield(i)
	}
	if slot := now.UnixNano() / int64(turnTime); ending {
		h.endAll()
	} else if slot != h.slot {
		h.slot = slot
		h.serveSome()
	}
	h.cfg.Own.Viewers.Set(int64(len(h.viewers)))
}

// takeJoining takes some of the viewers who want to join; all of them at the end.
func (h *Hub) takeJoining() (joining []Viewer, ending bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.joining)
	if !h.ending {
		n = min(n, joinsMax)
	}
	joining, h.joining = h.joining[:n], h.joining[n:]
	return joining, h.ending
}

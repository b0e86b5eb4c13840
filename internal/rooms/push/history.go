package push

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
)

const (
	windowSlack    = 64               // messages before the wanted one that are read too: clients differ
	windowKept     = 30 * time.Second // after the last read
	windowBytes    = 2 * recoveryMax  // of the messages of a thread; older ones are read for each client
	windowMessages = 4096             // of a thread that are read at once
	windowsMax     = 64 << 20         // bytes of messages of all threads
	loadsMax       = 8                // threads that are read from the store at once
	messageBytes   = 200              // of a message besides its data
)

// histories are the threads that somebody here reads: at a mass recovery each thread is read once from the
// store, not once for each client. Each holds all that was delivered: see thread.
type histories struct {
	most  int // messages of a thread that are read
	load  func(thread string, after uint64, limit int) (History, error)
	now   func() time.Time
	loads chan struct{} // a place for each
	bytes atomic.Int64  // of all windows

	mu      sync.Mutex
	threads map[string]*thread
}

func newHistories(cfg *Config) *histories {
	return &histories{load: cfg.Threads.History, now: cfg.Now, threads: map[string]*thread{},
		most:  min(2*cfg.MessagesMax, windowMessages), // the store may hold twice as many for a moment
		loads: make(chan struct{}, loadsMax)}
}

// thread is what is known here of a thread with readers. A subscriber begins at the position that it reads
// here, so what was delivered before must be in it: deliver enters each message before the message goes out,
// and a load that has begun before a delivery and does not hold it is repeated.
type thread struct {
	all  *histories
	name string

	mu         sync.Mutex
	subscribed bool // by a client here: the thread is kept
	known      bool // epoch and last are
	epoch      string
	last       uint64
	delivered  uint64 // newest id that the log has brought
	sent       uint64 // newest id that went out to the subscribers here
	loading    *load

	// The newest messages: those after from, up to last.
	from   uint64
	whole  bool // the store has no older ones
	cut    bool // older ones would be too many here
	window []*centrifuge.Publication
	bytes  int // of the window
	read   time.Time
}

type load struct {
	done chan struct{}
	err  error
}

// view is a part of a thread. Its messages must not be changed.
type view struct {
	centrifuge.StreamPosition
	messages []*centrifuge.Publication // all after the wanted id that exist
	older    bool                      // but for some that the window does not hold
}

// get returns a thread, and makes it if it is not there.
func (h *histories) get(name string) *thread {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.threads[name]
	if t == nil {
		t = &thread{all: h, name: name, read: h.now()}
		h.threads[name] = t
	}
	return t
}

// find returns a thread that somebody here reads, nil for any other.
func (h *histories) find(name string) *thread {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.threads[name]
}

// subscribe notes whether clients here subscribe to a thread.
func (h *histories) subscribe(name string, subscribed bool) {
	t := h.get(name)
	t.mu.Lock()
	t.subscribed = subscribed
	t.mu.Unlock()
}

// list returns all threads that are kept.
func (h *histories) list() (all []*thread) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.threads {
		all = append(all, t)
	}
	return all
}

// sweep forgets what nobody has read for a while.
func (h *histories) sweep() {
	now := h.now()
	for _, t := range h.list() {
		t.mu.Lock()
		idle := now.Sub(t.read) > windowKept
		if idle {
			t.forgetWindow()
		}
		unused := idle && !t.subscribed && t.loading == nil
		t.mu.Unlock()
		if unused {
			h.drop(t)
		}
	}
}

// makeRoom forgets windows if they take too much: half of what they may take, so that this is rare.
func (h *histories) makeRoom() {
	if h.bytes.Load() <= windowsMax {
		return
	}
	for _, t := range h.list() {
		t.mu.Lock()
		t.forgetWindow()
		t.mu.Unlock()
		if h.bytes.Load() <= windowsMax/2 {
			return
		}
	}
}

// read reads from the store. Positions do not wait for others.
func (h *histories) read(name string, from uint64, limit int) (History, error) {
	if limit > 0 {
		h.makeRoom()
		h.loads <- struct{}{}
		defer func() { <-h.loads }()
	}
	return h.load(name, from, limit)
}

// drop forgets a thread unless somebody has begun to read it.
func (h *histories) drop(t *thread) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.subscribed && t.loading == nil && h.now().Sub(t.read) > windowKept {
		t.forgetWindow()
		delete(h.threads, t.name)
	}
}

// top returns the position of the thread without messages.
func (t *thread) top() (view, error) { return t.after(^uint64(0)) }

// after returns the messages after an id.
func (t *thread) after(id uint64) (view, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	onlyTop, loads := id == ^uint64(0), 0
	t.read = t.all.now()
	for {
		behind := !onlyTop && id > t.last && loads == 0 // another server may have delivered more
		if t.known && !behind && (onlyTop || t.from <= id || t.whole || t.cut) {
			return t.viewAfter(id), nil
		}
		if t.loading != nil {
			if err := t.await(); err != nil {
				return view{}, err
			}
			continue
		}
		if loads > 0 { // what was delivered is gone from the store
			t.delivered = 0
		}
		if err := t.fill(id, onlyTop); err != nil {
			return view{}, err
		}
		loads++
	}
}

// await waits for the load under way.
func (t *thread) await() error {
	l := t.loading
	t.mu.Unlock()
	<-l.done
	t.mu.Lock()
	return l.err
}

// fill reads the thread from the store, with the messages after an id if there are not too many.
func (t *thread) fill(id uint64, onlyTop bool) error {
	from, limit := uint64(0), t.all.most+windowSlack
	switch {
	case onlyTop:
		limit = 0
	case len(t.window) == 0 && id > windowSlack:
		from = id - windowSlack
	}
	if t.known {
		from = max(from, below(t.last, uint64(t.all.most)))
	}
	l := &load{done: make(chan struct{})}
	t.loading = l
	t.mu.Unlock()
	found, err := t.all.read(t.name, from, limit)
	t.mu.Lock()
	t.loading = nil
	if l.err = err; err == nil && found.Last >= t.delivered {
		t.take(found, from, onlyTop)
	}
	close(l.done)
	return err
}

// take enters what the store holds.
func (t *thread) take(found History, from uint64, onlyTop bool) {
	if found.Epoch != t.epoch {
		t.sent = found.Last // a subscriber begins at this position or a later one
	}
	t.known, t.epoch, t.last = true, found.Epoch, found.Last
	t.forgetWindow()
	if onlyTop {
		return
	}
	n := len(found.Messages)
	if found.Last > from && (n == 0 || found.Messages[n-1].ID != found.Last) {
		return // more than were read at once: the next read begins later
	}
	t.from, t.whole, t.cut = from, from == 0, n >= t.all.most
	for _, m := range found.Messages {
		t.push(publicationOf(&m))
	}
	if len(t.window) > 0 {
		first := t.window[0].Offset - 1
		t.whole = t.whole || first > from // those between are gone
		t.from = first
	}
	t.shorten()
}

// What to do with a message that the log has brought.
const (
	keep  = iota // nobody here waits for it
	send         // to the subscribers here
	catch        // messages before it are missing here: see Server.catchUp
)

// deliver enters a message that the log has brought. The epoch is for send.
func (t *thread) deliver(pub *centrifuge.Publication) (what int, epoch string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := pub.Offset
	if id == 1 && t.known && t.sent >= 1 { // another thread of that name: the store has lost its data
		t.known, t.delivered, t.sent = false, 1, 0
		t.forgetWindow()
		return catch, ""
	}
	t.delivered = max(t.delivered, id)
	switch {
	case !t.known:
		return keep, "" // the load under way, or the next one, has it
	case id == t.last+1:
		t.add(pub)
	case id > t.last:
		t.known = false
		t.forgetWindow()
	}
	switch {
	case id <= t.sent:
		return keep, ""
	case id > t.sent+1:
		return catch, ""
	}
	t.sent = id
	return send, t.epoch
}

// catchUp returns what the subscribers have not got and notes that it goes out. missing reports that some of
// it is gone from the store.
func (t *thread) catchUp() (v view, missing bool, err error) {
	t.mu.Lock()
	sent := t.sent
	t.mu.Unlock()
	if v, err = t.after(sent); err != nil {
		return v, false, err
	}
	t.mu.Lock()
	t.sent = max(t.sent, v.Offset)
	t.mu.Unlock()
	missing = v.Offset > sent && (len(v.messages) == 0 || v.messages[0].Offset != sent+1)
	return v, missing, nil
}

// stale makes the next reader read the store: the log has lost lines.
func (t *thread) stale() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = false
	t.forgetWindow()
}

// erase forgets messages that were changed in the store.
func (t *thread) erase() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetWindow()
}

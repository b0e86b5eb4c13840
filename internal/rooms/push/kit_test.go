package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/tokens"
)

const (
	ann  = uint32(3)
	bob  = uint32(9)
	them = "u3-9"              // the thread of Ann and Bob
	club = "gaaaaaaaaaaaaaaaa" // a group
	room = "sale-aaaaaaaa"
)

// store is the threads in memory.
type store struct {
	mu      sync.Mutex
	grown   *sync.Cond
	threads map[string]*stored
	logs    [pipeline.Parts][]Entry
	reads   int // calls of History
	away    error
}

type stored struct {
	epoch    string
	members  map[uint32]bool // and whether each has muted it
	messages []Message
	first    int // index of the oldest message that is still there
	keys     map[string]Message
}

func newStore() *store {
	st := &store{threads: map[string]*stored{}}
	st.grown = sync.NewCond(&st.mu)
	for id, members := range map[string][]uint32{them: {ann, bob}, club: {ann, bob}, room: nil} {
		t := &stored{epoch: "e1", members: map[uint32]bool{}, keys: map[string]Message{}}
		for _, user := range members {
			t.members[user] = false
		}
		st.threads[id] = t
	}
	return st
}

func (st *store) log(e Entry) {
	e.Part = pipeline.PartOf(e.Thread)
	e.Position = int64(len(st.logs[e.Part]) + 1)
	st.logs[e.Part] = append(st.logs[e.Part], e)
	st.grown.Broadcast()
}

func (st *store) may(t *stored, thread string, user uint32) bool {
	if t == nil {
		return false
	}
	_, member := t.members[user]
	return member || isRoom(thread)
}

func (st *store) Post(thread string, by uint32, clientID, content string) (Message, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	t := st.threads[thread]
	switch {
	case st.away != nil:
		return Message{}, st.away
	case !st.may(t, thread, by):
		return Message{}, ErrDenied
	case len(content) > 4096:
		return Message{}, fmt.Errorf("%w: too long", ErrRefused)
	}
	if m, found := t.keys[clientID]; found && clientID != "" {
		return m, nil
	}
	m := Message{ID: uint64(len(t.messages) + 1), Thread: thread, User: by, Content: content,
		Created: time.Now()}
	t.messages, t.keys[clientID] = append(t.messages, m), m
	st.log(Entry{What: Stored, Thread: thread, Message: m, User: by, Large: isRoom(thread)})
	return m, nil
}

func (st *store) History(thread string, after uint64, limit int) (History, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.reads++
	t := st.threads[thread]
	if st.away != nil || t == nil {
		return History{}, errors.Join(st.away, ErrDenied)
	}
	h := History{Epoch: t.epoch, Last: uint64(len(t.messages))}
	for _, m := range t.messages[t.first:] {
		if m.ID > after && len(h.Messages) < limit {
			h.Messages = append(h.Messages, m)
		}
	}
	return h, nil
}

func (st *store) MayRead(thread string, user uint32) (bool, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.may(st.threads[thread], thread, user), st.away
}

func (st *store) Of(user uint32) (list []string, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for id, t := range st.threads {
		if _, member := t.members[user]; member {
			list = append(list, id)
		}
	}
	return list, st.away
}

func (st *store) Members(thread string) (map[uint32]bool, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.threads[thread].members, st.away
}

func (st *store) Now() (at Positions, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for part := range at {
		at[part] = int64(len(st.logs[part]))
	}
	return at, st.away
}

func (st *store) Tail(ctx context.Context, from Positions, do func(Entry)) error {
	defer context.AfterFunc(ctx, st.grown.Broadcast)()
	for {
		st.mu.Lock()
		var found []Entry
		for {
			for part := range from {
				log := st.logs[part]
				found = append(found, log[min(int(from[part]), len(log)):]...)
				from[part] = int64(len(log))
			}
			if len(found) > 0 || ctx.Err() != nil {
				break
			}
			st.grown.Wait()
		}
		st.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		for _, e := range found {
			do(e)
		}
	}
}

// remove takes a member out.
func (st *store) remove(thread string, user uint32) (part int, position int64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.threads[thread].members, user)
	st.log(Entry{What: Left, Thread: thread, User: user})
	part = pipeline.PartOf(thread)
	return part, int64(len(st.logs[part]))
}

// change changes the store without a line of the log.
func (st *store) change(do func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	do()
}

var keys = func() *tokens.Keys {
	k, err := tokens.New("aaaaaaaa", []byte(strings.Repeat("s", tokens.SecretMin)))
	if err != nil {
		panic(err)
	}
	return k
}()

func ticket(user uint32) string {
	return string(keys.AppendTicket(nil, user, 1, time.Now().Add(TicketLife)))
}

func config(threads Threads, redis ...pipeline.Config) Config {
	return Config{Threads: threads, Ticket: keys.Ticket, Redis: redis, MessagesMax: 1000,
		Figures: figures.Private()}
}

// running is a server of a test.
type running struct {
	*Server
	url string
}

// start runs a server until the test ends.
func start(tb testing.TB, cfg Config) *running {
	tb.Helper()
	testkit.KeepLog(tb)
	s, err := New(cfg)
	testkit.Must(tb, err)
	testkit.Background(tb, s.Run)
	web := httptest.NewServer(s.Handler())
	tb.Cleanup(func() {
		testkit.Must(tb, s.Drain(time.Now()))
		web.Close()
	})
	testkit.Until(tb, "the log is followed", s.Following)
	return &running{s, "ws" + strings.TrimPrefix(web.URL, "http") + Path}
}

// one runs a server with a store.
func one(tb testing.TB) (*running, *store) {
	st := newStore()
	return start(tb, config(st, roomtest.Redis(tb))), st
}

// device is a connected client of a user.
type device struct {
	*centrifuge.Client
	tb  testing.TB
	mu  sync.Mutex
	got []string
}

func (s *running) connect(tb testing.TB, user uint32) *device {
	tb.Helper()
	d := s.device(tb, centrifuge.Config{Token: ticket(user),
		GetToken: func(centrifuge.ConnectionTokenEvent) (string, error) { return ticket(user), nil }})
	d.online()
	return d
}

func (s *running) device(tb testing.TB, cfg centrifuge.Config) *device {
	cfg.MinReconnectDelay, cfg.MaxReconnectDelay = time.Millisecond, 50*time.Millisecond
	d := &device{Client: centrifuge.NewJsonClient(s.url, cfg), tb: tb}
	d.OnPublication(func(e centrifuge.ServerPublicationEvent) { d.note("%s %s", e.Channel, e.Data) })
	tb.Cleanup(d.Close)
	return d
}

// online connects.
func (d *device) online() {
	d.tb.Helper()
	testkit.Must(d.tb, d.Connect())
	testkit.Until(d.tb, "connected", func() bool { return d.State() == centrifuge.StateConnected })
}

func (d *device) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, fmt.Sprintf(format, args...))
}

func (d *device) notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.got)
}

// heard is what the device has noted of threads.
func (d *device) heard() []string {
	return slices.DeleteFunc(d.notes(), func(note string) bool { return strings.HasPrefix(note, userPrefix) })
}

// saw waits until the device has noted a text.
func (d *device) saw(text string) {
	d.tb.Helper()
	testkit.Until(d.tb, text, func() bool { return slices.Contains(d.notes(), text) })
}

// subscribe subscribes to a thread and notes each message as "7 content".
func (d *device) subscribe(thread string) *centrifuge.Subscription {
	d.tb.Helper()
	sub, err := d.NewSubscription(threadPrefix+thread, centrifuge.SubscriptionConfig{
		MinResubscribeDelay: time.Millisecond, MaxResubscribeDelay: 50 * time.Millisecond})
	testkit.Must(d.tb, err)
	sub.OnPublication(func(e centrifuge.PublicationEvent) {
		var m shownMessage
		if json.Unmarshal(e.Data, &m) == nil && m.ID > 0 {
			d.note("%d %s", m.ID, m.Content)
		}
	})
	sub.OnSubscribed(func(e centrifuge.SubscribedEvent) {
		if e.WasRecovering {
			d.note("recovered %v", e.Recovered)
		}
	})
	sub.OnUnsubscribed(func(e centrifuge.UnsubscribedEvent) { d.note("unsubscribed %d", e.Code) })
	testkit.Must(d.tb, sub.Subscribe())
	testkit.Until(d.tb, "subscribed", func() bool { return sub.State() == centrifuge.SubStateSubscribed })
	return sub
}

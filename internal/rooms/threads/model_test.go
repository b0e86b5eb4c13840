package threads

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

var (
	seeds     = flag.Int("seeds", 200, "random histories of the model test")
	firstSeed = flag.Uint64("seed", 1, "the first of them")
)

const (
	modelUsers = 8   // more than the fan-out: groups become large
	modelSteps = 120 // of a history
)

// TestModel plays random histories on Redis and on a model in Go: threads start, members come and go, write
// and read, keepers work a call at a time, stop for a while, and die before any call.
func TestModel(t *testing.T) {
	const servers = 4 // at once: the test waits for Redis most of the time
	for n := range uint64(servers) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			for seed := *firstSeed + n; seed < *firstSeed+uint64(*seeds) && !t.Failed(); seed += servers {
				server.Flush(t)
				m := newModel(t, server, seed)
				if m.play(); t.Failed() {
					t.Errorf("seed %d:\n%s", seed, strings.Join(m.story, "\n"))
				}
				m.stop()
			}
		})
	}
}

func newModel(t *testing.T, server *redistest.Server, seed uint64) *model {
	m := &model{tb: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), clock: newClock(),
		prompt: seed%3 == 0, found: map[string]*modelThread{}, parts: map[int]bool{},
		polls: map[uint32]*poller{}, views: map[userThread]modelView{}}
	cfg := config(roomtest.Of(server), m.clock)
	cfg.MessagesMax = 10
	if seed%2 == 0 {
		m.archive = &shelf{map[string][]Message{}}
		cfg.Archive = m.archive
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.threads = New(cfg)
	spreads := []*pipeline.Spread{m.threads.redis}
	for range len(m.working) + 1 {
		k := NewKeeper(cfg)
		k.name = "keeper" // all have all leases: they must not need them
		m.keepers, spreads = append(m.keepers, k.wards()[0]), append(spreads, k.redis)
	}
	for _, redis := range spreads {
		go redis.Run(ctx)
		testkit.Until(t, "connection", redis.Part(0).Up)
	}
	return m
}

// shelf is an archive in memory, of threads and their epochs.
type shelf struct{ threads map[string][]Message }

func (s *shelf) Store(thread, epoch string, list []Message) error {
	for _, m := range list {
		have := s.threads[thread+epoch]
		switch {
		case m.ID == int64(len(have))+1:
			s.threads[thread+epoch] = append(have, m)
		case m.ID > int64(len(have)):
			return fmt.Errorf("message %d of %s comes after %d", m.ID, thread, len(have))
		case m.Removed:
			have[m.ID-1] = m
		}
	}
	return nil
}

func (s *shelf) Load(thread, epoch string, from, to int64) ([]Message, error) {
	return slices.Clone(s.threads[thread+epoch][from-1 : to]), nil
}

func (s *shelf) Erase(thread, epoch string, message int64) error {
	s.threads[thread+epoch][message-1] = Message{ID: message, Thread: thread, Removed: true}
	return nil
}

func (s *shelf) Forget(thread, epoch string) error {
	delete(s.threads, thread+epoch)
	return nil
}

// model is what must be true.
type model struct {
	tb      testing.TB
	seed    uint64
	rand    *rand.Rand
	clock   *roomtest.Clock
	threads *Threads
	keepers []*ward
	archive *shelf // nil for none
	stop    func()
	prompt  bool // the keeper works after each step: then the order of lists is known too
	story   []string

	ids     []string // of threads, in the order of their start
	found   map[string]*modelThread
	views   map[userThread]modelView
	polls   map[uint32]*poller
	order   []userThread // the newest change last
	working [3]*working  // of the first keepers; nil: not at work
	sent    int
	parts   map[int]bool // of all threads that were ever started
}

type modelThread struct {
	kind    Kind
	history bool
	large   bool
	members map[uint32]*member
	list    []Message // id 1 first
}

type modelView struct {
	muted    bool
	nickname string
}

// poller is a client that only polls. It knows the newest message of each thread.
type poller struct {
	after int64
	last  map[string]int64
}

// working is a keeper in the middle of a step.
type working struct {
	next func() (struct{}, bool)
	stop func()
}

func (m *model) say(format string, args ...any) {
	m.story = append(m.story, fmt.Sprintf(format, args...))
}

func (m *model) fail(format string, args ...any) {
	m.tb.Helper()
	m.tb.Errorf(format, args...)
}

// user is one of the users of this history.
func (m *model) user() uint32 { return uint32(m.seed)*100 + 1 + m.rand.Uint32N(modelUsers) }

func (m *model) play() {
	for range modelSteps {
		if m.tb.Failed() {
			return
		}
		m.clock.Add(time.Millisecond)
		m.step()
		if m.prompt {
			m.finish()
		}
	}
	m.finish()
	m.check()
}

func (m *model) step() {
	switch n := m.rand.IntN(100); {
	case n < 4 || len(m.ids) == 0:
		m.start()
	case n < 44:
		m.post()
	case n < 52:
		m.add()
	case n < 57:
		m.remove()
	case n < 62:
		m.change()
	case n < 70:
		m.read()
	case n < 73:
		m.erase()
	case n < 76:
		m.poll(m.user())
	case n < 77:
		m.clock.Add([]time.Duration{time.Second, 2 * time.Minute, 20 * time.Hour}[m.rand.IntN(3)])
	default:
		m.keep()
	}
}

// keep lets a keeper make its next calls, or dies before one of them. Where it is not at work, it begins a
// step.
func (m *model) keep() {
	i := m.rand.IntN(len(m.working))
	if w := m.keepers[i]; m.working[i] == nil {
		w.parts = []int{m.rand.IntN(pipeline.Parts)}
		for range m.rand.IntN(3) {
			if part := pipeline.PartOf(m.thread()); !slices.Contains(w.parts, part) {
				w.parts = append(w.parts, part)
			}
		}
		if m.rand.IntN(2) == 0 {
			w.from = Positions{} // another process takes over
		}
		m.working[i] = work(m.tb.Context(), w, m.rand.IntN(3) == 0)
	}
	for range m.rand.IntN(8) {
		if m.rand.IntN(20) == 0 {
			m.working[i].stop()
		}
		if _, more := m.working[i].next(); !more {
			m.working[i] = nil
			return
		}
	}
}

// work begins a step of a keeper, which waits before each call.
func work(ctx context.Context, w *ward, tidy bool) *working {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		w.killed = func() bool { return !yield(struct{}{}) }
		defer func() { w.killed = nil }()
		if tidy {
			leases, _ := w.due()
			for _, l := range leases {
				_ = w.trimAll(l)
			}
		} else if w.hold() == nil {
			if _, err := w.follow(ctx, 0); err != nil {
				w.from = Positions{}
			}
		}
	})
	return &working{next, stop}
}

// finish lets one keeper do all that is left. The others die, or they were frozen and wake when all is done.
func (m *model) finish() {
	if len(m.parts) == 0 {
		return
	}
	last := m.keepers[len(m.working)]
	last.parts = slices.Collect(maps.Keys(m.parts))
	last.drain(m.tb)
	for i, w := range m.working {
		for more := w != nil && m.rand.IntN(3) > 0; more; {
			_, more = w.next()
		}
		if w != nil {
			w.stop()
		}
		m.working[i] = nil
	}
	last.drain(m.tb) // a keeper has woken in the middle of its step
}

func (m *model) thread() string { return m.ids[m.rand.IntN(len(m.ids))] }

// is compares an outcome.
func (m *model) is(err, want error) {
	m.tb.Helper()
	if err != want {
		m.fail("%v, want %v", err, want)
	}
}

// touched notes a change of a thread in the lists of its members.
func (m *model) touched(id string, users ...uint32) {
	for _, user := range users {
		of := userThread{user, id}
		m.order = append(slices.DeleteFunc(m.order, func(o userThread) bool { return o == of }), of)
	}
}

func (m *model) start() {
	by, s := m.user(), Start{Participants: []uint32{m.user()}}
	if m.rand.IntN(2) == 0 {
		m.sent++
		s = Start{Group: true, History: m.rand.IntN(2) == 0, Key: fmt.Sprint("key ", m.seed, " ", m.rand.IntN(4))}
		for range m.rand.IntN(modelUsers) {
			s.Participants = append(s.Participants, m.user())
		}
	}
	if !s.Group && s.Participants[0] == by {
		_, err := m.threads.Start(by, s)
		m.is(err, ErrBadStart)
		return
	}
	id, kind := groupID(by, s.Key), Group
	if !s.Group {
		id, kind = pairID(by, s.Participants[0]), Pair
	}
	got, err := m.threads.Start(by, s)
	m.say("%d starts %s with %v", by, id, s.Participants)
	th := m.found[id]
	if th == nil {
		th = &modelThread{kind: kind, history: s.History, members: map[uint32]*member{}}
		for _, user := range append(s.Participants, by) {
			th.members[user] = &member{role: Member}
		}
		if s.Group {
			th.members[by].role = Owner
		}
		th.large = s.Group && len(th.members) > m.threads.cfg.Fanout
		m.ids, m.found[id], m.parts[pipeline.PartOf(id)] = append(m.ids, id), th, true
		if !th.large {
			m.touched(id, slices.Collect(maps.Keys(th.members))...)
		}
	}
	if th.members[by] == nil {
		m.is(err, ErrNotMember)
		return
	}
	m.is(err, nil)
	m.compare(by, got)
}

// compare compares a view with the model.
func (m *model) compare(user uint32, got Thread) {
	m.tb.Helper()
	th := m.found[got.ID]
	if th == nil || th.members[user] == nil {
		m.fail("%d sees %s", user, got.ID)
		return
	}
	me, v, last := th.members[user], m.views[userThread{user, got.ID}], int64(len(th.list))
	read := max(me.read, me.joined)
	want := Thread{ID: got.ID, Kind: th.kind, Owner: user, Role: me.role, Participants: got.Participants,
		Members: int64(len(th.members)), Large: th.large, History: th.history, Muted: v.muted,
		Nickname: v.nickname, Last: last, Read: read, Unread: last - read, Created: got.Created,
		Updated: got.Updated, Cursor: got.Cursor}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		m.fail("%d sees\n%+v, want\n%+v", user, got, want)
	}
	if len(got.Participants) != len(th.members) {
		m.fail("participants %v of %d members", got.Participants, len(th.members))
	}
	for _, other := range got.Participants {
		if th.members[other] == nil {
			m.fail("%d is no participant of %s", other, got.ID)
		}
	}
}

func (m *model) post() {
	id, by := m.thread(), m.user()
	th := m.found[id]
	m.sent++
	key, content := fmt.Sprint("id ", m.sent), fmt.Sprintf("message %d", m.sent)
	got, err := m.threads.Post(id, by, key, content)
	m.say("%d posts %q to %s: %d %v", by, content, id, got.ID, err)
	switch {
	case len(th.members) == 0:
		m.is(err, ErrNoThread)
		return
	case th.members[by] == nil:
		m.is(err, ErrNotMember)
		return
	}
	m.is(err, nil)
	th.list = append(th.list, got)
	th.members[by].read = int64(len(th.list))
	if !th.large {
		m.touched(id, slices.Collect(maps.Keys(th.members))...)
	}
	want := Message{ID: int64(len(th.list)), Thread: id, User: by, Content: content, Created: got.Created}
	if got != want || got.Created.After(m.clock.Now()) {
		m.fail("stored %+v, want %+v", got, want)
	}
	if m.rand.IntN(4) == 0 { // the answer was lost
		if again, err := m.threads.Post(id, by, key, content); err != nil || again != got {
			m.fail("posted again: %+v %v, want %+v", again, err, got)
		}
	}
}

func (m *model) add() {
	id, by, user := m.thread(), m.user(), m.user()
	th, role := m.found[id], []Role{Owner, Member}[m.rand.IntN(2)]
	err := m.threads.Add(id, by, user, role)
	m.say("%d adds %d to %s as %s: %v", by, user, id, role, err)
	me, other := th.members[by], th.members[user]
	switch {
	case th.kind == Pair:
		m.is(err, ErrNoGroup)
	case len(th.members) == 0:
		m.is(err, ErrNoThread)
	case me == nil:
		m.is(err, ErrNotMember)
	case me.role != Owner:
		m.is(err, ErrNotOwner)
	case other != nil && other.role == Owner && role == Member && th.owners() == 1:
		m.is(err, ErrLastOwner)
	case other != nil:
		m.is(err, nil)
		other.role = role
	default:
		m.is(err, nil)
		last := int64(len(th.list))
		th.members[user] = &member{role: role, joined: last, read: last}
		if len(th.members) > m.threads.cfg.Fanout {
			th.large = true
		}
		if !th.large {
			m.touched(id, user)
		}
	}
}

func (th *modelThread) owners() (n int) {
	for _, me := range th.members {
		if me.role == Owner {
			n++
		}
	}
	return n
}

func (m *model) remove() {
	id, by := m.thread(), m.user()
	user, th := by, m.found[id]
	if m.rand.IntN(2) == 0 {
		user = m.user()
	}
	err := m.threads.Remove(id, by, user)
	m.say("%d removes %d from %s: %v", by, user, id, err)
	switch me := th.members[by]; {
	case th.kind == Pair:
		m.is(err, ErrNoGroup)
	case len(th.members) == 0:
		m.is(err, ErrNoThread)
	case me == nil:
		m.is(err, ErrNotMember)
	case by != user && me.role != Owner:
		m.is(err, ErrNotOwner)
	default:
		m.is(err, nil)
		delete(th.members, user)
		delete(m.views, userThread{user, id})
		switch {
		case len(th.members) == 0: // gone, and its key may start another one
			m.ids = slices.DeleteFunc(m.ids, func(other string) bool { return other == id })
			delete(m.found, id)
		case th.owners() == 0:
			m.inherit(id)
		}
	}
}

// inherit reads who is the owner after the last one has left: some member is.
func (m *model) inherit(id string) {
	th := m.found[id]
	for user, me := range th.members {
		got, err := m.threads.Get(id, user)
		m.is(err, nil)
		me.role = got.Role
	}
	if th.owners() != 1 {
		m.fail("%d owners of %s", th.owners(), id)
	}
}

func (m *model) change() {
	id, by := m.thread(), m.user()
	th, of := m.found[id], userThread{by, id}
	v, read := m.views[of], int64(m.rand.IntN(30))
	var c Change
	switch m.rand.IntN(3) {
	case 0:
		v.muted = !v.muted
		c.Muted = &v.muted
	case 1:
		v.nickname = fmt.Sprintf("a:%d", m.rand.IntN(9))
		c.Nickname = &v.nickname
	default:
		c.Read = &read
	}
	got, err := m.threads.Change(id, by, c)
	m.say("%d changes %s: %+v %v", by, id, c, err)
	if th.members[by] == nil {
		m.is(err, ErrNotMember)
		return
	}
	m.is(err, nil)
	m.views[of] = v
	if me := th.members[by]; c.Read != nil {
		me.read = max(me.read, min(read, int64(len(th.list))))
	}
	m.compare(by, got)
}

func (m *model) erase() {
	id := m.thread()
	th := m.found[id]
	if len(th.list) == 0 {
		return
	}
	n := 1 + m.rand.IntN(len(th.list))
	err := m.threads.Erase(id, int64(n))
	m.say("message %d of %s is erased: %v", n, id, err)
	if err == nil {
		th.list[n-1] = Message{ID: int64(n), Thread: id, Removed: true}
	} else if err != ErrNoMessage || m.archive != nil || !m.mayBeGone(th, n) {
		m.fail("cannot erase %d of %s: %v", n, id, err)
	}
}

// mayBeGone reports whether Redis may have forgotten a message.
func (m *model) mayBeGone(th *modelThread, n int) bool {
	return n <= len(th.list)-m.threads.cfg.MessagesMax || !slices.ContainsFunc(th.list[:n],
		func(old Message) bool { return !old.Removed && m.clock.Now().Sub(old.Created) < m.threads.cfg.AgeMax })
}

// read reads a page of messages.
func (m *model) read() {
	id, by := m.thread(), m.user()
	th, p := m.found[id], Page{Limit: 1 + m.rand.IntN(12)}
	count := len(th.list)
	floor := 0
	if me := th.members[by]; me != nil && !th.history {
		floor = int(me.joined)
	}
	from, to := floor+1, count
	if m.rand.IntN(2) == 0 {
		p.Before = 1 + m.rand.Int64N(int64(count+2))
		to = min(to, int(p.Before)-1)
	}
	if m.rand.IntN(2) == 0 {
		p.After = at(m.rand.Int64N(int64(count + 1)))
		from = max(from, int(*p.After)+1)
	}
	got, last, err := m.threads.Messages(id, by, p)
	m.say("%d reads %s", by, id)
	if th.members[by] == nil {
		m.is(err, ErrNotMember)
		return
	}
	m.is(err, nil)
	if last != int64(count) {
		m.fail("last is %d, want %d", last, count)
	}
	m.comparePage(th, got, from, to, p)
}

// comparePage compares messages with those from and to these ids.
func (m *model) comparePage(th *modelThread, got []Message, from, to int, p Page) {
	m.tb.Helper()
	for m.archive == nil && from <= to && m.mayBeGone(th, from) && (len(got) == 0 || int(got[0].ID) > from) {
		from++
	}
	if p.After != nil {
		to = min(to, from+p.Limit-1)
	} else {
		from = max(from, to-p.Limit+1)
	}
	var want []Message
	if from <= to {
		want = th.list[from-1 : to]
	}
	if !slices.Equal(got, want) {
		m.fail("messages\n%v, want\n%v", got, want)
	}
}

// poll lets a client that only polls ask what has changed.
func (m *model) poll(user uint32) {
	p := m.polls[user]
	if p == nil {
		p = &poller{last: map[string]int64{}}
		m.polls[user] = p
	}
	page := Page{After: at(p.after), Limit: 1 + m.rand.IntN(3)}
	for first := true; first || page.Before != 0; first = false {
		list, err := m.threads.List(user, page)
		m.is(err, nil)
		if first {
			p.after = list.Changed
		}
		for _, th := range list.Threads {
			p.last[th.ID] = th.Last
			m.compare(user, th)
		}
		page.Before = list.Next
	}
}

// check compares all that users see when the keeper has done its work.
func (m *model) check() {
	if m.archive != nil {
		for of := range m.archive.threads {
			if kept := slices.ContainsFunc(m.ids, func(id string) bool { return strings.HasPrefix(of, id) }); !kept {
				m.fail("the archive has %s, which has ended", of)
			}
		}
	}
	for user := uint32(m.seed)*100 + 1; user <= uint32(m.seed)*100+modelUsers; user++ {
		var want, got []string
		for id, th := range m.found {
			if th.members[user] != nil {
				want = append(want, id)
			}
		}
		m.poll(user)
		for _, id := range want {
			if n := int64(len(m.found[id].list)); m.polls[user].last[id] != n && (n > 0 || !m.found[id].large) {
				m.fail("the polls of %d have seen %s up to %d, want %d", user, id, m.polls[user].last[id], n)
			}
		}
		var before int64
		for page := (Page{Limit: 1 + m.rand.IntN(4)}); ; {
			list, err := m.threads.List(user, page)
			m.is(err, nil)
			for _, th := range list.Threads {
				got = append(got, th.ID)
				m.compare(user, th)
				if before != 0 && th.Cursor > before {
					m.fail("the list of %d is not in order", user)
				}
				before = th.Cursor
			}
			if page.Before = list.Next; page.Before == 0 {
				break
			}
		}
		if m.prompt {
			m.checkOrder(user, got)
		}
		m.checkLists(user)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			m.fail("the list of %d has %v, want %v", user, got, want)
		}
	}
	for _, id := range m.ids { // nothing is lost, doubled, or in another order
		th := m.found[id]
		for user := range th.members {
			th.members[user].joined = 0
		}
		past, err := m.threads.History(id, 0, len(th.list)+1)
		m.is(err, nil)
		m.comparePage(th, past.Messages, 1, len(th.list), Page{After: at(int64(0)), Limit: len(th.list) + 1})
	}
}

// checkLists compares the lists of a user as they are in Redis.
func (m *model) checkLists(user uint32) {
	entries, large, err := m.threads.readList(user, 0, 0, listMax)
	m.is(err, nil)
	var got, want []string
	for _, entry := range append(entries, large...) {
		got = append(got, fmt.Sprint(entry.id, " ", entry.cursor == 0))
	}
	for id, th := range m.found {
		if th.members[user] != nil {
			want = append(want, fmt.Sprint(id, " ", th.large))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		m.fail("Redis has the list %q of %d, want %q", got, user, want)
	}
}

// checkOrder compares the order of the threads of a list whose changes the keeper has followed one by one.
func (m *model) checkOrder(user uint32, got []string) {
	var want []string
	for _, of := range slices.Backward(m.order) {
		if th := m.found[of.thread]; of.user == user && th != nil && !th.large && th.members[user] != nil {
			want = append(want, of.thread)
		}
	}
	got = slices.DeleteFunc(slices.Clone(got), func(id string) bool {
		return m.found[id] == nil || m.found[id].large
	})
	if !slices.Equal(got, want) {
		m.fail("the list of %d has the order %v, want %v", user, got, want)
	}
}

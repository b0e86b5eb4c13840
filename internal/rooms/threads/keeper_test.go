package threads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// listOf is the list of a user, without the large groups.
func (t *Threads) listOf(tb testing.TB, user uint32) []string {
	tb.Helper()
	ids, err := t.Listed(user)
	testkit.Must(tb, err)
	return ids
}

// follow.lua does each step once, and keeps the lists within their bounds.
func TestFollow(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k := open(t, cfg), keeper(t, cfg)
		part := userPart(1)
		follow := func(want int, upto string, steps ...string) {
			t.Helper()
			key := userKey(1)
			args := append([]string{"2", "2", cfg.now(), "3", upto, strconv.Itoa(len(steps) / 4)}, steps...)
			args = append(args, "4", "", "0")
			var got int
			err := k.redis.Part(part).Do(followScript.Call(&got,
				[]string{followedKey(part), key, key + ":large", key + ":made"}, args...))
			if err != nil || got != want {
				t.Fatalf("%q: %d steps, %v, want %d", steps, got, err, want)
			}
		}
		expect := func(list, large, made string) {
			t.Helper()
			for suffix, want := range map[string]string{"": list, ":large": large, ":made": made} {
				ids := roomtest.Ask[[]string](t, r.redis.Part(part), "ZRANGE", userKey(1)+suffix, "0", "-1")
				if got := strings.Join(ids, " "); got != want {
					t.Errorf("%q has %q, want %q", suffix, got, want)
				}
			}
		}
		roomtest.Ask[int](t, r.redis.Part(part), "ZADD", userKey(1)+":made", "1", "a", "2", "g")
		follow(2, "", "5", "0", "changed", "a", "6", "0", "changed", "b")
		// Again, and to the end.
		follow(3, "7", "5", "0", "changed", "a", "6", "0", "changed", "b", "7", "0", "ended", "a")
		expect("a b", "", "g")
		follow(0, "6", "6", "0", "changed", "x", "7", "0", "left", "b") // of a keeper that was frozen
		follow(2, "9", "7", "0", "left", "b", "8", "0", "changed", "a", "9", "0", "changed", "c")
		expect("a c", "", "g") // listMax is 2 here: b is gone
		follow(3, "12", "10", "0", "large", "a", "11", "0", "large", "d", "12", "0", "large", "e")
		expect("c", "d e", "g")
		follow(2, "14", "13", "0", "large", "d", "14", "0", "left", "e")
		expect("c", "d", "g")
		done := roomtest.Ask[[]string](t, r.redis.Part(part), "HMGET", followedKey(part), "3", "clock")
		if want := strconv.FormatInt(clock.Now().UnixMicro()+8, 10); done[0] != "14" || done[1] != want {
			t.Errorf("done %q, want the clock %s", done, want)
		}
	})
}

// A keeper has a part while its lease lasts. Entries that were followed stay in the log for a minute.
func TestHold(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k, other := open(t, cfg), keeper(t, cfg), keeper(t, cfg)
		id := started(t, r, 2, false)
		part := pipeline.PartOf(id)
		lengths := func(want int) {
			t.Helper()
			if got := len(r.entries(t, part)); got != want {
				t.Fatalf("%d entries, want %d", got, want)
			}
		}
		has := func(k *Keeper) bool {
			t.Helper()
			w := k.wards(part)[0]
			testkit.Must(t, w.hold())
			return len(w.held) == 1
		}
		if mine, others := has(k), has(other); !mine || others {
			t.Fatalf("held %t, by the other %t", mine, others)
		}
		write(t, r, id, 1, "x")
		k.drain(t, part)
		lengths(3)
		clock.Add(followedStay)
		k.drain(t, part) // marks the time
		write(t, r, id, 1, "y")
		lengths(4)
		clock.Add(followedStay)
		k.drain(t, part)
		lengths(1)
		upto := Positions{}
		upto[part] = 1 // a fact that is old
		list, err := other.lease([]int{part}, &upto)
		if newest, _ := r.Newest(); err != nil || list[0].held || list[0].done != newest[part] {
			t.Errorf("lease %+v %v, the newest is %d", list, err, newest[part])
		}
		roomtest.Ask[int](t, r.of(id), "DEL", partKey(part, "lease"))
		if !has(other) {
			t.Error("not held after the end of the lease")
		}
	})
}

// Redis keeps the newest messages, and none that is too old. Erased ones count as messages.
func TestTrim(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k := open(t, cfg), keeper(t, cfg)
		id := started(t, r, 2, true)
		expect := func(first, last, left int) {
			t.Helper()
			k.drain(t)
			if got, want := r.fields(t, id, "first", "last"), fmt.Sprint(first, " ", last); got != want {
				t.Errorf("first and last %q, want %q", got, want)
			}
			if got := roomtest.Ask[int](t, r.of(id), "XLEN", threadKey(id)+":messages"); got != left {
				t.Errorf("%d messages, want %d", got, left)
			}
			past, err := r.History(id, 0, 100)
			if err != nil || past.First != int64(first) || len(past.Messages) != last-first+1 {
				t.Errorf("history from %d, %d messages, %v", past.First, len(past.Messages), err)
			}
		}
		for range 21 {
			write(t, r, id, 1, "x")
		}
		expect(1, 21, 21) // trimmed by twos
		write(t, r, id, 1, "x")
		expect(3, 22, 20)
		stale := trimScript.Call(new(int64), keysOf(id, "", "messages", "trim"), id, "1", "20", "86400000",
			r.fields(t, id, "created")) // of a keeper that was frozen
		testkit.Must(t, k.redis.Part(pipeline.PartOf(id)).Do(stale))
		expect(3, 22, 20)
		is(t, r.Erase(id, 4), nil)
		is(t, r.Erase(id, 2), ErrNoMessage)
		clock.Add(cfg.AgeMax / 2)
		write(t, r, id, 1, "y")
		write(t, r, id, 1, "y")
		is(t, r.Erase(id, 23), nil)
		expect(5, 24, 19)
		clock.Add(cfg.AgeMax / 2)
		expect(23, 24, 1)
		clock.Add(cfg.AgeMax / 2)
		expect(25, 24, 0)
		if n := roomtest.Ask[int](t, r.of(id), "EXISTS", partKey(pipeline.PartOf(id), "trim")); n != 0 {
			t.Error("a thread without messages is to be trimmed")
		}
		write(t, r, id, 1, "z")
		expect(25, 25, 1)
		is(t, r.Remove(id, 1, 1), nil)
		is(t, r.Remove(id, 2, 2), nil)
		var code int64
		keys := keysOf(id, "", "messages", "trim")
		x := trimScript.Call(&code, keys, id, "1", "20", "1000", "0")
		testkit.Must(t, k.redis.Part(pipeline.PartOf(id)).Do(x))
		if code != noThread {
			t.Errorf("trim of a thread that is gone: %d", code)
		}
	})
}

// shelfDown is an archive that is away.
type shelfDown struct{ *shelf }

func (shelfDown) Store(string, string, []Message) error { return errors.New("away") }
func (shelfDown) Load(string, string, int64, int64) ([]Message, error) {
	return nil, errors.New("away")
}

// While the archive is away nothing is lost, and lists follow; what Redis has can be read. Later history
// goes on from Redis to the archive.
func TestArchive(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		old := &shelf{map[string][]Message{}}
		cfg.Archive = shelfDown{old}
		r, k := open(t, cfg), keeper(t, cfg)
		id := started(t, r, 2, true)
		first, err := r.Post(id, 1, "first", "x")
		testkit.Must(t, err)
		for range 29 {
			write(t, r, id, 1, "x")
		}
		w := k.wards(pipeline.PartOf(id))[0]
		defer w.logs.close()
		testkit.Must(t, w.hold())
		w.step(t)
		if _, err = w.tidy(); err == nil || r.fields(t, id, "first") != "1" || len(r.listOf(t, 2)) != 1 {
			t.Errorf("%v, first %s, list %v", err, r.fields(t, id, "first"), r.listOf(t, 2))
		}
		for range 170 {
			write(t, r, id, 1, "y")
		}
		_, err = r.Post(id, 1, "", "one too many")
		is(t, err, ErrBusy)
		k.cfg.Archive = old
		k.drain(t)
		write(t, r, id, 1, "z")
		if r.fields(t, id, "first") != "181" || len(old.only()) != 180 {
			t.Errorf("first %s, %d in the archive", r.fields(t, id, "first"), len(old.only()))
		}
		got, _, err := r.Messages(id, 1, Page{Limit: 100})
		if err != nil || len(got) != 21 || got[0].ID != 181 {
			t.Errorf("the newest ones without the archive: %d, %v", len(got), err)
		}
		for _, p := range []Page{{Before: 181}, {After: at(int64(170))}} {
			_, _, err = r.Messages(id, 1, p)
			is(t, err, ErrArchive)
			is(t, err, pipeline.ErrUnavailable)
		}
		r.cfg.Archive = old
		past, err := r.History(id, 5, 10)
		if err != nil || past.First != 1 || len(past.Messages) != 10 || past.Messages[0].ID != 6 {
			t.Errorf("%+v %v", past, err)
		}
		if again, err := r.Post(id, 1, "first", "x"); err != nil || again != first {
			t.Errorf("sent again: %+v, %v, want %+v", again, err, first)
		}
		is(t, r.Erase(id, 1), nil)
		if again, err := r.Post(id, 1, "first", "x"); err != nil || !again.Removed || !old.only()[0].Removed {
			t.Errorf("erased and sent again: %+v, %v", again, err)
		}
		is(t, r.Erase(id, 0), ErrNoMessage)
	})
}

// only are the messages of the only thread in it.
func (s *shelf) only() []Message {
	for _, list := range s.threads {
		return list
	}
	return nil
}

// A message that is erased while the keeper brings it to the archive is erased there too.
func TestEraseWhileStored(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		old := &shelf{map[string][]Message{}}
		cfg.Archive = old
		r, k := open(t, cfg), keeper(t, cfg)
		id := started(t, r, 2, true)
		for range 30 {
			write(t, r, id, 1, "x")
		}
		k.cfg.Archive = shelfErases{old, func() { is(t, r.Erase(id, 3), nil) }}
		k.drain(t)
		if list := old.only(); len(list) != 10 || !list[2].Removed || r.fields(t, id, "first") != "11" {
			t.Errorf("in the archive: %+v, first %s", list, r.fields(t, id, "first"))
		}
	})
}

// shelfErases calls erase before messages are stored.
type shelfErases struct {
	*shelf
	erase func()
}

func (s shelfErases) Store(thread, epoch string, list []Message) error {
	s.erase()
	return s.shelf.Store(thread, epoch, list)
}

// What was trimmed while there was no archive is gone, also when there is one again.
func TestArchiveFromNowOn(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k := open(t, cfg), keeper(t, cfg)
		id := started(t, r, 2, true)
		for range 30 {
			write(t, r, id, 1, "x")
		}
		k.drain(t)
		r.cfg.Archive = &shelf{map[string][]Message{}}
		past, err := r.History(id, 0, 100)
		if err != nil || past.First != 11 || len(past.Messages) != 20 || past.Messages[0].ID != 11 {
			t.Errorf("from %d, %d messages, %v", past.First, len(past.Messages), err)
		}
		is(t, r.Erase(id, 10), ErrNoMessage)
	})
}

// A group that grows over the fan-out moves from the lists of its members to their large groups. From then
// on no list changes, and listing looks the messages up.
func TestLargeGroup(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k := open(t, cfg), keeper(t, cfg)
		id := started(t, r, 5, false)
		pair, err := r.Start(1, Start{Participants: []uint32{2}})
		testkit.Must(t, err)
		k.drain(t)
		if got := r.listOf(t, 2); !slices.Contains(got, id) {
			t.Errorf("list %q", got)
		}
		is(t, r.Add(id, 1, 6, Member), nil)
		write(t, r, id, 1, "a")
		k.drain(t)
		clock.Add(time.Second)
		write(t, r, id, 1, "b")
		k.drain(t)
		for user := uint32(2); user <= 6; user++ {
			if slices.Contains(r.listOf(t, user), id) {
				t.Errorf("%d has the large group in the list", user)
			}
			list, err := r.List(user, Page{})
			is(t, err, nil)
			if th := list.Threads[0]; th.ID != id || !th.Large || th.Unread != 2 {
				t.Errorf("%d sees %+v", user, th)
			}
		}
		list, err := r.List(2, Page{Limit: 1})
		is(t, err, nil)
		if len(list.Threads) != 1 || list.Next == 0 {
			t.Fatalf("page %+v", list)
		}
		list, err = r.List(2, Page{Before: list.Next, Limit: 1})
		if err != nil || len(list.Threads) != 1 || list.Threads[0].ID != pair.ID || list.Next != 0 {
			t.Errorf("second page %+v", list)
		}
	})
}

// Two users start one thread, also when both start it at once on two servers.
func TestPairRace(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		servers := []*Threads{open(t, cfg), open(t, cfg)}
		for other := uint32(2); other < 50; other++ {
			var all sync.WaitGroup
			for i, r := range servers {
				all.Go(func() {
					by, with := uint32(1), other
					if i == 1 {
						by, with = with, by
					}
					th, err := r.Start(by, Start{Participants: []uint32{with}})
					if err != nil || th.ID != pairID(1, other) {
						t.Errorf("%+v %v", th, err)
					}
					_, err = r.Post(th.ID, by, "one", "hello")
					is(t, err, nil)
				})
			}
			all.Wait()
			if got := servers[0].log(t, pairID(1, other)); len(got) != 4 { // two members, two messages
				t.Errorf("log %q", got)
			}
		}
	})
}

// A message to a group of a million members takes the same commands as one to a thousand, of the writer and
// of the keeper.
func TestFanoutOnRead(t *testing.T) {
	server := redistest.New(t)
	clock := newClock()
	cfg := config(roomtest.Of(server), clock)
	r, k := open(t, cfg), keeper(t, cfg)
	var commands []string
	for _, members := range []int{1000, MembersMax} {
		id := started(t, r, 6, false)
		const fill = `for i = ARGV[1], ARGV[2] do redis.call('HSET', KEYS[2], i, 'm:0:0:0:') end
			return redis.call('HSET', KEYS[1], 'members', ARGV[2])`
		for first, step := 7, 10_000; first <= members; first += step { // each within the timeout
			roomtest.Ask[int](t, r.of(id), append(append([]string{"EVAL", fill, "2"}, keysOf(id, "", "members")...),
				strconv.Itoa(first), strconv.Itoa(min(first+step-1, members)))...)
		}
		k.drain(t)
		roomtest.Ask[string](t, r.of(id), "CONFIG", "RESETSTAT")
		write(t, r, id, 1, "hello")
		k.drain(t, pipeline.PartOf(id))
		stats := roomtest.Ask[string](t, r.of(id), "INFO", "commandstats")
		var calls []string
		for line := range strings.Lines(stats) {
			if name, rest, ok := strings.Cut(line, ":calls="); ok && !strings.Contains(name, "config") {
				n, _, _ := strings.Cut(rest, ",")
				calls = append(calls, strings.TrimPrefix(name, "cmdstat_")+" "+n)
			}
		}
		slices.Sort(calls)
		commands = append(commands, strings.Join(calls, ", "))
		if th, err := r.Get(id, uint32(members)); err != nil || th.Unread != 1 || th.Members != int64(members) {
			t.Errorf("%d members: %+v %v", members, th, err)
		}
		is(t, r.Add(id, 1, 2_000_000, Member), map[bool]error{true: ErrFull}[members == MembersMax])
	}
	t.Log(commands[0])
	if commands[0] != commands[1] {
		t.Errorf("to a million: %s", commands[1])
	}
}

// Tail tells every entry once, in order, and what it could not see.
func TestTail(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k := open(t, cfg), keeper(t, cfg)
		id, room := started(t, r, 2, false), RoomID(cfg.Sale)
		part := pipeline.PartOf(id)
		from, err := r.Newest()
		testkit.Must(t, err)
		var mu sync.Mutex
		var got []string
		follow := func(from Positions) (stop func()) {
			got = nil
			return testkit.Background(t, func(ctx context.Context) error {
				return r.Tail(ctx, from, func(e Entry) {
					mu.Lock()
					defer mu.Unlock()
					if e.Thread == id || e.Event == Missed {
						got = append(got, fmt.Sprint(e.Event, " ", e.Message.ID, " ", e.User, " ", e.Message.Content))
					}
				})
			})
		}
		expect := func(want ...string) {
			t.Helper()
			testkit.Until(t, "entries", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(got) >= len(want)
			})
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(got, want) {
				t.Errorf("entries %q, want %q", got, want)
			}
		}
		stop := follow(from)
		write(t, r, id, 1, "a")
		write(t, r, room, 1, "other")
		write(t, r, id, 2, "b")
		is(t, r.Remove(id, 1, 2), nil)
		expect("message 1 1 a", "message 2 2 b", "left 2 2 ")
		stop()
		for range 3 { // follows, marks, trims
			clock.Add(followedStay)
			k.drain(t)
		}
		if n := len(r.entries(t, part)); n != 0 {
			t.Fatalf("%d entries are left", n)
		}
		write(t, r, id, 1, "c")
		stop = follow(from)
		expect("missed 0 0 ", "message 3 1 c")
		stop()
		// After a loss of Redis positions go on, far above.
		from, err = r.Newest()
		testkit.Must(t, err)
		for _, conn := range r.redis.Conns() {
			roomtest.Ask[string](t, conn, "FLUSHALL")
		}
		clock.Add(time.Second)
		stop = follow(from)
		is(t, r.start(id, Group, 1, false, []uint32{1}), nil)
		write(t, r, id, 1, "anew")
		expect("missed 0 0 ", "joined 0 1 ", "message 1 1 anew")
		stop()
	})
}

// Reading by position, and who may.
func TestHistory(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		id := started(t, r, 2, false)
		for _, c := range []struct {
			thread string
			user   uint32
			want   bool
		}{{id, 1, true}, {id, 3, false}, {id, 0, false}, {RoomID(cfg.Sale), 0, true}, {RoomID("other"), 0, false},
			{"x", 1, false}} {
			if got, err := r.MayRead(c.thread, c.user); got != c.want || err != nil {
				t.Errorf("%d may read %s: %t %v", c.user, c.thread, got, err)
			}
		}
		_, err := r.History("x", 0, 1)
		is(t, err, ErrNoThread)
		past, err := r.History(id, 0, 10)
		epoch := strconv.FormatInt(clock.Now().UnixMilli(), 36)
		if err != nil || past.Epoch != epoch || past.Last != 0 || past.First != 1 {
			t.Errorf("%+v %v", past, err)
		}
		for range 5 {
			write(t, r, id, 1, "x")
		}
		past, err = r.History(id, 2, 2)
		if err != nil || past.Last != 5 || len(past.Messages) != 2 || past.Messages[0].ID != 3 {
			t.Errorf("%+v %v", past, err)
		}
		past, err = r.History(id, 0, 0)
		if err != nil || past.Last != 5 || len(past.Messages) != 0 {
			t.Errorf("%+v %v", past, err)
		}
	})
}

// onCluster is a Config for a cluster of three masters.
func onCluster(t *testing.T, clock *roomtest.Clock) Config {
	nodes := redistest.Cluster(t, testkit.Need(t, "redis-server"), 3, 0)
	cfg := config(pipeline.Config{}, clock)
	cfg.Redis = nil
	for part := range pipeline.Parts {
		cfg.Redis = append(cfg.Redis, pipeline.Config{Network: "tcp", Address: nodes.Seeds(), Cluster: true,
			Slot: pipeline.Slot(pipeline.PartTag(part)), Timeout: redistest.Timeout})
	}
	return cfg
}

// Every call works on a cluster: each script has keys of one slot.
func TestCluster(t *testing.T) {
	clock := newClock()
	cfg := onCluster(t, clock)
	r, k := open(t, cfg), keeper(t, cfg)
	from, err := r.Newest()
	testkit.Must(t, err)
	var mu sync.Mutex
	entries := 0
	testkit.Background(t, func(ctx context.Context) error {
		return r.Tail(ctx, from, func(Entry) {
			mu.Lock()
			defer mu.Unlock()
			entries++
		})
	})
	want := 0
	for other := uint32(2); other < 30; other++ {
		pair, err := r.Start(1, Start{Participants: []uint32{other}})
		testkit.Must(t, err)
		write(t, r, pair.ID, 1, "hello")
		want += 3
	}
	id := started(t, r, 5, false)
	is(t, r.Add(id, 1, 6, Member), nil) // large now
	write(t, r, id, 6, "x")
	_, err = r.Change(id, 2, Change{Read: at(int64(1)), Muted: at(true)})
	is(t, err, nil)
	_, _, err = r.Members(id, 1, 0, 10)
	is(t, err, nil)
	is(t, r.Remove(id, 1, 3), nil)
	want += 5 + 2 + 1 + 1
	room := RoomID(cfg.Sale)
	write(t, r, room, 1, "x")
	is(t, r.Pin(room, 1), nil)
	is(t, r.Mute(room, 1, time.Second), nil)
	is(t, r.Erase(room, 1), nil)
	want += 5 // also that nothing is pinned
	k.drain(t)
	clock.Add(2 * cfg.AgeMax)
	k.drain(t) // trims
	list, err := r.List(1, Page{})
	if err != nil || len(list.Threads) != 29 {
		t.Errorf("%d threads, %v", len(list.Threads), err)
	}
	messages, last, err := r.Messages(id, 1, Page{})
	if err != nil || len(messages) != 0 || last != 1 {
		t.Errorf("%v %d %v", messages, last, err)
	}
	testkit.Until(t, "all entries", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return entries >= want
	})
	if entries != want {
		t.Errorf("%d entries, want %d", entries, want)
	}
}

// Ids of threads that nobody can have are refused before they become keys.
func TestKindOf(t *testing.T) {
	for id, want := range map[string]Kind{
		"u2-3": Pair, "u2-4294967295": Pair, "u0-1": Pair, "u3-2": "", "u2-2": "", "u02-3": "", "u2-": "",
		"u2-3-4": "", "u2-4294967296": "", "g" + strings.Repeat("a", 16): Group, "g" + strings.Repeat("a", 15): "",
		"g" + strings.Repeat("A", 16): "", "gaaaaaaaaaaaaaaa1": "", "sale-x": Room, "sale-": "", "sale-a:b": "",
		"sale-" + strings.Repeat("x", 65): "", "log": "", "": "", "g": "", "u": "",
	} {
		if got := kindOf(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}

package sessions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const ttl = time.Hour

// run makes a room that runs until the test ends.
func run(tb testing.TB, redis pipeline.Config) *Sessions { return runFor(tb, redis, ttl) }

func runFor(tb testing.TB, redis pipeline.Config, ttl time.Duration) *Sessions {
	tb.Helper()
	testkit.KeepLog(tb)
	s := New(Config{Redis: redis, TokenTTL: ttl})
	testkit.Background(tb, s.Run)
	testkit.Until(tb, "connection", s.Up)
	return s
}

// expiry is when a token expires that is minted now.
func expiry() int64 { return time.Now().Add(ttl).Unix() }

// end.lua: the state before, each code, the state after.
func TestScript(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		s := run(t, redis)
		later := strconv.FormatInt(expiry(), 10)
		end := func(who, session, expires string) (code int64) {
			testkit.Must(t, s.conn.Do(endScript.Call(&code, []string{changedKey, notesKey}, who, session, expires,
				"60000", "2", "2")))
			return code
		}
		isNow := func(what string, code int64) {
			t.Helper()
			if time.Since(time.UnixMilli(code)).Abs() > time.Minute {
				t.Errorf("%s: %d", what, code)
			}
		}
		note := func(who string) string { return roomtest.Ask[string](t, s.conn, "HGET", notesKey, who) }
		people := func() string {
			list := roomtest.Ask[[]string](t, s.conn, "ZRANGE", changedKey, "0", "-1")
			slices.Sort(list)
			return strings.Join(list, " ") + roomtest.Ask[string](t, s.conn, "HLEN", notesKey)
		}
		roomtest.Ask[int](t, s.conn, "ZADD", changedKey, "1000", "u9") // its tokens have expired
		roomtest.Ask[int](t, s.conn, "HSET", notesKey, "u9", "0 1 1")
		isNow("a session", end("u1", "5", later))
		testkit.Same(t, "people", people(), "u11")
		isNow("the same", end("u1", "5", later))
		isNow("another whose token has expired", end("u1", "6", "1"))
		testkit.Same(t, "the note", note("u1"), "0 5 "+later+" 6 1")
		isNow("a third", end("u1", "7", later))
		testkit.Same(t, "the note", note("u1"), "0 5 "+later+" 7 "+later)
		testkit.Same(t, "one more", end("u1", "8", later), int64(tooManySessions))
		testkit.Same(t, "the note", note("u1"), "0 5 "+later+" 7 "+later)
		all := end("u1", "", "0")
		isNow("all", all)
		testkit.Same(t, "the note", note("u1"), fmt.Sprint(all))
		isNow("a session after that", end("u1", "8", later))
		testkit.Same(t, "the note", note("u1"), fmt.Sprint(all)+" 8 "+later)
		isNow("an operator", end("o1", "", "0"))
		testkit.Same(t, "one more", end("u2", "5", later), int64(tooManyPeople))
		testkit.Same(t, "all of one more", end("u2", "", "0"), int64(tooManyPeople))
		testkit.Same(t, "people", people(), "o1 u12")
		for _, key := range []string{changedKey, notesKey} {
			if left := roomtest.Ask[int](t, s.conn, "PTTL", key); left < 1 || left > 60_000 {
				t.Errorf("%s lives for %d ms", key, left)
			}
		}
	})
}

// A session ends alone, on every server, also on one that begins later; all sessions end with those of
// before only. What has expired is forgotten.
func TestEnds(t *testing.T) {
	testkit.Same(t, "questions within the promised second", int(time.Second/hearPace), 4)
	redis := roomtest.Of(redistest.New(t))
	one, other := run(t, redis), run(t, redis)
	before := expiry()
	testkit.Must(t, one.End(User(7), 1, before))
	testkit.Must(t, one.End(User(7), 2, before))
	testkit.Must(t, one.End(Operator(7), 3, before))
	testkit.Must(t, one.EndAll(User(8)))
	after := expiry()
	testkit.Until(t, "ends on the other server", func() bool { return other.IsEnded(User(8), 1, before) })
	restarted := run(t, redis)
	testkit.Until(t, "ends after a restart", func() bool { return restarted.IsEnded(User(8), 1, before) })
	for name, s := range map[string]*Sessions{"one": one, "other": other, "restarted": restarted} {
		for _, tc := range []struct {
			holder  Holder
			session uint32
			expires int64
			ended   bool
		}{
			{User(7), 1, before, true}, {User(7), 2, before, true}, {User(7), 3, before, false},
			{Operator(7), 3, before, true}, {Operator(7), 1, before, false}, {Operator(8), 1, before, false},
			{User(8), 9, before, true}, {User(8), 9, after, false}, {User(9), 1, before, false},
		} {
			if got := s.IsEnded(tc.holder, tc.session, tc.expires); got != tc.ended {
				t.Errorf("%s: %s %d, %d: ended %v", name, tc.holder, tc.session, tc.expires, got)
			}
		}
		s.ended.sweep(before - 1)
		testkit.Same(t, "before they expire", s.IsEnded(User(7), 1, before), true)
		s.ended.sweep(after + 2)
		testkit.Same(t, "what is kept", s.ended.shards[7].Load() == nil && s.ended.shards[8].Load() == nil, true)
	}
}

// A login right after the end of all is valid on every server, also an operator's, which lasts half a day
// where a buyer's lasts a day.
func TestLoginAfterTheEnd(t *testing.T) {
	redis := roomtest.Of(redistest.New(t))
	const day = 24 * time.Hour
	one, other := runFor(t, redis, day), runFor(t, redis, day)
	for _, h := range []Holder{User(7), Operator(7)} {
		expiry := func() int64 { return time.Now().Add(Lifetime(h, day)).Unix() }
		before := expiry()
		testkit.Must(t, one.EndAll(h))
		after := expiry()
		testkit.Until(t, "the end on the other server", func() bool { return other.IsEnded(h, 1, before) })
		for _, s := range []*Sessions{one, other} {
			testkit.Same(t, h.String()+" before", s.IsEnded(h, 1, before), true)
			testkit.Same(t, h.String()+" after", s.IsEnded(h, 1, after), false)
		}
	}
}

// Who ends too many sessions one by one ends all of them; then there is room again.
func TestTooManySessions(t *testing.T) {
	s := run(t, roomtest.Redis(t))
	before := expiry()
	for session := range uint32(sessionsMax) {
		testkit.Must(t, s.End(User(7), session, before))
	}
	testkit.Same(t, "another session", s.IsEnded(User(7), 99, before), false)
	testkit.Must(t, s.End(User(7), sessionsMax, before))
	testkit.Same(t, "another session", s.IsEnded(User(7), 99, before), true)
	testkit.Same(t, "another user", s.IsEnded(User(8), 99, before), false)
	after := expiry()
	testkit.Must(t, s.End(User(7), 100, after))
	testkit.Same(t, "the next session", s.IsEnded(User(7), 100, after), true)
	testkit.Same(t, "the one after that", s.IsEnded(User(7), 101, after), false)
	testkit.Same(t, "what is kept", len((*s.ended.shards[7].Load())[User(7)].single), 1)
}

// Who has a place may end more; who has none may not, and his sessions go on.
func TestTooManyPeople(t *testing.T) {
	s := run(t, roomtest.Redis(t))
	before := expiry()
	testkit.Must(t, s.End(User(1), 1, before))
	s.fill(t, 2, peopleMax)
	testkit.Must(t, s.End(User(1), 2, before))
	for what, err := range map[string]error{"a session": s.End(Operator(1), 1, before),
		"all": s.EndAll(Operator(1)), "all at once": s.NoteAll(Operator(1))} {
		if !errors.Is(err, ErrTooMany) {
			t.Errorf("%s: %v", what, err)
		}
	}
	testkit.Same(t, "the session", s.IsEnded(Operator(1), 1, before), false)
}

// fill lets the users with these ids end all sessions at one moment. It does so in steps: a busy machine
// takes long for each.
func (s *Sessions) fill(t *testing.T, from, to int) {
	t.Helper()
	const step = 500
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	for ; from <= to; from += step {
		changed, notes := []string{"ZADD", changedKey}, []string{"HSET", notesKey}
		for user := from; user < from+step && user <= to; user++ {
			changed = append(changed, now, User(uint32(user)).String())
			notes = append(notes, User(uint32(user)).String(), now)
		}
		roomtest.Ask[int](t, s.conn, changed...)
		roomtest.Ask[int](t, s.conn, notes...)
	}
}

// Many ends, all of one moment, come page by page.
func TestManyEnds(t *testing.T) {
	redis := roomtest.Redis(t)
	const users = 2*hearPage + 10
	run(t, redis).fill(t, 1, users)
	s := run(t, redis)
	before := time.Now().Unix()
	testkit.Until(t, "all ends", func() bool {
		for user := uint32(1); user <= users; user++ {
			if !s.IsEnded(User(user), 1, before) {
				return false
			}
		}
		return true
	})
}

// While Redis is away the ends that are known hold and none is added. After its restart the others come.
func TestRedisAway(t *testing.T) {
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	s := run(t, roomtest.Of(server))
	before := expiry()
	testkit.Must(t, s.End(User(7), 1, before))
	server.Kill(t)
	testkit.Until(t, "end of the connection", func() bool { return !s.Up() })
	for what, err := range map[string]error{"a session": s.End(User(7), 2, before), "all": s.EndAll(User(7))} {
		if !errors.Is(err, pipeline.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	testkit.Same(t, "the known end", s.IsEnded(User(7), 1, before), true)
	testkit.Same(t, "another", s.IsEnded(User(7), 2, before), false)
	server.Restart(t)
	testkit.Until(t, "connection", s.Up)
	testkit.Must(t, s.End(User(7), 2, before))
	restarted := run(t, roomtest.Of(server))
	testkit.Until(t, "the ends of before", func() bool { return restarted.IsEnded(User(7), 2, before) })
	testkit.Same(t, "the known end", restarted.IsEnded(User(7), 1, before), true)
}

// An answer that was on its way while this process noted an end does not undo it.
func TestOlderAnswer(t *testing.T) {
	s := &Sessions{}
	now := int64(1000)
	s.ended.add(map[Holder]ends{7: {single: []single{{1, 2000}, {2, 2000}}}}, now)
	s.ended.add(map[Holder]ends{7: {single: []single{{1, 2000}}}}, now)
	testkit.Same(t, "the later end", s.IsEnded(7, 2, 2000), true)
	s.ended.add(map[Holder]ends{7: {all: 2500}}, now)
	s.ended.add(map[Holder]ends{7: {single: []single{{1, 2000}}}}, now)
	testkit.Same(t, "the end of all", s.IsEnded(7, 9, 2500), true)
	testkit.Same(t, "what is kept", len((*s.ended.shards[7].Load())[7].single), 0)
}

// The token of each moment of a second ends; a lifetime need not be whole seconds.
func TestLastToken(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, 1500 * time.Millisecond, 7*time.Hour + 1, 24 * time.Hour} {
		for _, h := range []Holder{User(7), Operator(7)} {
			testLastToken(t, h, ttl)
		}
	}
}

func testLastToken(t *testing.T, h Holder, ttl time.Duration) {
	s := &Sessions{cfg: Config{TokenTTL: ttl}}
	ttl = Lifetime(h, ttl)
	const second = 1_800_000_000
	for ms := int64(0); ms < 1000; ms += 111 {
		end := int64(second*1000) + ms
		if minted := time.UnixMilli(end).Add(ttl).Unix(); minted > s.last(h, end) {
			t.Errorf("%s, %v: the token of %d ms expires at %d, the last at %d", h, ttl, ms, minted, s.last(h, end))
		}
	}
	next := time.Unix(s.last(h, second*1000)+1, 0).Add(-ttl)
	if wait := next.Sub(time.Unix(second, 0)); wait > skewMax {
		t.Errorf("%s, %v: a login waits %v", h, ttl, wait)
	}
}

func TestHolders(t *testing.T) {
	for text, want := range map[string]Holder{"u0": User(0), "u7": User(7), "o7": Operator(7),
		"u4294967295": User(1<<32 - 1), "o4294967295": Operator(1<<32 - 1)} {
		if h, ok := holderOf(text); !ok || h != want || h.String() != text {
			t.Errorf("%s: %s, %v", text, h, ok)
		}
	}
	for _, text := range []string{"", "u", "7", "x7", "u-1", "u4294967296"} {
		if h, ok := holderOf(text); ok {
			t.Errorf("%q is %s", text, h)
		}
	}
}

// crowd is a room that knows of ends: every user below people has ended some sessions.
func crowd(people Holder, each int) *Sessions {
	s := &Sessions{}
	told := map[Holder]ends{}
	for h := range people {
		for i := range each {
			told[h] = ends{single: append(told[h].single, single{uint32(i), 1 << 40})}
		}
	}
	s.ended.add(told, 0)
	return s
}

func TestIsEndedDoesNotAllocate(t *testing.T) {
	s := crowd(8, sessionsMax)
	if n := testing.AllocsPerRun(100, func() { s.IsEnded(7, 99, 1); s.IsEnded(8, 1, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkIsEnded(b *testing.B) {
	for name, s := range map[string]*Sessions{"nobody": {}, "one each": crowd(100_000, 1),
		"most each": crowd(100_000, sessionsMax)} {
		b.Run(name, func(b *testing.B) {
			for i := Holder(0); b.Loop(); i += 7919 {
				s.IsEnded(i%peopleMax, 99, 1)
			}
		})
	}
}

package threads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

// started is a group of users 1 to n, of which 1 is the owner.
func started(t *testing.T, r *Threads, n uint32, history bool) string {
	t.Helper()
	s := Start{Group: true, History: history}
	for user := range n - 1 {
		s.Participants = append(s.Participants, user+2)
	}
	th, err := r.Start(1, s)
	testkit.Must(t, err)
	return th.ID
}

func write(t *testing.T, r *Threads, thread string, by uint32, content string) Message {
	t.Helper()
	m, err := r.Post(thread, by, "", content)
	testkit.Must(t, err)
	return m
}

// fields are those of a thread's hash.
func (t *Threads) fields(tb testing.TB, thread string, names ...string) string {
	tb.Helper()
	words := append([]string{"HMGET", threadKey(thread)}, names...)
	return strings.Join(roomtest.Ask[[]string](tb, t.of(thread), words...), " ")
}

// log is the log of a thread's part, without the times.
func (t *Threads) log(tb testing.TB, thread string) (lines []string) {
	tb.Helper()
	part := pipeline.PartOf(thread)
	for i, e := range t.entries(tb, part) {
		if i > 0 && e.Position != t.entries(tb, part)[i-1].Position+1 {
			tb.Errorf("entry %d follows %d", e.Position, t.entries(tb, part)[i-1].Position)
		}
		if e.Thread == thread {
			lines = append(lines, fmt.Sprintf("%s %d %d %s%s", e.Event, e.Message.ID, e.User, e.Message.Content,
				map[bool]string{true: "large"}[e.Large]))
		}
	}
	return lines
}

func TestStart(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		for range 2 { // the second time it exists
			is(t, r.start("u3-9", Pair, 9, false, []uint32{9, 3}), nil)
			clock.Add(time.Second)
		}
		if got := r.fields(t, "u3-9", "kind", "created", "updated", "last", "first", "members", "owners", "large",
			"history", "shown", "starter"); got != "pair 1800000000000 1800000000000 0 1 2 1  0 9,3 9" {
			t.Errorf("fields %q", got)
		}
		if got := r.log(t, "u3-9"); !slices.Equal(got, []string{"joined 0 9 ", "joined 0 3 "}) {
			t.Errorf("log %q", got)
		}
		id := started(t, r, 6, true) // more than Fanout
		if got := r.fields(t, id, "kind", "members", "large", "history"); got != "group 6 1 1" {
			t.Errorf("fields %q", got)
		}
		if got := r.log(t, id)[0]; got != "joined 0 1 large" {
			t.Errorf("log %q", got)
		}
	})
}

func TestReserve(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		reserve := func(id string, most, hourly int) (code int64) {
			t.Helper()
			testkit.Must(t, r.redis.Part(0).Do(reserveScript.Call(&code, []string{userKey(1) + ":made"}, id,
				strconv.Itoa(most), strconv.Itoa(hourly), cfg.now())))
			return code
		}
		for i, step := range []struct {
			id           string
			most, hourly int
			want         int64
			wait         time.Duration
		}{
			{"a", 3, 2, 0, 0}, {"b", 3, 2, 0, 0}, {"b", 3, 2, 0, 0}, {"c", 3, 2, 2, time.Hour + time.Millisecond},
			{"c", 3, 2, 0, 0}, {"d", 3, 2, 1, 0}, {"a", 3, 2, 0, 0}, {"d", 4, 2, 0, 0},
		} {
			if got := reserve(step.id, step.most, step.hourly); got != step.want {
				t.Errorf("step %d: %d, want %d", i, got, step.want)
			}
			clock.Add(step.wait)
		}
		roomtest.Ask[int](t, r.redis.Part(userPart(1)), "DEL", userKey(1)+":made")
		for i := range hourlyMax {
			_, err := r.Start(1, Start{Participants: []uint32{uint32(i) + 2}})
			testkit.Must(t, err)
		}
		_, err := r.Start(1, Start{Participants: []uint32{5000}})
		is(t, err, ErrStartsRate)
		_, err = r.Start(1, Start{Participants: []uint32{2}}) // it is found
		is(t, err, nil)
	})
}

func TestPost(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		cfg.Pace = 50 * time.Millisecond
		r := open(t, cfg)
		id := started(t, r, 2, false)
		_, err := r.Post("g"+strings.Repeat("a", 16), 1, "", "x")
		is(t, err, ErrNoThread)
		_, err = r.Post(id, 3, "", "x")
		is(t, err, ErrNotMember)
		for _, bad := range []string{"", "\xff"} {
			_, err = r.Post(id, 1, "", bad)
			is(t, err, ErrBadMessage)
		}
		_, err = r.Post(id, 1, strings.Repeat("x", ClientIDMax+1), "x")
		is(t, err, ErrBadMessage)
		_, err = r.Post(id, 1, "", strings.Repeat("x", ContentMax+1))
		is(t, err, ErrTooLong)

		first, err := r.Post(id, 1, "a", strings.Repeat("x", ContentMax))
		is(t, err, nil)
		clock.Add(-time.Hour) // times of a thread do not go back
		for i := range 150 {
			m, err := r.Post(id, 1, fmt.Sprint("id ", i), "x")
			is(t, err, nil)
			if m.ID != int64(i)+2 || !m.Created.Equal(first.Created) {
				t.Fatalf("message %+v after %s", m, first.Created)
			}
		}
		if n := roomtest.Ask[int](t, r.of(id), "ZCARD", threadKey(id)+":sent:1"); n != 100 {
			t.Errorf("%d client ids", n)
		}
		if ttl := roomtest.Ask[int](t, r.of(id), "TTL", threadKey(id)+":sent:1"); ttl < 86390 || ttl > 86400 {
			t.Errorf("client ids live %d s", ttl)
		}
		if m, err := r.Post(id, 1, "id 149", "other"); err != nil || m.ID != 151 || m.Content != "x" {
			t.Errorf("sent again: %+v %v", m, err)
		}
		if m, err := r.Post(id, 1, "id 51", "x"); err != nil || m.ID != 53 || !m.Removed { // trimmed
			t.Errorf("sent again: %+v %v", m, err)
		}
		if m, err := r.Post(id, 2, "id 149", "other"); err != nil || m.ID != 152 { // another user's
			t.Errorf("another user's: %+v %v", m, err)
		}
		// Without a keeper it holds twice MessagesMax.
		if got := r.fields(t, id, "first", "last"); got != "113 152" {
			t.Errorf("first and last %q", got)
		}
		if n := roomtest.Ask[int](t, r.of(id), "XLEN", threadKey(id)+":messages"); n != 2*cfg.MessagesMax {
			t.Errorf("%d messages", n)
		}

		room := RoomID(cfg.Sale)
		_, err = r.Post(RoomID("other"), 1, "", "x")
		is(t, err, ErrNoThread)
		write(t, r, room, 1, "x")
		_, err = r.Post(room, 1, "", "x")
		is(t, err, ErrPace)
		if slow := err.(*PaceError); slow.Wait <= 0 || slow.Wait > cfg.Pace {
			t.Errorf("wait %s", slow.Wait)
		}
		// The in-memory engine has no clock here.
		roomtest.Ask[int](t, r.of(room), "DEL", threadKey(room)+":pace:1")
		write(t, r, room, 1, "y")
		is(t, r.Mute(room, 1, time.Minute), nil)
		_, err = r.Post(room, 1, "", "x")
		is(t, err, ErrMuted)
		write(t, r, room, 2, "z")
		clock.Add(time.Hour + time.Minute) // from the time of the room
		roomtest.Ask[int](t, r.of(room), "DEL", threadKey(room)+":pace:1")
		write(t, r, room, 1, "later")
	})
}

// While too much waits for the keeper, nothing more is written.
func TestBusy(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k := open(t, cfg), keeper(t, cfg)
		id, room := started(t, r, 3, false), RoomID(cfg.Sale)
		_, err := r.ShowRoom(cfg.Sale)
		testkit.Must(t, err)
		write(t, r, id, 1, "x")
		write(t, r, room, 1, "x")
		for part := range pipeline.Parts {
			state := partKey(part, "state")
			if newest := roomtest.Ask[string](t, r.redis.Part(part), "HGET", state, "log"); newest != "" {
				roomtest.Ask[int](t, r.redis.Part(part), "HSET", state, "done",
					strconv.FormatInt(number(newest)-waitMax, 10))
			} else {
				roomtest.Ask[int](t, r.redis.Part(part), "HSET", state, "log", "50000", "done", "10000", "cut", "0",
					"marked", "0")
			}
		}
		_, err = r.Post(id, 1, "", "x")
		is(t, err, ErrBusy)
		is(t, err, pipeline.ErrUnavailable)
		_, err = r.Start(7, Start{Participants: []uint32{8}})
		is(t, err, ErrBusy)
		is(t, r.Add(id, 1, 9, Member), ErrBusy)
		is(t, r.Remove(id, 1, 2), ErrBusy)
		is(t, r.Erase(room, 1), ErrBusy)
		is(t, r.Pin(room, 1), ErrBusy)
		is(t, r.Mute(room, 1, time.Minute), ErrBusy)
		newest, err := r.Newest()
		testkit.Must(t, err)
		_, err = k.lease([]int{pipeline.PartOf(id)}, &newest)
		testkit.Must(t, err)
		write(t, r, id, 1, "x")
	})
}

// New members fill a half of the log at most: messages go on beside a flood of starts.
func TestBusyWithStarts(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		id := started(t, r, 3, false)
		state := partKey(pipeline.PartOf(id), "state")
		newest := number(roomtest.Ask[string](t, r.of(id), "HGET", state, "log"))
		wait := func(entries int64) {
			roomtest.Ask[int](t, r.of(id), "HSET", state, "done", strconv.FormatInt(newest-entries, 10))
		}
		wait(waitMax/2 - 1)
		is(t, r.Add(id, 1, 9, Member), nil)
		wait(waitMax / 2)
		is(t, r.Add(id, 1, 10, Member), ErrBusy)
		write(t, r, id, 1, "x")
		is(t, r.Remove(id, 1, 9), nil)
	})
}

func TestMembers(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		id := started(t, r, 3, false)
		write(t, r, id, 1, "before")
		missing := "g" + strings.Repeat("a", 16)
		pair, err := r.Start(1, Start{Participants: []uint32{2}})
		testkit.Must(t, err)
		for _, step := range []struct {
			thread        string
			by, user      uint32
			role          Role // "" removes
			want          error
			members, last string
		}{
			{missing, 1, 2, Member, ErrNoThread, "", ""},
			{missing, 1, 2, "", ErrNoThread, "", ""},
			{"x", 1, 2, Member, ErrNoThread, "", ""},
			{"x", 1, 2, "", ErrNoThread, "", ""},
			{pair.ID, 1, 3, Member, ErrNoGroup, "2 1 1,2", ""},
			{pair.ID, 1, 1, "", ErrNoGroup, "2 1 1,2", ""},
			{id, 4, 5, Member, ErrNotMember, "3 1 1,2,3", ""},
			{id, 4, 4, "", ErrNotMember, "3 1 1,2,3", ""},
			{id, 2, 5, Member, ErrNotOwner, "3 1 1,2,3", ""},
			{id, 2, 3, "", ErrNotOwner, "3 1 1,2,3", ""},
			{id, 1, 9, "", nil, "3 1 1,2,3", "message 1 1 before"},
			{id, 1, 4, Member, nil, "4 1 1,2,3,4", "joined 1 4 "},
			{id, 1, 4, Member, nil, "4 1 1,2,3,4", "joined 1 4 "},
			{id, 1, 1, Member, ErrLastOwner, "4 1 1,2,3,4", ""},
			{id, 1, 5, Owner, nil, "5 2 1,2,3,4,5", "joined 1 5 "},
			{id, 1, 1, Member, nil, "5 1 1,2,3,4,5", ""},
			{id, 5, 1, Owner, nil, "5 2 1,2,3,4,5", ""},
			{id, 5, 2, "", nil, "4 2 1,3,4,5", "left 1 2 "},
			{id, 5, 5, "", nil, "3 1 1,3,4", "left 1 5 "},
			{id, 1, 1, "", nil, "2 1 3,4", "left 1 1 "}, // 3 is the owner now
			{id, 3, 6, Member, nil, "3 1 3,4,6", "joined 1 6 "},
			{id, 3, 4, "", nil, "2 1 3,6", ""},
			{id, 3, 6, "", nil, "1 1 3", ""},
			{id, 3, 3, "", nil, "", "ended 1 1 "},
		} {
			var err error
			if step.role == "" {
				err = r.Remove(step.thread, step.by, step.user)
			} else {
				err = r.Add(step.thread, step.by, step.user, step.role)
			}
			is(t, err, step.want)
			if kindOf(step.thread) == "" {
				continue
			}
			if got := strings.TrimSpace(r.fields(t, step.thread, "members", "owners", "shown")); got != step.members {
				t.Errorf("%+v: %q", step, got)
			}
			if log := r.log(t, step.thread); step.last != "" && log[len(log)-1] != step.last {
				t.Errorf("%+v: log %q", step, log)
			}
		}
		if keys := roomtest.Ask[[]string](t, r.of(id), "KEYS", threadKey(id)+"*"); len(keys) > 0 {
			t.Errorf("an ended group has left %q", keys)
		}
	})
}

// A group is full at MembersMax. It names ShownMax participants, and others when those have left.
func TestFullGroup(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		id := started(t, r, 25, false)
		roomtest.Ask[int](t, r.of(id), "HSET", threadKey(id), "members", strconv.Itoa(MembersMax))
		is(t, r.Add(id, 1, 99, Member), ErrFull)
		roomtest.Ask[int](t, r.of(id), "HSET", threadKey(id), "members", "25")
		shown := func(user uint32) []uint32 {
			th, err := r.Get(id, user)
			testkit.Must(t, err)
			return th.Participants
		}
		if got := shown(25); len(got) != ShownMax || got[0] != 1 || got[ShownMax-1] != ShownMax {
			t.Errorf("participants %v", got)
		}
		for user := uint32(1); user <= 3; user++ {
			is(t, r.Remove(id, user, user), nil)
		}
		if got := shown(25); len(got) != ShownMax-3 || got[0] != 4 {
			t.Errorf("participants %v", got)
		}
		for user := uint32(4); user <= 5; user++ {
			is(t, r.Remove(id, user, user), nil)
		}
		if got := shown(25); len(got) != ShownMax { // of 20 members all
			t.Errorf("participants %v", got)
		}
	})
}

// The list of participants is filled again when the last of them leaves a group with many members.
func TestParticipantsOfLargeGroup(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		id := started(t, r, 60, false)
		for user := uint32(1); user <= ShownMax; user++ {
			is(t, r.Remove(id, user, user), nil)
		}
		th, err := r.Get(id, 60)
		is(t, err, nil)
		if n := len(th.Participants); n != ShownMax || th.Members != 40 || th.Participants[0] <= ShownMax {
			t.Errorf("%d participants of %d: %v", n, th.Members, th.Participants)
		}
		if owner, err := r.Get(id, th.Participants[0]); err != nil || owner.Role != Owner {
			t.Errorf("the first of them is %s, %v", owner.Role, err)
		}
		seen := map[uint32]bool{}
		for cursor := uint64(0); ; {
			list, next, err := r.Members(id, 60, cursor, 10)
			testkit.Must(t, err)
			for _, m := range list {
				seen[m.User] = true
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
		if len(seen) != 40 {
			t.Errorf("a walk has %d members, want 40", len(seen))
		}
		_, _, err = r.Members(id, 1, 0, 10)
		is(t, err, ErrNotMember)
		_, _, err = r.Members(RoomID(cfg.Sale), 1, 0, 10)
		is(t, err, ErrNoGroup)
	})
}

func TestModeration(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r := open(t, cfg)
		room := RoomID(cfg.Sale)
		for _, thread := range []string{"x", RoomID("other")} {
			is(t, r.Erase(thread, 1), ErrNoThread)
			is(t, r.Pin(thread, 1), ErrNoThread)
			is(t, r.Mute(thread, 1, time.Minute), ErrNoThread)
		}
		is(t, r.Mute(started(t, r, 2, false), 1, time.Minute), ErrNoGroup)
		is(t, r.Mute(room, 1, MuteMax+1), ErrBadChange)
		is(t, r.Mute(room, 1, -1), ErrBadChange)
		m := write(t, r, room, 2, "hello")
		for _, id := range []int64{-1, 2, 1 << 60} {
			is(t, r.Erase(room, id), ErrNoMessage)
			is(t, r.Pin(room, id), ErrNoMessage)
		}
		is(t, r.Pin(room, 1), nil)
		if th, err := r.ShowRoom(cfg.Sale); err != nil || *th.Pinned != m {
			t.Errorf("pinned %+v %v", th.Pinned, err)
		}
		is(t, r.Pin(room, 0), nil)
		is(t, r.Pin(room, 1), nil)
		is(t, r.Mute(room, 2, time.Minute), nil)
		is(t, r.Mute(room, 2, 0), nil)
		for range 2 {
			is(t, r.Erase(room, 1), nil)
		}
		is(t, r.Pin(room, 1), ErrNoMessage)
		th, err := r.ShowRoom(cfg.Sale)
		if err != nil || th.Pinned != nil || th.Last != 1 {
			t.Errorf("room %+v %v", th, err)
		}
		want := []string{"message 1 2 hello", "pinned 1 0 ", "pinned 0 0 ", "pinned 1 0 ", "muted 0 2 ",
			"muted 0 2 ", "pinned 0 0 ", "erased 1 0 "}
		if got := r.log(t, room); !slices.Equal(got, want) {
			t.Errorf("log %q, want %q", got, want)
		}
		is(t, r.Mute(room, 3, time.Minute), nil)
		last := r.entries(t, pipeline.PartOf(room))
		if until := last[len(last)-1].Until; !until.Equal(clock.Now().Add(time.Minute)) {
			t.Errorf("muted until %s", until)
		}
	})
}

// The client ids of a group that has ended are not those of the group that is started again under its id: a
// message would not be stored, and its sender would get one of before joining.
func TestClientIDsEndWithTheGroup(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := open(t, cfg)
		g := Start{Participants: []uint32{2}, Group: true, Key: "club"}
		club, err := r.Start(1, g)
		is(t, err, nil)
		_, err = r.Post(club.ID, 2, "one", "of before")
		is(t, err, nil)
		is(t, r.Remove(club.ID, 1, 1), nil)
		is(t, r.Remove(club.ID, 2, 2), nil)
		c.Add(time.Second)
		g.Participants = []uint32{3}
		again, err := r.Start(1, g)
		is(t, err, nil)
		_, err = r.Post(again.ID, 3, "", "secret")
		is(t, err, nil)
		is(t, r.Add(again.ID, 1, 2, Member), nil)
		m, err := r.Post(again.ID, 2, "one", "new")
		if is(t, err, nil); again.ID != club.ID || m.ID != 2 || m.Content != "new" {
			t.Errorf("in %s: %+v", again.ID, m)
		}
	})
}

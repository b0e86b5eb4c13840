package presence

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// TestBeat runs beat.lua from each state with each wish.
func TestBeat(t *testing.T) {
	onEach(t, func(t *testing.T, redis []pipeline.Config) {
		r := open(t, redis)
		const user, now = 7, "now"
		for _, test := range []struct {
			before, wish string
			visible      bool
			after        string
		}{
			{"", asBefore, true, now},
			{"5000", asBefore, true, now},
			{"-5000", asBefore, false, "-5000"},
			{"-0", asBefore, false, "-0"},
			{"", wishInvisible, false, "-0"},
			{"5000", wishInvisible, false, "-5000"},
			{"-5000", wishInvisible, false, "-5000"},
			{"", wishVisible, true, now},
			{"5000", wishVisible, true, now},
			{"-5000", wishVisible, true, now},
		} {
			r.put(t, user, test.before)
			begin := time.Now().Truncate(time.Millisecond)
			visible, err := r.beat(user, test.wish, newReadings(1))
			testkit.Must(t, err)
			value, stays := r.get(t, user)
			want := map[bool]time.Duration{true: keptFor, false: invisibleFor}[test.visible]
			if visible != test.visible || stays > want || stays < want-time.Minute {
				t.Errorf("%+v: visible %v, stays for %v", test, visible, stays)
			}
			if ms, _ := strconv.ParseInt(value, 10, 64); test.after == now {
				if at := time.UnixMilli(ms); at.Before(begin) || at.After(time.Now()) {
					t.Errorf("%+v: noted at %v", test, at)
				}
			} else if value != test.after {
				t.Errorf("%+v: noted %q", test, value)
			}
		}
	})
}

// A status follows from the value of the key and the clock.
func TestStatus(t *testing.T) {
	const now = 1_800_000_000_000
	minute := offlineAfter.Milliseconds()
	for _, test := range []struct {
		value  int64
		online bool
		seen   int64 // 0: never
	}{
		{0, false, 0}, // no key, or -0
		{now, true, now},
		{now - minute + 1, true, now - minute + 1},
		{now - minute, false, now - minute},
		{-(now - 1), false, now - 1},
		{now + 1, true, now + 1}, // noted after the clock was read
		{now + minute, false, now + minute},
	} {
		s := status{Status: Status{User: 7}}
		s.set(test.value, now)
		want := Status{User: 7, Online: test.online}
		if test.seen != 0 {
			want.Seen = time.UnixMilli(test.seen)
		}
		if s.Status != want {
			t.Errorf("%d: %+v, want %+v", test.value, s.Status, want)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	onEach(t, func(t *testing.T, redis []pipeline.Config) {
		r := open(t, redis, 5, 2, 3, 4, 1<<31+9, 5)
		r.put(t, 2, ago(50*time.Second)) // two devices: online while any is
		r.put(t, 3, ago(61*time.Second))
		r.put(t, 4, "-"+ago(time.Second))
		if _, err := r.beat(1<<31+9, asBefore, newReadings(1)); err != nil {
			t.Fatal(err)
		}
		visible, contacts, err := r.Heartbeat(1)
		if !visible || err != nil {
			t.Errorf("visible %v, %v", visible, err)
		}
		var users []uint32
		for _, c := range contacts {
			users = append(users, c.User)
		}
		if want := []uint32{5, 2, 3, 4, 1<<31 + 9, 5}; !slices.Equal(users, want) {
			t.Errorf("contacts %v, want %v", users, want)
		}
		online, seen := r.beats(t, 1)
		if !slices.Equal(online, []uint32{2, 1<<31 + 9}) || !slices.Equal(seen, []uint32{2, 3, 4, 1<<31 + 9}) {
			t.Errorf("online %v, seen %v", online, seen)
		}
		if n := r.cfg.Heartbeats.Value(); n != 2 || r.cfg.Lookups.Value() != 5 {
			t.Errorf("%d heartbeats, %d lookups", n, r.cfg.Lookups.Value())
		}
	})
}

// A user who wants to be invisible is offline for others, was last seen before, and sees them. A heartbeat
// does not change that.
func TestInvisible(t *testing.T) {
	onEach(t, func(t *testing.T, redis []pipeline.Config) {
		r := open(t, redis, 1, 2)
		r.beats(t, 2)
		r.beats(t, 1)
		look := func(wantOnline ...uint32) time.Time {
			t.Helper()
			r.clock.Add(statusesFor)
			visible, contacts, err := r.Heartbeat(2)
			testkit.Must(t, err)
			if online := contacts[0].Online; online != slices.Contains(wantOnline, 1) || !visible {
				t.Errorf("online %v, want %v", online, wantOnline)
			}
			return contacts[0].Seen
		}
		before := look(1)
		testkit.Must(t, r.SetVisible(1, false))
		visible, contacts, err := r.Heartbeat(1)
		if visible || err != nil || !contacts[1].Online {
			t.Errorf("the heartbeat of an invisible user: visible %v, sees %v, %v", visible, contacts, err)
		}
		if seen := look(); !seen.Equal(before) {
			t.Errorf("last seen %v, want %v", seen, before)
		}
		testkit.Must(t, r.SetVisible(1, true))
		if seen := look(1); seen.Before(before) {
			t.Errorf("last seen %v, before it was %v", seen, before)
		}
	})
}

// Contacts are kept for a while and cut at contactsMax. An error is that of the heartbeat.
func TestContacts(t *testing.T) {
	var asked int
	var fault error
	list := make([]uint32, contactsMax+1)
	r := openOf(t, []pipeline.Config{roomtest.Redis(t)}, func(uint32) ([]uint32, error) {
		asked++
		return list, fault
	})
	for i := range list {
		list[i] = uint32(i + 1)
	}
	for _, step := range []struct {
		wait  time.Duration
		fault error
		asked int
	}{
		{0, nil, 1}, {contactsFor - time.Millisecond, nil, 1}, {time.Millisecond, errors.New("away"), 2},
		{0, nil, 3}, {0, errors.New("away"), 3},
	} {
		fault = step.fault
		r.clock.Add(step.wait)
		_, contacts, err := r.Heartbeat(1)
		if asked != step.asked || err == nil && len(contacts) != contactsMax {
			t.Errorf("%+v: asked %d times, %d contacts, %v", step, asked, len(contacts), err)
		}
	}
}

// Without Redis a heartbeat fails. To one that waits for its reading the contacts are unknown. Later ones
// read again.
func TestWithoutRedis(t *testing.T) {
	server := redistest.New(t)
	r := open(t, []pipeline.Config{roomtest.Of(server)}, 2)
	own := newReadings(1)
	r.statuses.look([]uint32{2}, own, r.clock.Now())
	waits := make(chan string, 1)
	go func() {
		_, contacts, err := r.Heartbeat(1)
		waits <- fmt.Sprint(contacts, err)
	}()
	testkit.Until(t, "heartbeat", func() bool { v, _ := r.get(t, 1); return v != "" })
	server.Kill(t)
	if _, err := r.beat(3, asBefore, own); !errors.Is(err, pipeline.ErrUnavailable) {
		t.Errorf("a heartbeat without Redis: %v", err)
	}
	if got, want := <-waits, fmt.Sprint([]Status{{User: 2, Unknown: true}}, nil); got != want {
		t.Errorf("a heartbeat that waits for another's reading: %s, want %s", got, want)
	}
	server.Restart(t)
	testkit.Until(t, "Redis", func() bool {
		_, contacts, err := r.Heartbeat(1)
		return err == nil && !contacts[0].Unknown
	})
}

// What is kept is bounded by its time and by its number.
func TestGeneration(t *testing.T) {
	g := generation[int]{period: time.Second, most: 3}
	now := time.UnixMilli(0)
	for i, step := range []struct {
		wait time.Duration
		have int
	}{{0, 0}, {999 * time.Millisecond, 1}, {time.Millisecond, 0}, {0, 1}, {0, 2}, {0, 0}} {
		now = now.Add(step.wait)
		values := g.current(now)
		if len(values) != step.have {
			t.Errorf("step %d: %d values, want %d", i, len(values), step.have)
		}
		values[uint32(i)] = i
	}
}

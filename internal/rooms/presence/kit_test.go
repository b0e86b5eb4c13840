package presence

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

// room is a Presence that runs until the test ends.
type room struct {
	*Presence
	clock *roomtest.Clock
}

// open makes a room in which everybody has these contacts.
func open(tb testing.TB, redis []pipeline.Config, contacts ...uint32) room {
	tb.Helper()
	return openOf(tb, redis, func(uint32) ([]uint32, error) { return contacts, nil })
}

func openOf(tb testing.TB, redis []pipeline.Config, contacts func(uint32) ([]uint32, error)) room {
	tb.Helper()
	testkit.KeepLog(tb)
	r := room{clock: roomtest.NewClock(time.UnixMilli(1_800_000_000_000))}
	r.Presence = New(Config{Redis: redis, Contacts: contacts, Heartbeats: new(figures.Counter),
		Lookups: new(figures.Counter), Now: r.clock.Now})
	testkit.Background(tb, r.Run)
	testkit.Until(tb, "connections", func() bool {
		return !slices.ContainsFunc(r.redis.Conns(), func(c *pipeline.Conn) bool { return !c.Up() })
	})
	return r
}

// onEach runs a test on both engines of Redis.
func onEach(t *testing.T, test func(t *testing.T, redis []pipeline.Config)) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) { test(t, []pipeline.Config{redis}) })
}

// put sets the key of a user as it was some time ago, "" for none.
func (r room) put(t *testing.T, user uint32, value string) {
	t.Helper()
	key, part := userKey(user)
	if value == "" {
		roomtest.Ask[int](t, r.redis.Part(part), "DEL", key)
		return
	}
	roomtest.Ask[string](t, r.redis.Part(part), "SET", key, value)
}

// get returns the key of a user and how long it stays.
func (r room) get(t *testing.T, user uint32) (value string, stays time.Duration) {
	t.Helper()
	key, part := userKey(user)
	value = roomtest.Ask[string](t, r.redis.Part(part), "GET", key)
	return value, time.Duration(roomtest.Ask[int](t, r.redis.Part(part), "TTL", key)) * time.Second
}

// beats sends a heartbeat and returns the contacts that are online and those that have been seen.
func (r room) beats(t *testing.T, user uint32) (online, seen []uint32) {
	t.Helper()
	_, contacts, err := r.Heartbeat(user)
	testkit.Must(t, err)
	for _, c := range contacts {
		if c.Online {
			online = append(online, c.User)
		}
		if !c.Seen.IsZero() {
			seen = append(seen, c.User)
		}
	}
	return online, seen
}

// ago is the value of a heartbeat of some time ago, by the clock of this machine, which that of Redis is.
func ago(d time.Duration) string { return strconv.FormatInt(time.Now().Add(-d).UnixMilli(), 10) }

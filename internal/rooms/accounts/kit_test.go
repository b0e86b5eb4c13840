package accounts

import (
	"slices"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

// catalogue has three users; the name of the third is not folded.
var catalogue = map[uint32]string{1: "root", 2: "user2", 3: "Straße 3"}

func config(redis ...pipeline.Config) Config {
	return Config{
		Redis: redis, UsersMax: 1000, Hash: testkit.FastHash,
		NoteEnd: func(uint32) error { return nil }, EndSessions: func(uint32) error { return nil },
		UserOf: func(name []byte) (uint32, bool) {
			for id, own := range catalogue {
				if own == string(name) {
					return id, true
				}
			}
			return 0, false
		},
		NameOf: func(user uint32) []byte {
			if name := catalogue[user]; name != "" {
				return []byte(name)
			}
			return nil
		},
		EachName: func(visit func(name []byte)) {
			for _, name := range catalogue {
				visit([]byte(name))
			}
		},
	}
}

// noteEnds returns whose sessions the room ends; it notes them, or fails as fail says.
func (cfg *Config) noteEnds(fail func(user uint32) error) (ended func() []uint32) {
	var mu sync.Mutex
	var users []uint32
	end := func(user uint32) error {
		mu.Lock()
		defer mu.Unlock()
		err := fail(user)
		if err == nil {
			users = append(users, user)
		}
		return err
	}
	cfg.NoteEnd, cfg.EndSessions = end, end
	return func() []uint32 {
		mu.Lock()
		defer mu.Unlock()
		return slices.Compact(slices.Clone(users))
	}
}

// run makes a room that runs until the test ends.
func run(tb testing.TB, cfg Config) *Accounts {
	tb.Helper()
	testkit.KeepLog(tb)
	a := New(cfg)
	testkit.Background(tb, a.Run)
	testkit.Until(tb, "connection", a.Up)
	return a
}

// onEach runs a test on both engines of Redis.
func onEach(t *testing.T, test func(t *testing.T, a *Accounts)) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) { test(t, run(t, config(redis))) })
}

// join registers a user.
func (a *Accounts) join(tb testing.TB, name string) User {
	tb.Helper()
	u, err := a.Register(name, []byte("password of "+name), "")
	testkit.Must(tb, err)
	return u
}

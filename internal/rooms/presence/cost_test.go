package presence

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// A region comes back: all its users send their heartbeat at once, and each has many of them as contacts.
// Each user costs Redis one run of a script and two lookups of a key, however many contacts there are.
func TestCostOfRegionThatReturns(t *testing.T) {
	for _, test := range []struct{ users, contacts int }{{5000, 200}, {5000, 20}, {1000, 200}} {
		redis := roomtest.Redis(t)
		r := openOf(t, []pipeline.Config{redis}, func(user uint32) (ids []uint32, err error) {
			for i := range test.contacts {
				ids = append(ids, 1+(user+uint32(i*i))%uint32(test.users))
			}
			return ids, nil
		})
		conn := r.redis.Part(0)
		roomtest.Ask[string](t, conn, "CONFIG", "RESETSTAT")
		testkit.Must(t, each(test.users, 64, func(i int) error {
			_, contacts, err := r.Heartbeat(uint32(i + 1))
			if err == nil && len(contacts) != test.contacts {
				err = fmt.Errorf("%d contacts", len(contacts))
			}
			return err
		}))
		stats := roomtest.Ask[string](t, conn, "INFO", "everything")
		keys := number(t, stats, `keyspace_hits:(\d+)`) + number(t, stats, `keyspace_misses:(\d+)`)
		scripts := number(t, stats, `cmdstat_evalsha:calls=(\d+)`)
		lists := number(t, stats, `cmdstat_mget:calls=(\d+)`)
		t.Logf("%d users with %d contacts: %d scripts, %d keys looked up, %d MGET", test.users, test.contacts,
			scripts, keys, lists)
		if scripts != test.users || keys != 2*test.users || lists > test.users {
			t.Errorf("%d users with %d contacts: %d scripts, %d keys looked up, %d MGET", test.users,
				test.contacts, scripts, keys, lists)
		}
	}
}

// A heartbeat asks all Redis at the same time: one that is slow does not keep the others waiting. While one
// is away its users are unknown to others, and what the others have answered is not read again.
func TestAllRedisAreAskedAtOnce(t *testing.T) {
	slow, other := redistest.New(t), redistest.New(t)
	contacts := []uint32{2, 3, 4, 5, 6, 7, 8, 9}
	r := open(t, []pipeline.Config{roomtest.Of(slow), roomtest.Of(other)}, contacts...)
	slow.Freeze(t)
	done := make(chan error, 1)
	go func() {
		_, _, err := r.Heartbeat(1)
		done <- err
	}()
	asked := func() int {
		stats := roomtest.Ask[string](t, r.redis.Part(1), "INFO", "commandstats")
		return number(t, stats, `cmdstat_mget:calls=(\d+)`)
	}
	testkit.Until(t, "MGET at the other Redis", func() bool { return asked() == 1 })
	slow.Thaw(t)
	testkit.Must(t, <-done)

	slow.Kill(t)
	testkit.Until(t, "lost connection", func() bool { return !r.redis.Part(0).Up() })
	r.clock.Add(statusesFor)
	for range 5 {
		_, found, err := r.Heartbeat(1)
		testkit.Must(t, err)
		for _, c := range found {
			_, part := userKey(c.User)
			if want := (Status{User: c.User, Unknown: part%2 == 0}); c != want {
				t.Errorf("while one Redis is away: %+v, want %+v", c, want)
			}
		}
	}
	if n := asked(); n != 2 {
		t.Errorf("%d MGET at the other Redis, want 2", n)
	}
}

// On a cluster each connection gets one message, with keys of its slot only.
func TestCluster(t *testing.T) {
	cluster := redistest.Cluster(t, testkit.Need(t, "redis-server"), 3, 0)
	cfg := redisx.Config{Config: pipeline.Config{Network: "tcp", Address: cluster.Nodes[0].Address,
		Cluster: true, Timeout: redistest.Timeout}}
	var contacts []uint32
	for id := range uint32(200) {
		contacts = append(contacts, id+1)
	}
	r := open(t, cfg.Spread(), contacts...)
	if n := len(r.redis.Conns()); n != pipeline.Parts {
		t.Fatalf("%d connections", n)
	}
	there := []uint32{3, 77, 128, 199, 200}
	for _, user := range there {
		r.beats(t, user)
	}
	r.put(t, 100, "-"+ago(0))
	r.clock.Add(statusesFor)
	asked := func() (calls int) {
		for _, node := range cluster.Nodes {
			stats, err := node.Ask("INFO", "commandstats")
			testkit.Must(t, err)
			calls += number(t, stats, `cmdstat_mget:calls=(\d+)`)
		}
		return calls
	}
	before := asked()
	online, seen := r.beats(t, 1000)
	if want := slices.Concat(there[:2], []uint32{100}, there[2:]); !slices.Equal(online, there) ||
		!slices.Equal(seen, want) {
		t.Errorf("online %v, seen %v", online, seen)
	}
	if n := asked() - before; n != pipeline.Parts {
		t.Errorf("%d MGET for a heartbeat, want %d", n, pipeline.Parts)
	}
}

// README.md has the bytes that a user takes, with the place in the tables of Redis.
func TestBytesOfUser(t *testing.T) {
	const users, bytesMax = 20_000, 160
	r := open(t, []pipeline.Config{roomtest.Redis(t)})
	used := func() int {
		return number(t, roomtest.Ask[string](t, r.redis.Part(0), "INFO", "memory"), `used_memory:(\d+)`)
	}
	before := used()
	testkit.Must(t, each(users, 256, func(i int) error { return r.SetVisible(uint32(1<<31+i), i%2 == 0) }))
	if n := (used() - before) / users; n > bytesMax {
		t.Errorf("a user takes %d bytes, want %d at most", n, bytesMax)
	}
}

// BenchmarkHeartbeat measures a heartbeat that reads all its contacts: the time of its commands in Redis,
// and all CPU of Redis, with the network. The last line is for contacts that other heartbeats have read.
func BenchmarkHeartbeat(b *testing.B) {
	const users = 64
	for _, test := range []struct {
		contacts, callers int
		wait              time.Duration // between two heartbeats, by the clock of the test
	}{{0, 1, 0}, {200, 1, statusesFor}, {200, 64, statusesFor}, {1000, 64, statusesFor}, {200, 64, 0}} {
		name := fmt.Sprintf("contacts=%d/callers=%d", test.contacts, test.callers)
		if test.wait == 0 && test.contacts > 0 {
			name += "/kept"
		}
		b.Run(name, func(b *testing.B) {
			r := openOf(b, []pipeline.Config{roomtest.Redis(b)}, func(user uint32) (ids []uint32, err error) {
				for i := range test.contacts {
					ids = append(ids, user*1000+uint32(i))
				}
				return ids, nil
			})
			for user := range uint32(users) {
				for i := range test.contacts / 2 { // half of the contacts have been seen
					key, _ := userKey(user*1000 + uint32(2*i))
					roomtest.Ask[string](b, r.redis.Part(0), "SET", key, ago(time.Second))
				}
			}
			info := func() (commands, cpu float64) {
				stats := roomtest.Ask[string](b, r.redis.Part(0), "INFO", "everything")
				for _, name := range []string{"evalsha", "mget"} {
					commands += float64(number(b, stats, `cmdstat_`+name+`:calls=\d+,usec=(\d+)`))
				}
				for _, kind := range []string{"sys", "user"} {
					text := regexp.MustCompile(`used_cpu_` + kind + `:([0-9.]+)`).FindStringSubmatch(stats)[1]
					seconds, err := strconv.ParseFloat(text, 64)
					testkit.Must(b, err)
					cpu += 1e6 * seconds
				}
				return commands, cpu
			}
			commands, cpu := info()
			b.ResetTimer()
			testkit.Must(b, each(b.N, test.callers, func(i int) error {
				r.clock.Add(test.wait)
				_, _, err := r.Heartbeat(uint32(i % users))
				return err
			}))
			b.StopTimer()
			commandsAfter, cpuAfter := info()
			b.ReportMetric((commandsAfter-commands)/float64(b.N), "µs-of-commands/op")
			b.ReportMetric((cpuAfter-cpu)/float64(b.N), "µs-of-Redis/op")
		})
	}
}

// each makes calls 0 to n-1, by some callers at once, and returns an error of one of them.
func each(n, callers int, call func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, callers)
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := call(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}

// number finds a number in a text, 0 without one.
func number(tb testing.TB, text, pattern string) int {
	tb.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	testkit.Must(tb, err)
	return n
}

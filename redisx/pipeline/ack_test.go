package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// TestReplicaIsAway has a cluster of one master and its replica. A Conn waits for the replica, in each mode
// that the program has.
func TestReplicaIsAway(t *testing.T) {
	onClusters(t, 1, 1, func(t *testing.T, nodes *launch.Cluster) {
		for _, ack := range []Ack{AckReplica, AckDisk} {
			if version := ask(t, nodes.Nodes[0], "INFO", "server"); ack == AckDisk &&
				!strings.Contains(version, "valkey_version") {
				continue // Debian 12 has Redis 7.0, and WAITAOF came with 7.2
			}
			cfg := slotOf(nodes)
			cfg.Ack, cfg.Timeout = ack, 3*time.Second
			t.Run(string(ack), func(t *testing.T) {
				onEngines(t, func(t *testing.T, loop Loop) {
					t.Run("frozen", func(t *testing.T) { testFrozenReplica(t, nodes, cfg, loop) })
					t.Run("none", func(t *testing.T) { testMasterWithoutReplica(t, nodes, cfg, loop) })
				})
				t.Run("killed", func(t *testing.T) { testKilledReplica(t, nodes, cfg) })
			})
		}
	}, "--appendonly", "yes", "--appendfsync", "always")
}

// A change counts when the replica has it. While the replica is frozen calls fail, reads too: they may show
// what the replica does not have. Without a Fence they do not wait.
func testFrozenReplica(t *testing.T, nodes *launch.Cluster, cfg Config, loop Loop) {
	opts := Options{Loop: loop, Fence: "fence" + tag}
	c := connect(t, cfg, opts)
	script := NewScript("return {1}").Share(nil, nil, 1, 0)
	opts.Shared, opts.Fence = []*Shared{script}, ""
	cfg.Timeout = patient
	plain := connect(t, cfg, opts)
	testkit.Until(t, "a change", func() bool { return do(c, Command(new(string), "SET", tag, "1")) == nil })
	nodes.Nodes[1].Send(t, syscall.SIGSTOP)
	// An answer that tells about the replica came within the timeout. A busy machine may be late.
	testkit.Until(t, "a change that the replica does not have", func() bool {
		err := do(c, Command(new(string), "SET", tag, "2"))
		if !errors.Is(err, ErrUnavailable) {
			t.Fatalf("a change without the replica: %v", err)
		}
		return strings.Contains(err.Error(), "0 of 1 replicas")
	})
	var value string
	if err := do(c, Command(&value, "GET", tag)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a read of what the replica does not have: %q, %v", value, err)
	}
	testkit.Must(t, do(plain, Command(&value, "GET", tag)))
	testkit.Must(t, do(plain, script.Call().Key([]byte(tag))))
	nodes.Nodes[1].Send(t, syscall.SIGCONT)
	testkit.Until(t, "a change with the replica", func() bool {
		return do(c, Command(new(string), "SET", tag, "3")) == nil
	})
}

// A replica that the master has lost counts on: another one than this master may have elected it.
func testKilledReplica(t *testing.T, nodes *launch.Cluster, cfg Config) {
	cfg.Timeout = time.Second
	conns := ofEngines(t, cfg, Options{Fence: "fence" + tag})
	nodes.Nodes[1].Kill()
	testkit.Until(t, "the master without a replica", func() bool {
		return strings.Contains(ask(t, nodes.Nodes[0], "INFO", "replication"), "connected_slaves:0")
	})
	for range 2 { // before and after a recount
		for _, c := range conns {
			if err := do(c, Command(new(string), "SET", tag, "1")); !errors.Is(err, ErrUnavailable) {
				t.Errorf("a change without the replica: %v", err)
			}
		}
		time.Sleep(recount)
	}
	testkit.Must(t, nodes.Nodes[1].Start(t.Context()))
	testkit.Must(t, nodes.AwaitReady(t.Context(), 1))
	for _, c := range conns {
		testkit.Until(t, "a change with the replica", func() bool {
			return do(c, Command(new(string), "SET", tag, "3")) == nil
		})
	}
}

// A master that has no replica refuses every write. Calls learn that once, then they fail at once, until a
// replica has joined.
func testMasterWithoutReplica(t *testing.T, nodes *launch.Cluster, cfg Config, loop Loop) {
	master, replica := nodes.Nodes[0], nodes.Nodes[1]
	ask(t, master, "CONFIG", "SET", "min-replicas-to-write", "1")
	defer ask(t, master, "CONFIG", "SET", "min-replicas-to-write", "0")
	c := connect(t, cfg, Options{Loop: loop, Fence: "fence" + tag})
	replica.Kill()
	testkit.Until(t, "a master that refuses writes", func() bool {
		_, err := master.Ask("SET", tag, "1")
		return err != nil
	})
	_ = do(c, Command(new(string), "SET", tag, "2"))
	_ = do(c.twin.Conn, Command(new(string), "SET", tag, "2"))
	begin := time.Now()
	for range 10 {
		if err := do(c, Command(new(string), "SET", tag, "3")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a change without the replica: %v", err)
		}
	}
	if took := time.Since(begin); took > 5*cfg.Timeout { // ten waits take about seven times the timeout
		t.Errorf("ten changes that the master refuses took %v", took)
	}
	testkit.Must(t, replica.Start(t.Context()))
	testkit.Must(t, nodes.AwaitReady(t.Context(), 1))
	testkit.Until(t, "a change with the replica", func() bool {
		return do(c, Command(new(string), "SET", tag, "4")) == nil
	})
}

// The master is killed under load at some moment and its data deleted, again and again: the elected replica
// has every change that was answered, though it is the only node that has.
func testMasterIsLost(t *testing.T, nodes *launch.Cluster) {
	moments := 2 // the drill cluster-master-killed makes ten
	if testing.Short() {
		moments = 1
	}
	cfg := slotOf(nodes)
	cfg.Ack, cfg.Timeout = AckReplica, time.Second
	conns := ofEngines(t, cfg, Options{Fence: "fence" + tag})
	for moment := range moments {
		var loads []*setter
		var stops []func()
		for _, c := range conns {
			testkit.Until(t, "answers with a replica", func() bool {
				return do(c, Command(new(string), "SET", tag, "1")) == nil
			})
			load := &setter{c: c, name: fmt.Sprintf("%s%p.%d.", tag, c, moment)}
			loads, stops = append(loads, load), append(stops, load.run())
		}
		for _, load := range loads {
			testkit.Until(t, "load", func() bool { return load.answers() > 100 })
		}
		time.Sleep(rand.N(200 * time.Millisecond))
		master := awaitAgreement(t, nodes, cfg.Slot)
		replica := nodes.Replicas(master)[0]
		master.Kill()
		testkit.Must(t, master.Wipe())
		testkit.Until(t, "election", func() bool { return nodes.Master(cfg.Slot) == replica })
		testkit.Must(t, nodes.Replace(t.Context(), master, replica))
		testkit.Must(t, nodes.AwaitReady(t.Context(), 3))
		for i, load := range loads {
			stops[i]()
			missing := 0
			for _, key := range load.answered {
				if ask(t, replica, "EXISTS", key) != "1" {
					missing++
				}
			}
			t.Logf("%d changes were answered, %d not", len(load.answered), load.refused)
			if missing > 0 {
				t.Errorf("%d of %d answered changes are missing", missing, len(load.answered))
			}
		}
	}
}

// setter sets one key after another from some goroutines, and notes those that were answered.
type setter struct {
	c        *Conn
	name     string
	mu       sync.Mutex
	next     int
	answered []string
	refused  int
}

func (s *setter) answers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answered)
}

// run sets keys until stop is called.
func (s *setter) run() (stop func()) {
	end := make(chan struct{})
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					s.set()
				}
			}
		})
	}
	return func() { close(end); running.Wait() }
}

func (s *setter) set() {
	s.mu.Lock()
	key := s.name + strconv.Itoa(s.next)
	s.next++
	s.mu.Unlock()
	err := do(s.c, Command(new(string), "SET", key, "1"))
	if err != nil {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused++
		return
	}
	s.answered = append(s.answered, key)
}

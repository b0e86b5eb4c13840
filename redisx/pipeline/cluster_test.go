package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/background"
	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// tag is the hash tag of all keys here; its slot is in the last third.
const tag = "{foo}"

func slotOf(c *launch.Cluster) Config {
	return Config{Address: c.Seeds(), Cluster: true, Slot: Slot(tag), Timeout: patient}
}

// onClusters runs a test on a cluster of each program, all at once: they mostly wait.
func onClusters(t *testing.T, masters, replicas int, test func(t *testing.T, nodes *launch.Cluster),
	args ...string) {
	redistest.OnPrograms(t, func(t *testing.T, program string) {
		t.Parallel()
		test(t, redistest.Cluster(t, program, masters, replicas, args...))
	})
}

// ofEngines are connections with each engine.
func ofEngines(t *testing.T, cfg Config, opts Options) (both [2]*Conn) {
	for i, loop := range []Loop{nil, looptest.Run(t)} {
		opts.Loop = loop
		both[i] = connect(t, cfg, opts)
	}
	return both
}

func ask(t *testing.T, n *launch.ClusterNode, words ...string) string {
	t.Helper()
	reply, err := n.Ask(words...)
	testkit.Must(t, err)
	return reply
}

// caller sends calls that add one to a key of its own, many at a time. The reply to each call must be its
// number.
type caller struct {
	c    *Conn
	call func(n int64) *Call

	mu       sync.Mutex
	sent     int64
	answered int64
	faults   []string
}

const together = 100 // calls of one caller that are under way

// numbered is one call of a caller.
type numbered struct {
	*caller
	n int64
}

func (k numbered) Complete(x *Call) {
	n, err := x.Result()
	x.Free()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answered++
	if err != nil || n != k.n {
		k.faults = append(k.faults, fmt.Sprintf("call %d got %d, %v", k.n, n, err))
	}
}

// run sends until stop is called.
func (k *caller) run(tb testing.TB) (stop func()) {
	return testkit.Background(tb, func(ctx context.Context) error {
		background.Every(ctx, 10*ms, func() { looptest.On(k.c.opts.Loop, k.fill) })
		return nil
	})
}

// fill sends until enough calls are under way.
func (k *caller) fill() {
	for k.underWay() < together {
		k.sent++
		if !k.c.Send(k.call(k.sent), numbered{k, k.sent}) {
			k.mu.Lock()
			k.answered++
			k.faults = append(k.faults, "a call is refused")
			k.mu.Unlock()
		}
	}
}

func (k *caller) underWay() int64 { return k.sent - k.answers() }

// answers returns how many calls were answered.
func (k *caller) answers() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.answered
}

// check demands that each call was carried out once, and in its order.
func (k *caller) check(t *testing.T) {
	t.Helper()
	testkit.Until(t, "last replies", func() bool { return k.underWay() == 0 })
	if len(k.faults) > 0 || k.sent == 0 {
		t.Errorf("%d of %d calls failed: %.300s", len(k.faults), k.sent, k.faults)
	}
}

// TestCluster has one cluster of each program. Each of its tests leaves that as it was: three masters with a
// replica, and the slot of the keys where it began.
func TestCluster(t *testing.T) {
	onClusters(t, 3, 1, func(t *testing.T, nodes *launch.Cluster) {
		onEngines(t, func(t *testing.T, loop Loop) {
			t.Run("slot moves", func(t *testing.T) { testSlotMoves(t, nodes, loop) })
			t.Run("slot is half moved", func(t *testing.T) { testHalfMovedSlot(t, nodes, loop) })
			t.Run("key of another slot", func(t *testing.T) { testKeyOfAnotherSlot(t, nodes, loop) })
		})
		t.Run("nodes without names", func(t *testing.T) { testNodesWithoutNames(t, nodes) })
		t.Run("master is away", func(t *testing.T) { testMasterIsAway(t, nodes) })
		t.Run("master is lost with its disk", func(t *testing.T) { testMasterIsLost(t, nodes) })
	})
}

// otherMasters are those that do not have a slot.
func otherMasters(nodes *launch.Cluster, slot int) (others []*launch.ClusterNode) {
	home := nodes.Master(slot)
	for _, n := range nodes.Nodes {
		if n != home && len(nodes.Replicas(n)) > 0 {
			others = append(others, n)
		}
	}
	return others
}

// awaitAgreement returns the master of a slot once all nodes know it. A replica that had not heard of a move
// would not take the slot over.
func awaitAgreement(t *testing.T, nodes *launch.Cluster, slot int) (master *launch.ClusterNode) {
	t.Helper()
	master = nodes.Master(slot)
	testkit.Until(t, "nodes that agree on a slot", func() bool {
		return !slices.ContainsFunc(nodes.Nodes, func(n *launch.ClusterNode) bool {
			topo, err := Topology(t.Context(), Config{Address: n.Address, Timeout: patient})
			return err != nil || !slices.ContainsFunc(topo, func(node radix.ClusterNode) bool {
				return node.Addr == master.Address && holds(node, slot)
			})
		})
	})
	return master
}

// A connection follows its slot from master to master while calls flow. No call is lost or carried out
// twice, and the calls of a caller keep their order: commands, scripts that calls share, and such scripts
// with a key that does not exist before.
func testSlotMoves(t *testing.T, nodes *launch.Cluster, loop Loop) {
	slot := Slot(tag)
	for _, n := range append(otherMasters(nodes, slot), nodes.Master(slot)) {
		ask(t, n, "FLUSHALL")
	}
	add := NewScript("local n = {} for i, k in ipairs(KEYS) do n[i] = redis.call('INCR', k) end return n").
		Share(nil, nil, 1, 0)
	addNew := NewScript("local n = {} for i = 1, #KEYS, 2 do n[#n + 1] = redis.call('INCR', KEYS[i]) "+
		"redis.call('SET', KEYS[i + 1], '', 'PX', 20) end return n").Share(nil, nil, 2, 0)
	c := connect(t, slotOf(nodes), Options{Loop: loop, Shared: []*Shared{add, addNew}})
	var callers []*caller
	for i := range 3 {
		key := func(kind string) []byte { return fmt.Appendf(nil, "%s%s%d", tag, kind, i) }
		callers = append(callers,
			&caller{call: func(int64) *Call { return NewCall().Integer("INCR", key("a")) }},
			&caller{call: func(int64) *Call { return add.Call().Key(key("b")) }},
			&caller{call: func(n int64) *Call {
				return addNew.Call().Key(key("c")).Key(fmt.Appendf(key("d"), ".%d", n))
			}})
	}
	var stops []func()
	for _, k := range callers {
		k.c = c
		stops = append(stops, k.run(t))
	}
	for _, to := range append(otherMasters(nodes, slot), nodes.Master(slot)) {
		from := nodes.Master(slot)
		testkit.Must(t, nodes.BeginMove(slot, from, to))
		time.Sleep(20 * time.Millisecond) // calls go on
		testkit.Must(t, nodes.MoveKeys(slot, from, to))
		time.Sleep(20 * time.Millisecond)
		testkit.Must(t, nodes.EndMove(slot, from, to))
		for _, k := range callers {
			begin := k.answers()
			testkit.Until(t, "calls after the move", func() bool { return k.answers() > begin+2*together })
		}
	}
	for _, stop := range stops {
		stop()
	}
	for _, k := range callers {
		k.check(t)
	}
}

// In a slot that is half moved, a command with one key is carried out at the master that has or would have
// the key; a script with keys on both sides waits until the move ends, or until its timeout.
func testHalfMovedSlot(t *testing.T, nodes *launch.Cluster, loop Loop) {
	slot := Slot(tag)
	both := NewScript("return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])")
	opts := Options{Loop: loop, Scripts: []*Script{both}}
	c := connect(t, slotOf(nodes), opts)
	hasty := slotOf(nodes)
	hasty.Timeout = 300 * time.Millisecond
	inHaste := connect(t, hasty, opts)
	from, to := nodes.Master(slot), otherMasters(nodes, slot)[0]
	ask(t, from, "SET", tag+"old", "10")
	testkit.Must(t, nodes.BeginMove(slot, from, to))

	var old, fresh, again string
	x := Command(&old, "GET", tag+"old").Command(&fresh, "SET", tag+"new", "20", "GET").
		Command(&again, "GET", tag+"old")
	if err := do(c, x); err != nil || old != "10" || again != "10" || fresh != "" {
		t.Errorf("commands on both sides: %q, %q, %q, %v", old, fresh, again, err)
	}
	if n, err := doInteger(c, NewCall().Integer("INCR", []byte(tag+"new"))); err != nil || n != 21 {
		t.Errorf("a command for the new master: %d, %v", n, err)
	}
	call := func(sum *int64) *Call { return both.Call(sum, []string{tag + "old", tag + "new"}) }
	testkit.Until(t, "the end of the timeout", func() bool { // a busy machine may not get a reply before it
		err := do(inHaste, call(new(int64)))
		if !errors.Is(err, ErrUnavailable) {
			t.Fatalf("a script with keys on both sides, until its timeout: %v", err)
		}
		return strings.Contains(err.Error(), "TRYAGAIN")
	})
	var sum int64
	done := make(chan error, 1)
	go func() { done <- do(c, call(&sum)) }()
	select {
	case err := <-done:
		t.Errorf("a script with keys on both sides did not wait: %v", err)
	case <-time.After(250 * time.Millisecond):
	}
	testkit.Must(t, nodes.MoveKeys(slot, from, to))
	testkit.Must(t, nodes.EndMove(slot, from, to))
	if err := <-done; err != nil || sum != 11+22 {
		t.Errorf("a script after the move: %d, %v", sum, err)
	}
	testkit.Must(t, do(c, Command(new(int64), "DEL", tag+"old", tag+"new")))
	testkit.Must(t, nodes.MoveSlot(slot, from))
}

// A call with a key of another slot does not move the connection.
func testKeyOfAnotherSlot(t *testing.T, nodes *launch.Cluster, loop Loop) {
	c := connect(t, slotOf(nodes), Options{Loop: loop})
	// After a slot was moved, the first call finds its master.
	testkit.Must(t, do(c, Command(new(string), "SET", tag, "1")))
	// The slot of "bar" is in the first third, that of "key" in the last one: a master has one of them at most.
	key := "bar"
	err := do(c, Command(new(string), "GET", key))
	if err == nil {
		key = "key"
		err = do(c, Command(new(string), "GET", key))
	}
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), fmt.Sprint("MOVED ", Slot(key))) {
		t.Errorf("a key of another slot: %v", err)
	}
	testkit.Must(t, do(c, Command(new(string), "SET", tag, "1")))
}

// Nodes that give no hosts, in CLUSTER SLOTS and in MOVED, are where the node is that was asked.
func testNodesWithoutNames(t *testing.T, nodes *launch.Cluster) {
	prefer := func(kind string) {
		for _, n := range nodes.Nodes {
			ask(t, n, "CONFIG", "SET", "cluster-preferred-endpoint-type", kind)
		}
	}
	defer prefer("ip")
	for _, kind := range []string{"unknown-endpoint", "hostname"} {
		prefer(kind)
		conns := ofEngines(t, slotOf(nodes), Options{})
		topo, err := Topology(t.Context(), slotOf(nodes))
		testkit.Must(t, err)
		for _, node := range topo {
			if !strings.HasPrefix(node.Addr, "127.0.0.1:") ||
				node.SecondaryOfAddr != "" && !strings.HasPrefix(node.SecondaryOfAddr, "127.0.0.1:") {
				t.Errorf("%s: the node %+v", kind, node)
			}
		}
		home := nodes.Master(Slot(tag))
		for _, to := range []*launch.ClusterNode{otherMasters(nodes, Slot(tag))[0], home} {
			testkit.Must(t, nodes.MoveSlot(Slot(tag), to))
			for _, c := range conns {
				if err := do(c, Command(new(string), "SET", tag, "1")); err != nil {
					t.Errorf("%s: after a move: %v", kind, err)
				}
			}
		}
	}
}

// The master of the slot is killed, or hangs. Calls fail until its replica is elected, and not much longer;
// another slot does not notice. At the end of a round the old master is a replica, which the next round
// elects.
func testMasterIsAway(t *testing.T, nodes *launch.Cluster) {
	cfg := slotOf(nodes)
	slot := cfg.Slot
	cfg.Slot = Slot("bar")
	others := ofEngines(t, cfg, Options{})
	cfg.Slot, cfg.Timeout = slot, time.Second
	conns := ofEngines(t, cfg, Options{Scripts: []*Script{NewScript("return 1")}})
	for _, killed := range []bool{true, false} {
		master := awaitAgreement(t, nodes, slot)
		replica := nodes.Replicas(master)[0]
		for _, c := range conns {
			testkit.Until(t, "calls", func() bool { return do(c, Command(new(string), "SET", tag, "1")) == nil })
		}
		if killed {
			master.Kill()
		} else {
			testkit.Must(t, master.Signal(syscall.SIGSTOP))
		}
		testkit.Until(t, "election", func() bool {
			for i, c := range others {
				if err := do(c, Command(new(int64), "EXISTS", "bar")); err != nil {
					t.Errorf("another slot: %v", err)
				}
				send(conns[i], Command(new(string), "SET", tag, "1"), freed{}) // it may work before this test knows it
			}
			role, err := replica.Ask("INFO", "replication")
			return err == nil && strings.Contains(role, "role:master")
		})
		elected := time.Now()
		for _, c := range conns {
			testkit.Until(t, "calls after the election", func() bool {
				return do(c, Command(new(string), "SET", tag, "2")) == nil
			})
		}
		t.Logf("killed %v: calls work %v after the election", killed, time.Since(elected))
		if killed {
			testkit.Must(t, master.Start(t.Context()))
		} else {
			testkit.Must(t, master.Signal(syscall.SIGCONT))
		}
		testkit.Must(t, nodes.AwaitReady(t.Context(), 3))
	}
}

// freed is the end of a call that no goroutine waits for.
type freed struct{}

func (freed) Complete(x *Call) { x.Free() }

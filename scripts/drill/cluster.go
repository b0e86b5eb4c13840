package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx"
)

// -ack where orders wait for replicas.
const ackReplica, ackDisk = "replica", "disk"

// The Redis Clusters of three servers. Orders go through the proxies only where the network is cut.
var (
	masters  = setup{servers: 3, probes: 4, masters: 3, replicas: 1, ack: ackReplica}
	twoEach  = setup{servers: 3, probes: 4, masters: 3, replicas: 2, ack: ackReplica}
	wired    = setup{servers: 3, probes: 4, masters: 3, replicas: 1, ack: ackReplica, proxied: true}
	onDisk   = setup{servers: 3, probes: 4, masters: 3, replicas: 1, ack: ackDisk}
	single   = setup{servers: 3, probes: 4, masters: 3}
	scarce   = setup{servers: 3, probes: 4, masters: 3, stock: 20}
	skewed   = setup{servers: 3, probes: 4, masters: 3, skews: true}
	takeover = "a replica takes over before an alert is due"
)

// clusterDrills hurt a Redis Cluster.
var clusterDrills = []drill{
	{name: "cluster-master-killed", quiet: takeover,
		says:  "kill -9 of a master at random moments, every other time its data is deleted",
		setup: masters, noticed: must503, run: manyTimes(10, 50, masterKilled)},
	{name: "cluster-master-killed-disk", quiet: takeover, says: "the same with -ack disk, on valkey-server",
		setup: onDisk, noticed: must503, run: manyTimes(5, 20, masterKilled)},
	{name: "cluster-master-empty", alert: "SliceLost",
		says:  "a master comes back empty before its replica is promoted, later with its data",
		setup: masters, noticed: must503, run: manyTimes(1, 3, masterEmpty)},
	{name: "cluster-replica-killed", quiet: "orders go on",
		says:  "kill -9 of a replica, its data is deleted",
		setup: masters, noticed: may503, run: manyTimes(1, 5, replicaKilled)},
	{name: "cluster-sync", quiet: takeover, says: "a master is killed while its replica copies its data",
		setup: masters, noticed: must503, run: manyTimes(1, 3, replicaSyncs)},
	{name: "cluster-lagging", quiet: takeover,
		says:  "of two replicas the one that lags is promoted",
		setup: twoEach, noticed: must503, run: manyTimes(1, 5, replicaLags)},
	{name: "cluster-reshard", quiet: "requests wait",
		says:  "a slot with a slice moves to another master, key by key",
		setup: masters, noticed: may503, run: manyTimes(2, 5, slotMoved)},
	{name: "cluster-cut", alert: "SliceAway", says: "no server reaches one master",
		setup: wired, noticed: must503, run: manyTimes(1, 3, masterCut)},
	{name: "cluster-partition", quiet: takeover,
		says:  "a master is cut off from all nodes and from all servers but one",
		setup: wired, noticed: must503, run: manyTimes(1, 5, masterApart)},
	{name: "cluster-restarted", quiet: "they are back before an alert is due",
		says:  "kill -9 of all masters, started again",
		setup: masters, noticed: must503, run: allRestarted},
	{name: "cluster-half-pause", alert: "SlicesBehind",
		says:  "root pauses the sale while a master takes no writes",
		setup: single, noticed: must503, run: pauseHalfDone},
	{name: "cluster-clocks", alert: "ClockSkew", says: "the clock of a master is 2 s ahead",
		setup: skewed, run: clocksDiffer},
	{name: "mover-killed", quiet: "worker-killed has it",
		says:  "kill -9 of all workers of a server, while orders wait for pieces of other slices",
		setup: scarce, noticed: may503 | mayDrop, run: moversKilled},
}

const (
	promotedMax  = 5 * time.Second // promised: from the promotion of a replica until every server serves again
	promotionMax = time.Minute     // for a promotion that hangs; it takes the node time-out and a second
	inStepMax    = time.Minute     // for a new replica to copy the data of its master
)

// cluster is the Redis Cluster of a stack. Each slice of the sale has a master of its own.
type cluster struct {
	*launch.Cluster
	slots []int   // of the slices
	wires []wires // of each node, where the network can be cut
}

// wires are the only ways to a node: of its clients and replicas, and of the other nodes.
type wires struct{ clients, bus *launch.Proxy }

// startCluster starts the nodes and returns the servers' -redis-cluster.
func (s *stack) startCluster(ctx context.Context, folder string) (seeds string, err error) {
	program, args := "redis-server", []string{"--appendonly", "yes", "--appendfsync", "everysec"}
	if s.valkey || s.setup.ack == ackDisk {
		if program, err = exec.LookPath(cmp.Or(os.Getenv("VALKEY"), "valkey-server")); err != nil {
			return "", fmt.Errorf("%w: %w", errImpossible, err)
		}
	}
	if s.setup.ack != "" {
		args = append(args, "--min-replicas-to-write", "1")
	}
	if s.setup.ack == ackDisk {
		args = append(args, "--appendfsync", "always")
	}
	c := &cluster{}
	s.cluster = c
	c.Cluster, err = launch.StartCluster(ctx, folder, program, s.setup.masters, s.setup.replicas, args...)
	if err != nil {
		return "", err
	}
	sale := redisx.Config{Slices: s.setup.masters}
	sale.Cluster = true
	for i := range sale.Slices {
		one := sale.Slice(i)
		c.slots = append(c.slots, one.Slot)
	}
	switch {
	case s.setup.skews:
		return c.Seeds(), s.giveClock(ctx, c.Nodes[s.setup.masters-1])
	case s.setup.proxied:
		return c.wire(ctx)
	}
	return c.Seeds(), nil
}

// wire leads all ways to the nodes through proxies, and returns the addresses for clients.
func (c *cluster) wire(ctx context.Context) (string, error) {
	// First the addresses from which nodes connect: their connections are made anew when the ports change.
	for i, n := range c.Nodes {
		if _, err := n.Ask("CONFIG", "SET", "bind-source-addr", source(i), "cluster-announce-ip",
			"127.0.0.1"); err != nil {
			return "", err
		}
	}
	var seeds []string
	for _, n := range c.Nodes {
		clients, err := launch.StartProxy("tcp", n.Address)
		if err != nil {
			return "", err
		}
		bus, err := launch.StartProxy("tcp", n.Bus())
		if err != nil {
			return "", err
		}
		c.wires = append(c.wires, wires{clients, bus})
		seeds = append(seeds, clients.Address())
		if _, err := n.Ask("CONFIG", "SET", "cluster-announce-port", portOf(clients),
			"cluster-announce-bus-port", portOf(bus)); err != nil {
			return "", err
		}
	}
	return strings.Join(seeds, ","), testkit.Await(ctx, "nodes that know the ways to each other", inStepMax,
		func() bool {
			for _, n := range c.Nodes {
				known, err := n.Ask("CLUSTER", "NODES")
				for _, w := range c.wires {
					if err != nil || !strings.Contains(known, w.clients.Address()+"@"+portOf(w.bus)) {
						return false
					}
				}
			}
			return true
		})
}

// source is the address from which a node of a wired cluster connects.
func source(node int) string { return fmt.Sprintf("127.0.1.%d", node+1) }

func portOf(p *launch.Proxy) string {
	_, port, _ := net.SplitHostPort(p.Address())
	return port
}

func (c *cluster) stop() {
	if c.Cluster != nil {
		c.Kill()
	}
	for _, w := range c.wires {
		w.clients.Stop()
		w.bus.Stop()
	}
}

// serving is the master of a slot and its replicas, in a cluster that serves.
func (c *cluster) serving(slot int) (master *launch.ClusterNode, replicas []*launch.ClusterNode, err error) {
	if master = c.Master(slot); master == nil {
		return nil, nil, fmt.Errorf("slot %d has no master", slot)
	}
	return master, c.Replicas(master), nil
}

// awaitPromotion waits until a slot has another master, and returns that.
func (c *cluster) awaitPromotion(ctx context.Context, slot int, old *launch.ClusterNode) (
	master *launch.ClusterNode, err error) {
	return master, testkit.Await(ctx, "promotion of a replica", promotionMax, func() bool {
		master = c.Master(slot)
		return master != nil && master != old
	})
}

// awaitInStep waits until every master has its replicas, and they have its data.
func (s *stack) awaitInStep(ctx context.Context) error {
	c := s.cluster
	if err := c.AwaitReady(ctx, s.setup.masters*s.setup.replicas); err != nil {
		return err
	}
	return testkit.Await(ctx, "replicas of every master", inStepMax, func() bool {
		for _, slot := range c.slots {
			master, replicas, err := c.serving(slot)
			if err != nil || len(replicas) < s.setup.replicas {
				return false
			}
			reply, err := master.Ask("WAIT", strconv.Itoa(s.setup.replicas), "100")
			if n, _ := strconv.Atoi(reply); err != nil || n < s.setup.replicas {
				return false
			}
		}
		return true
	})
}

// elsewhere are the probes of users of other slices.
func (s *stack) elsewhere(slot int) (*probes, error) {
	master, _, err := s.cluster.serving(slot)
	if err != nil {
		return nil, err
	}
	others := &probes{}
	for _, one := range s.probes.list {
		const script = "return #redis.call('KEYS', 'o_' .. ARGV[1] .. '[^0-9]*')"
		found, err := master.Ask("EVAL", script, "0", strconv.Itoa(one.shopper.user))
		if err != nil {
			return nil, err
		}
		if found == "0" {
			others.list = append(others.list, one)
		}
	}
	if n := len(others.list); n == 0 || n == len(s.probes.list) {
		return nil, fmt.Errorf("%d of %d probes are elsewhere: they prove nothing", n, len(s.probes.list))
	}
	return others, nil
}

// sparing makes a fault of a slice that no other slice may notice.
func (s *stack) sparing(slot int, makes func() error) error {
	others, err := s.elsewhere(slot)
	if err != nil {
		return err
	}
	before := others.refusals()
	err = makes()
	if refused := others.refusals() - before; refused > 0 {
		s.breaks("%d requests to slices that were not touched were refused", refused)
	}
	return err
}

// partition cuts a node off from all other nodes, and from all servers but one. The result ends that.
func (c *cluster) partition(node *launch.ClusterNode, spared *server) (heal func(), err error) {
	if len(c.wires) == 0 {
		return nil, errors.New("this cluster has no wires to cut")
	}
	others := launch.ClientsBut(spared.workers)
	cut := launch.ClientsAt(source(slices.Index(c.Nodes, node)))
	for i, n := range c.Nodes {
		w := c.wires[i]
		if n == node {
			w.bus.Set(launch.BlackHole)
			w.clients.SetAmong(launch.BlackHole, others)
			continue
		}
		w.bus.SetAmong(launch.BlackHole, cut)
		w.clients.SetAmong(launch.BlackHole, cut)
	}
	return func() {
		for _, w := range c.wires {
			w.clients.Set(launch.Passes)
			w.bus.Set(launch.Passes)
		}
	}, nil
}

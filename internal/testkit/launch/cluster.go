package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/testkit"
)

const (
	clusterSlots   = 16384
	clusterWait    = 30 * time.Second // for a state that the nodes agree on
	migrateTimeout = "5000"           // milliseconds, for the keys of one command
)

// Cluster is a private Redis Cluster on 127.0.0.1. At the start its masters come first in Nodes, with equal
// ranges of slots, then the first replica of each master, then the second ones.
type Cluster struct {
	Nodes []*ClusterNode
}

// ClusterNode is one server of a Cluster. Kill ends it; Start starts it again.
type ClusterNode struct {
	*Redis
	Address string // host:port
	ID      string // its name in the cluster
	folder  string
	bus     int // the port of the cluster's own protocol
}

// StartCluster starts masters, each with some replicas, and returns when all nodes serve and all replicas
// are in step. The program is redis-server or valkey-server; args are added to the command line of each
// node. The data is in the folder, which must have a short path. After an error some nodes may run: Kill
// ends them.
func StartCluster(ctx context.Context, folder, program string, masters, replicas int, args ...string) (
	*Cluster, error) {
	c := &Cluster{}
	count := masters * (1 + replicas)
	port, err := FreePorts(2 * count)
	if err != nil {
		return c, err
	}
	for i := range count {
		n, err := newClusterNode(filepath.Join(folder, strconv.Itoa(i)), program, port+2*i, args)
		if err != nil {
			return c, err
		}
		if err := n.Start(ctx); err != nil {
			return c, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	if err := c.join(masters); err != nil {
		return c, err
	}
	agree := func() bool { return c.all(func(n *ClusterNode) bool { return n.knows(count, 0) }) }
	if err := testkit.Await(ctx, "meeting of the nodes", clusterWait, agree); err != nil {
		return c, err
	}
	for i, n := range c.Nodes[masters:] {
		if err := n.do("CLUSTER", "REPLICATE", c.Nodes[i%masters].ID); err != nil {
			return c, err
		}
	}
	return c, c.AwaitReady(ctx, masters*replicas)
}

func newClusterNode(folder, program string, port int, args []string) (*ClusterNode, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	own := []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port),
		"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(port + 1),
		"--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no",
		"--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0",
		"--repl-ping-replica-period", "1"}
	r := NewRedis(folder, append(own, args...)...)
	r.Program.Path = program
	return &ClusterNode{Redis: r, Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		folder: folder, bus: port + 1}, nil
}

// join gives the slots to the masters and makes the nodes known to each other.
func (c *Cluster) join(masters int) (err error) {
	for i, n := range c.Nodes {
		if n.ID, err = n.Ask("CLUSTER", "MYID"); err != nil {
			return err
		}
		if i < masters {
			first, next := i*clusterSlots/masters, (i+1)*clusterSlots/masters
			err = n.do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(next-1))
		}
		host, port, _ := net.SplitHostPort(n.Address)
		err = errors.Join(err, n.do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)))
		if i > 0 {
			err = errors.Join(err, c.Nodes[0].do("CLUSTER", "MEET", host, port, strconv.Itoa(n.bus)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// AwaitReady waits until all running nodes serve and see this many replicas, and those are in step.
func (c *Cluster) AwaitReady(ctx context.Context, replicas int) error {
	return testkit.Await(ctx, "cluster that serves", clusterWait, func() bool {
		return c.all(func(n *ClusterNode) bool {
			state, err := n.Ask("CLUSTER", "INFO")
			role, roleErr := n.Ask("INFO", "replication")
			return err == nil && roleErr == nil && strings.Contains(state, "cluster_state:ok") &&
				n.knows(0, replicas) &&
				(strings.Contains(role, "role:master") || strings.Contains(role, "master_link_status:up"))
		})
	})
}

// all reports whether something holds for all running nodes.
func (c *Cluster) all(holds func(n *ClusterNode) bool) bool {
	for _, n := range c.Nodes {
		if n.Running() && !holds(n) {
			return false
		}
	}
	return true
}

// Seeds are the addresses of all nodes, with commas between them.
func (c *Cluster) Seeds() string {
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, n.Address)
	}
	return strings.Join(addresses, ",")
}

// Master returns the running node that is the master of a slot, nil if there is none. Of two nodes that take
// themselves for it, the one that was elected later is.
func (c *Cluster) Master(slot int) (master *ClusterNode) {
	newest := -1
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		for _, line := range n.known() {
			if !strings.Contains(line[2], "myself,master") || !holdsSlot(line[8:], slot) {
				continue
			}
			if epoch, _ := strconv.Atoi(line[6]); epoch > newest {
				master, newest = n, epoch
			}
		}
	}
	return master
}

// Replicas are the running nodes that follow a master.
func (c *Cluster) Replicas(master *ClusterNode) (replicas []*ClusterNode) {
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		for _, line := range n.known() {
			if strings.Contains(line[2], "myself,slave") && line[3] == master.ID {
				replicas = append(replicas, n)
			}
		}
	}
	return replicas
}

// holdsSlot looks for a slot in fields like 5, 0-99 and [7->-id], which is a slot that is being moved.
func holdsSlot(fields []string, slot int) bool {
	for _, field := range fields {
		first, last, isRange := strings.Cut(field, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		if err == nil && from <= slot && slot <= to {
			return true
		}
	}
	return false
}

// MoveSlot moves a slot with its keys to another master.
func (c *Cluster) MoveSlot(slot int, to *ClusterNode) error {
	from := c.Master(slot)
	if from == to {
		return nil
	}
	return errors.Join(c.BeginMove(slot, from, to), c.MoveKeys(slot, from, to), c.EndMove(slot, from, to))
}

// BeginMove begins a move: a key that is not at its old master is looked for at the new one.
func (c *Cluster) BeginMove(slot int, from, to *ClusterNode) error {
	return errors.Join(to.do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "IMPORTING", from.ID),
		from.do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", to.ID))
}

// MoveKeys moves the keys of the slot, ten with each command, as redis-cli --cluster reshard does.
func (c *Cluster) MoveKeys(slot int, from, to *ClusterNode) error {
	const script = "return table.concat(redis.call('CLUSTER', 'GETKEYSINSLOT', ARGV[1], 10), ' ')"
	host, port, _ := net.SplitHostPort(to.Address)
	for {
		keys, err := from.Ask("EVAL", script, "0", strconv.Itoa(slot))
		if err != nil || keys == "" {
			return err
		}
		move := append([]string{"MIGRATE", host, port, "", "0", migrateTimeout, "KEYS"}, strings.Fields(keys)...)
		if err := from.do(move...); err != nil {
			return err
		}
	}
}

// EndMove makes the move known, to the new master first.
func (c *Cluster) EndMove(slot int, from, to *ClusterNode) error {
	command := []string{"CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", to.ID}
	return errors.Join(to.do(command...), from.do(command...))
}

// Kill kills all nodes.
func (c *Cluster) Kill() {
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// Rejoin makes a running node that was wiped a new replica of a master. The others forget its former name.
func (c *Cluster) Rejoin(ctx context.Context, n, master *ClusterNode) (err error) {
	for _, other := range c.Nodes {
		if other != n && other.Running() {
			_ = other.do("CLUSTER", "FORGET", n.ID) // a node that has just started may not know the name
		}
	}
	if n.ID, err = n.Ask("CLUSTER", "MYID"); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(master.Address)
	if err := n.do("CLUSTER", "MEET", host, port, strconv.Itoa(master.bus)); err != nil {
		return err
	}
	return testkit.Await(ctx, "new replica of "+master.Address, clusterWait, func() bool {
		return n.do("CLUSTER", "REPLICATE", master.ID) == nil
	})
}

// Wipe deletes the data of a node that does not run, and what it knows of the cluster.
func (n *ClusterNode) Wipe() error {
	if err := os.RemoveAll(n.folder); err != nil {
		return err
	}
	return os.Mkdir(n.folder, 0o700)
}

// Ask sends one command to the node; see AskRedis.
func (n *ClusterNode) Ask(words ...string) (string, error) {
	reply, err := AskRedis(n.Socket, clusterWait, words...)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", n.Address, strings.Join(words, " "), err)
	}
	return reply, nil
}

func (n *ClusterNode) do(words ...string) error {
	_, err := n.Ask(words...)
	return err
}

// Bus is where the other nodes reach it, as host:port.
func (n *ClusterNode) Bus() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.bus)) }

// known are the nodes that it knows, in the fields of CLUSTER NODES.
func (n *ClusterNode) known() (lines [][]string) {
	text, _ := n.Ask("CLUSTER", "NODES") // a node that does not answer knows none
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 8 {
			lines = append(lines, fields)
		}
	}
	return lines
}

// knows reports whether it knows at least this many nodes and replicas.
func (n *ClusterNode) knows(nodes, replicas int) bool {
	for _, line := range n.known() {
		if strings.Contains(line[2], "handshake") {
			return false
		}
		nodes--
		if strings.Contains(line[2], "slave") {
			replicas--
		}
	}
	return nodes <= 0 && replicas <= 0
}

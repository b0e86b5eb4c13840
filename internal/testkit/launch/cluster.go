package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
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
	r.Program.Path, r.Program.Batch = program, true
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
		err = errors.Join(err, n.do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)))
		if i > 0 {
			err = errors.Join(err, c.Nodes[0].meet(n))
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
		self := n.self()
		if self == nil || !strings.Contains(self[2], "master") || !holdsSlot(self[8:], slot) {
			continue
		}
		if epoch, _ := strconv.Atoi(self[6]); epoch > newest {
			master, newest = n, epoch
		}
	}
	return master
}

// Replicas are the running nodes that follow a master.
func (c *Cluster) Replicas(master *ClusterNode) (replicas []*ClusterNode) {
	for _, n := range c.Nodes {
		if self := n.self(); self != nil && self[3] == master.ID {
			replicas = append(replicas, n)
		}
	}
	return replicas
}

// Kill kills all nodes.
func (c *Cluster) Kill() {
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// Replace starts a node that was wiped, as a replica of a master, and makes the others forget the old one.
func (c *Cluster) Replace(ctx context.Context, n, master *ClusterNode) error {
	old := n.ID
	if err := n.Start(ctx); err != nil {
		return err
	}
	var err error
	if n.ID, err = n.Ask("CLUSTER", "MYID"); err != nil {
		return err
	}
	for _, other := range c.Nodes {
		if other.Running() {
			_ = other.do("CLUSTER", "FORGET", old) // some may have done so
		}
	}
	if err := master.meet(n); err != nil {
		return err
	}
	knows := func() bool { return slices.ContainsFunc(n.known(), isNode(master.ID)) }
	if err := testkit.Await(ctx, "meeting of the nodes", clusterWait, knows); err != nil {
		return err
	}
	return n.do("CLUSTER", "REPLICATE", master.ID)
}

// Wipe deletes the data of a node that does not run, and what it knows of the cluster.
func (n *ClusterNode) Wipe() error {
	if err := os.RemoveAll(n.folder); err != nil {
		return err
	}
	return os.Mkdir(n.folder, 0o700)
}

func (n *ClusterNode) meet(other *ClusterNode) error {
	host, port, _ := net.SplitHostPort(other.Address)
	return n.do("CLUSTER", "MEET", host, port, strconv.Itoa(other.bus))
}

// isNode looks for a node that takes part, in the lines of known.
func isNode(id string) func(line []string) bool {
	return func(line []string) bool { return line[0] == id && !strings.Contains(line[2], "handshake") }
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
	text, _ := AskRedis(n.Socket, redisAskMax, "CLUSTER", "NODES") // a node that does not answer knows none
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 8 {
			lines = append(lines, fields)
		}
	}
	return lines
}

// self is what it knows of itself, nil if it does not run.
func (n *ClusterNode) self() []string {
	if !n.Running() {
		return nil
	}
	lines := n.known()
	i := slices.IndexFunc(lines, func(line []string) bool { return strings.Contains(line[2], "myself") })
	if i < 0 {
		return nil
	}
	return lines[i]
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

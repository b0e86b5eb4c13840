package pipeline

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Node is a server of Redis and how it keeps the data.
type Node struct {
	Address  string
	Err      error             // why it cannot be asked; then only the fields up to Failed are set
	Master   string            // the address of its master, if another node has told
	Failed   bool              // the others take it for dead
	Settings map[string]string // of those in nodeSettings that it has
	Info     map[string]string // the fields of INFO
	Clock    time.Duration     // ahead of this machine, at most ClockErr wrong
	ClockErr time.Duration
	Serves   bool // a master that holds data: in a cluster, one with slots
	Moving   bool // a slot is being moved from it or to it
}

// nodeSettings are the settings that decide what a fail-over, a crash or a full memory destroys.
var nodeSettings = append([]string{"min-replicas-to-write", "min-replicas-max-lag", "cluster-node-timeout",
	"cluster-replica-validity-factor", "cluster-allow-replica-migration", "cluster-require-full-coverage",
	"repl-ping-replica-period"}, durabilitySettings...)

// IsMaster reports the role of a node that was asked.
func (n *Node) IsMaster() bool { return n.Info["role"] == "master" }

// Version is its program and version.
func (n *Node) Version() string {
	if version := n.Info["valkey_version"]; version != "" {
		return "valkey " + version
	}
	return "redis " + n.Info["redis_version"]
}

// atLeast compares its version of Redis; Valkey tells the one that it is compatible with, 7.2.
func (n *Node) atLeast(major, minor int) bool {
	var has [2]int
	_, _ = fmt.Sscanf(n.Info["redis_version"], "%d.%d", &has[0], &has[1]) // else 0.0
	return slices.Compare(has[:], []int{major, minor}) >= 0
}

// Replicas are the nodes of a list that follow this one.
func (n *Node) Replicas(all []Node) (list []*Node) {
	for i := range all {
		if r := &all[i]; r.Master == n.Address && r.Address != n.Address {
			list = append(list, r)
		}
	}
	return list
}

// Inspect asks all nodes: those of the cluster, those that the sentinels know, or the plain ones of the
// address with their replicas. It fails if it cannot find the nodes.
func Inspect(ctx context.Context, cfg Config) (nodes []Node, err error) {
	switch {
	case cfg.Cluster:
		nodes, err = nodesOfCluster(ctx, cfg)
	case cfg.Sentinel != "":
		nodes, err = nodesOfSentinels(ctx, cfg)
	default:
		for _, address := range cfg.addresses() {
			nodes = append(nodes, Node{Address: address})
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Address, b.Address) })
	inspect(ctx, cfg, nodes)
	if cfg.Cluster || cfg.Sentinel != "" {
		return nodes, nil
	}
	var replicas []Node
	for i := range nodes {
		for _, address := range replicasIn(nodes[i].Info) {
			replicas = append(replicas, Node{Address: address, Master: nodes[i].Address})
		}
	}
	inspect(ctx, cfg, replicas)
	return append(nodes, replicas...), nil
}

func nodesOfCluster(ctx context.Context, cfg Config) (nodes []Node, err error) {
	var text string
	_, err = askAny(ctx, cfg, cfg.addresses(), func() *Call {
		text = ""
		return Command(&text, "CLUSTER", "NODES")
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the nodes of the cluster at %s: %w", cfg.Address, err)
	}
	list := parseNodes(text)
	addresses := map[string]string{}
	for _, n := range list {
		addresses[n.id] = n.address
	}
	for _, n := range list {
		if !n.is("handshake") && !n.is("noaddr") {
			nodes = append(nodes, Node{Address: n.address, Master: addresses[n.master], Failed: n.is("fail"),
				Serves: n.is("master") && n.slots, Moving: n.moving})
		}
	}
	return nodes, nil
}

func nodesOfSentinels(ctx context.Context, cfg Config) (nodes []Node, err error) {
	master, err := askSentinels(ctx, cfg)
	if err != nil {
		return nil, err
	}
	nodes = []Node{{Address: master, Serves: true}}
	var replicas []map[string]string
	_, err = askAny(ctx, cfg.withoutLogin(), cfg.addresses(), func() *Call {
		return Command(&replicas, "SENTINEL", "REPLICAS", cfg.Sentinel)
	})
	for _, r := range replicas {
		nodes = append(nodes, Node{Address: net.JoinHostPort(r["ip"], r["port"]), Master: master,
			Failed: strings.Contains(r["flags"], "s_down")})
	}
	return nodes, err
}

// replicasIn are the addresses in INFO replication: slave0:ip=127.0.0.1,port=6380,...
func replicasIn(info map[string]string) (addresses []string) {
	for i := 0; info["slave"+strconv.Itoa(i)] != ""; i++ {
		var host, port string
		for pair := range strings.SplitSeq(info["slave"+strconv.Itoa(i)], ",") {
			switch name, value, _ := strings.Cut(pair, "="); name {
			case "ip":
				host = value
			case "port":
				port = value
			}
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	return addresses
}

// inspect asks the nodes at once.
func inspect(ctx context.Context, cfg Config, nodes []Node) {
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() { nodes[i].Err = nodes[i].inspect(ctx, cfg) })
	}
	all.Wait()
}

func (n *Node) inspect(ctx context.Context, cfg Config) error {
	one := cfg.node(n.Address, cfg.Timeout)
	if cfg.Network == "unix" && n.Master == "" { // a replica has told its host and port
		one.Network = cfg.Network
	}
	l, err := dial(ctx, one, 0)
	if err != nil {
		return err
	}
	defer l.Close()
	var info string
	x := Command(&info, "INFO")
	settings := x.settings(nodeSettings...)
	if err := l.Do(x, cfg.Timeout); err != nil {
		return err
	}
	n.Settings, n.Info = settings(), infoOf(info)
	if !cfg.Cluster {
		n.Serves = n.IsMaster()
	}
	return n.measureClock(l, cfg.Timeout)
}

const clockTries = 5 // the one with the shortest round trip counts

func (n *Node) measureClock(l *Link, limit time.Duration) error {
	for i := range clockTries {
		var parts []int64
		begin := time.Now()
		if err := l.Do(Command(&parts, "TIME"), limit); err != nil {
			return err
		}
		took := time.Since(begin)
		if len(parts) == 2 && (i == 0 || took/2 < n.ClockErr) {
			there := time.Unix(parts[0], parts[1]*int64(time.Microsecond))
			n.Clock, n.ClockErr = there.Sub(begin.Add(took/2)), took/2
		}
	}
	return nil
}

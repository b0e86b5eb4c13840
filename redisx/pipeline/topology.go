package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// Which node a connection goes to: the one of the Config's address, the master of its slot in a cluster, or
// the master that sentinels name. A cluster and sentinels are asked anew before each dial.

// askShare is the share of Config.Timeout that one node has to say where a master is. A machine that is
// switched off does not answer at all.
const askShare = 4

var errNotMaster = errors.New("it is not a master")

// Slot returns the hash slot of a key in a cluster: that of its {hash tag}, if it has a tag.
func Slot(key string) int { return int(radix.ClusterSlot([]byte(key))) }

// Topology returns the nodes of a cluster and their slots, as one of its nodes knows them. Masters are
// those without SecondaryOfAddr.
func Topology(ctx context.Context, cfg Config) (radix.ClusterTopo, error) {
	return readTopology(ctx, cfg, cfg.addresses())
}

func readTopology(ctx context.Context, cfg Config, nodes []string) (topo radix.ClusterTopo, err error) {
	asked, err := askAny(ctx, cfg, nodes, func() *Call {
		topo = nil
		return Command(&topo, "CLUSTER", "SLOTS")
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the slots of the cluster at %s: %w", cfg.Address, err)
	}
	host, _, _ := net.SplitHostPort(asked)
	for i := range topo {
		topo[i].Addr = withHost(topo[i].Addr, host)
		topo[i].SecondaryOfAddr = withHost(topo[i].SecondaryOfAddr, host)
	}
	return topo, nil
}

// withHost puts a host in the address of a node whose host is unknown, "" or "?": the node has met no other
// yet, or cluster-preferred-endpoint-type says so.
func withHost(address, host string) string {
	if port, unknown := strings.CutPrefix(strings.TrimPrefix(address, "?"), ":"); unknown {
		return net.JoinHostPort(host, port)
	}
	return address
}

// addresses are those of the seeds or sentinels.
func (cfg Config) addresses() []string { return strings.Split(cfg.Address, ",") }

// moves reports whether the address to dial is not fixed.
func (cfg Config) moves() bool { return cfg.Cluster || cfg.Sentinel != "" }

// node is the Config of one node, which is asked directly.
func (cfg Config) node(address string, limit time.Duration) Config {
	cfg.Network, cfg.Address, cfg.Cluster, cfg.Sentinel = "tcp", address, false, ""
	cfg.Timeout = limit
	return cfg
}

// withoutLogin is the Config for a sentinel: the name and the password are for Redis.
func (cfg Config) withoutLogin() Config {
	cfg.Username, cfg.Password = "", ""
	return cfg
}

// locator finds the node that the connection goes to. One goroutine uses it.
type locator struct {
	nodes []string // of the cluster, by the last answer; they may answer when no seed does any more
	moved string   // the master of the slot by an error reply; "" for none, or when it was dialled already
}

// dial connects to the node that the Config stands for now, within Config.Timeout. fieldsMax is as in
// Options.
func (p *locator) dial(ctx context.Context, cfg Config, fieldsMax int) (*Link, error) {
	if !cfg.moves() {
		return dial(ctx, cfg, fieldsMax)
	}
	deadline := time.Now().Add(cfg.Timeout)
	address, err := p.locate(ctx, cfg)
	if err != nil {
		return nil, err
	}
	l, err := dial(ctx, cfg.node(address, time.Until(deadline)), fieldsMax)
	if err != nil || cfg.Cluster { // a node of a cluster answers MOVED if it is not the master
		return l, err
	}
	if err := checkRole(l, time.Until(deadline)); err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot use Redis at %s: %w", address, err)
	}
	return l, nil
}

// locate finds the address of the master.
func (p *locator) locate(ctx context.Context, cfg Config) (address string, err error) {
	if moved := p.moved; moved != "" {
		p.moved = ""
		return moved, nil
	}
	if !cfg.Cluster {
		return askSentinels(ctx, cfg)
	}
	seeds := cfg.addresses()
	topo, err := readTopology(ctx, cfg, slices.Concat(seeds, p.nodes))
	if err != nil {
		return "", err
	}
	p.nodes = p.nodes[:0]
	for _, node := range topo {
		if !slices.Contains(seeds, node.Addr) {
			p.nodes = append(p.nodes, node.Addr)
		}
		if node.SecondaryOfAddr == "" && holds(node, cfg.Slot) {
			address = node.Addr
		}
	}
	if address == "" {
		return "", fmt.Errorf("cannot find the master of slot %d in the cluster at %s", cfg.Slot, cfg.Address)
	}
	return address, nil
}

func holds(node radix.ClusterNode, slot int) bool {
	return slices.ContainsFunc(node.Slots, func(from [2]uint16) bool {
		return int(from[0]) <= slot && slot < int(from[1])
	})
}

// askSentinels asks for the address of the master that cfg.Sentinel names.
func askSentinels(ctx context.Context, cfg Config) (string, error) {
	var master []string
	_, err := askAny(ctx, cfg.withoutLogin(), cfg.addresses(), func() *Call {
		return Command(&master, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", cfg.Sentinel)
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot ask the sentinels at %s: %w", cfg.Address, err)
	case len(master) != 2:
		return "", fmt.Errorf("the sentinels at %s know no master %q", cfg.Address, cfg.Sentinel)
	}
	return net.JoinHostPort(master[0], master[1]), nil
}

// checkRole fails unless the node is a master: sentinels may name a node that has just become a replica.
func checkRole(l *Link, limit time.Duration) error {
	var role []any
	if err := l.Do(Command(&role, "ROLE"), limit); err != nil {
		return err
	}
	if len(role) == 0 || fmt.Sprintf("%s", role[0]) != "master" {
		return errNotMaster
	}
	return nil
}

// askAny asks the nodes one after another, in random order, and returns the first that answers. A node that
// is cut off from the others may answer too: the next dial asks another one.
func askAny(
	ctx context.Context, cfg Config, nodes []string, call func() *Call,
) (answered string, err error) {
	limit := cfg.Timeout / askShare
	deadline := time.Now().Add(cfg.Timeout)
	for _, i := range rand.Perm(len(nodes)) {
		left := min(limit, time.Until(deadline))
		if left <= 0 {
			break
		}
		var l *Link
		if l, err = dial(ctx, cfg.node(nodes[i], left), 0); err != nil {
			continue
		}
		err = l.Do(call(), left)
		l.Close()
		if err == nil {
			return nodes[i], nil
		}
	}
	return "", err
}

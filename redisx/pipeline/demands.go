package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// What nodes must be set to, so that no change that was answered is missing after the loss of a master.

const lagMax = 10 // seconds, the most for min-replicas-max-lag; the default of Redis

// demand is a setting that -ack needs.
type demand struct {
	name, want string
	met        func(value string) bool
	why        string // what is lost otherwise
	disk       bool   // only for AckDisk
	cluster    bool   // only in a cluster
}

var demands = []demand{
	{name: "min-replicas-to-write", want: "1 or more", met: from(1, 1<<30),
		why: "a master that is cut off goes on selling, and a fail-over takes those orders away"},
	{name: "min-replicas-max-lag", want: "from 1 to 10", met: from(1, lagMax),
		why: "with 0 min-replicas-to-write is off; with more a master that is cut off sells on for long"},
	{name: "appendonly", want: "yes", met: is("yes"),
		why: "a master that is started again before the others have noticed comes back without orders, and its " +
			"replicas follow it"},
	{name: "appendfsync", want: "always", met: is("always"), disk: true,
		why: "each answer would wait for the next sync, a second or more"},
	{name: "maxmemory-policy", want: "noeviction",
		met: func(value string) bool { return !strings.HasPrefix(value, "allkeys-") },
		why: "it throws orders away when its memory is full"},
	{name: "cluster-allow-replica-migration", want: "no", met: is("no"), cluster: true,
		why: "a replica that goes to another master is missing at its own, and can be elected at the other one " +
			"before it has the orders there"},
	{name: "cluster-replica-validity-factor", want: "1 or more", met: from(1, 1<<30), cluster: true,
		why: "a replica that has missed orders for any time can be elected"},
}

func is(want string) func(string) bool { return func(value string) bool { return value == want } }

func from(least, most int) func(string) bool {
	return func(value string) bool {
		n, err := strconv.Atoi(value)
		return err == nil && least <= n && n <= most
	}
}

// Faults are the settings with which a node cannot serve with this Ack.
func (n *Node) Faults(ack Ack, cluster bool) (faults []string) {
	if !ack.waits() || n.Err != nil {
		return nil
	}
	if ack == AckDisk && !n.atLeast(7, 2) {
		faults = append(faults, fmt.Sprintf("%s has no WAITAOF: -ack disk needs Redis 7.2 or Valkey", n.Version()))
	}
	for _, d := range demands {
		if d.disk && ack != AckDisk || d.cluster && !cluster || d.met(n.Settings[d.name]) {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s is %q, -ack %s needs %s: %s", d.name, n.Settings[d.name], ack,
			d.want, d.why))
	}
	return faults
}

// Alone is the trouble of a master that has lost its last replica; "" without trouble. It ends when another
// replica has joined.
func (n *Node) Alone(ack Ack, all []Node) string {
	if !ack.waits() || n.Err != nil || !n.Serves || len(n.Replicas(all)) > 0 {
		return ""
	}
	return fmt.Sprintf("it has no replica: with -ack %s every order gets 503", ack)
}

// CheckAck fails if the nodes cannot keep what the Ack of the Config promises. A node that does not answer
// is not checked: as a replica it makes every order of its master fail.
func CheckAck(ctx context.Context, cfg Config) error {
	if !cfg.Ack.waits() {
		return nil
	}
	nodes, err := Inspect(ctx, cfg)
	if err != nil {
		return err
	}
	for i := range nodes {
		if faults := nodes[i].Faults(cfg.Ack, cfg.Cluster); len(faults) > 0 {
			return fmt.Errorf("-ack %s (ACK): Redis at %s: %s (flashsale check-store shows all nodes)", cfg.Ack,
				nodes[i].Address, strings.Join(faults, "; "))
		}
		if alone := nodes[i].Alone(cfg.Ack, nodes); alone != "" {
			slog.Warn("a master waits for a replica", "redis", nodes[i].Address, "error", alone)
		}
	}
	return nil
}

// Loss describes which answered changes can be lost, and when. durability is that of the nodes.
func (a Ack) Loss(durability string, elects bool) string {
	const empty = "a master started again without its data, before the others notice, empties its replicas"
	switch {
	case a == AckReplica:
		return "-ack replica: all replicas have an order before it is answered, so the loss of a master with " +
			"its disk loses none; lost is what no replica is left for, and " + empty +
			"; if all nodes crash at once: " + durability
	case a == AckDisk:
		return "-ack disk: the disks of the master and of all replicas have an order before it is answered, so " +
			"it is lost only with all of these disks; " + empty
	case elects:
		return durability + "; -ack local: a fail-over loses the orders that the new master does not have"
	}
	return durability
}

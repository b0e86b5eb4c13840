package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"flashsale/internal/config"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// The exit codes of flashsale check-store.
const (
	storeWell = iota
	storeAtRisk
	storeUnreached
)

// checkStore is the command that looks at all nodes of Redis.
func checkStore(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := config.ParseCheckStore(args, p.stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return storeWell
	case err == nil:
		code, err = (&storeCheck{out: p.stdout, redis: cfg.Redis.Config}).run(ctx)
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "flashsale check-store:", err)
		return storeUnreached
	}
	return code
}

// storeCheck is one run of flashsale check-store.
type storeCheck struct {
	out    io.Writer
	redis  pipeline.Config
	nodes  []pipeline.Node
	atRisk bool
}

func (c *storeCheck) run(ctx context.Context) (code int, err error) {
	if c.nodes, err = pipeline.Inspect(ctx, c.redis); err != nil {
		return storeUnreached, err
	}
	reached := false
	for i := range c.nodes {
		c.node(&c.nodes[i])
		reached = reached || c.nodes[i].Err == nil
	}
	if !reached {
		return storeUnreached, errors.New("no node answers")
	}
	c.clocks()
	c.whole()
	if c.atRisk {
		return storeAtRisk, nil
	}
	return storeWell, nil
}

func (c *storeCheck) line(kind, about, format string, values ...any) {
	fmt.Fprintf(c.out, "%-4s  %s: %s\n", kind, about, fmt.Sprintf(format, values...))
}

func (c *storeCheck) well(n *pipeline.Node, format string, values ...any) {
	c.line("ok", n.Address, format, values...)
}

func (c *storeCheck) note(about, format string, values ...any) {
	c.line("note", about, format, values...)
}

func (c *storeCheck) risk(about, format string, values ...any) {
	c.atRisk = true
	c.line("RISK", about, format, values...)
}

// node reports on one node.
func (c *storeCheck) node(n *pipeline.Node) {
	switch {
	case n.Err != nil && n.Master != "":
		c.risk(n.Address, "this replica of %s does not answer: with -ack replica or disk the orders of its "+
			"master get 503 until it is back or removed (%v)", n.Master, n.Err)
		return
	case n.Err != nil:
		c.risk(n.Address, "it does not answer (%v)", n.Err)
		return
	case n.Failed:
		c.risk(n.Address, "the other nodes take it for dead, but it answers here: the network is cut somewhere")
	}
	if n.IsMaster() {
		c.master(n)
	} else {
		c.replica(n)
	}
	c.disk(n)
	for _, fault := range n.Faults(c.redis.Ack, c.redis.Cluster) {
		c.risk(n.Address, "%s", fault)
	}
	if alone := n.Alone(c.redis.Ack, c.nodes); alone != "" {
		c.risk(n.Address, "%s", alone)
	}
	if c.redis.Cluster && n.Settings["cluster-require-full-coverage"] != "no" {
		c.risk(n.Address, "cluster-require-full-coverage is not no: the loss of one master stops the orders "+
			"of all")
	}
	if n.Moving {
		c.risk(n.Address, "a slot is being moved: its users get 503 meanwhile, and its new master has keys that "+
			"its own replicas may not have yet; do not move slots in a sale")
	}
}

func (c *storeCheck) master(n *pipeline.Node) {
	replicas := n.Replicas(c.nodes)
	if !n.Serves {
		c.note(n.Address, "master without slots, %s: it holds nothing of the sale", n.Version())
		return
	}
	c.well(n, "master, %s, replicas: %d", n.Version(), len(replicas))
	switch {
	case len(replicas) == 0:
		c.risk(n.Address, "no replica: its disk is the only one with its orders")
	case len(replicas) == 1:
		c.note(n.Address, "one replica: with -ack replica or disk its orders get 503 while that one is away, and "+
			"after a fail-over until another one has joined")
	}
}

func (c *storeCheck) replica(n *pipeline.Node) {
	switch {
	case n.Info["master_link_status"] != "up":
		c.risk(n.Address, "replica, %s: its link to %s is down: it misses orders", n.Version(), n.Master)
	default:
		c.well(n, "replica of %s, %s, %s bytes behind", n.Master, n.Version(), c.lag(n))
	}
}

// lag is how far a replica was behind its master; both were asked at almost the same moment.
func (c *storeCheck) lag(n *pipeline.Node) string {
	for i := range c.nodes {
		if m := &c.nodes[i]; m.Address == n.Master && m.Err == nil {
			ahead, _ := strconv.ParseInt(m.Info["master_repl_offset"], 10, 64)
			has, _ := strconv.ParseInt(n.Info["slave_repl_offset"], 10, 64)
			return strconv.FormatInt(max(ahead-has, 0), 10)
		}
	}
	return "unknown"
}

// disk reports on the disk of a node.
func (c *storeCheck) disk(n *pipeline.Node) {
	for _, field := range []struct{ name, what string }{
		{"aof_last_write_status", "cannot write its append-only file: it refuses orders"},
		{"aof_last_bgrewrite_status", "cannot rewrite its append-only file, which grows: the disk may be full"},
		{"rdb_last_bgsave_status", "cannot write its snapshot: the disk may be full"},
	} {
		if status := n.Info[field.name]; status != "" && status != "ok" {
			c.risk(n.Address, "%s", field.what)
		}
	}
	if n.Info["loading"] == "1" {
		c.risk(n.Address, "it reads its data from disk and serves nothing yet")
	}
	durability := pipeline.DurabilityOf(n.Settings)
	if durability.Full {
		c.well(n, "%s", durability.Loss)
	} else {
		c.note(n.Address, "%s", durability.Loss)
	}
}

// clocks compares the clocks of the masters.
func (c *storeCheck) clocks() {
	var first, last *pipeline.Node
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.Err != nil || !n.Serves {
			continue
		}
		if first == nil || n.Clock > first.Clock {
			first = n
		}
		if last == nil || n.Clock < last.Clock {
			last = n
		}
	}
	if first == nil || first == last {
		return
	}
	skew := first.Clock - last.Clock
	text := fmt.Sprintf("%s is %v ahead of %s (measured to %v)", first.Address, skew.Round(time.Millisecond/10),
		last.Address, (first.ClockErr + last.ClockErr).Round(time.Millisecond/10))
	switch {
	case skew > redisx.SkewRefused:
		c.risk("clocks", "%s: a schedule is refused, and the slices of a sale open and close so far apart", text)
	case skew > redisx.SkewMax:
		c.risk("clocks", "%s: the slices of a sale open and close so far apart", text)
	default:
		c.line("ok", "clocks", "%s", text)
	}
}

// whole reports on all nodes together.
func (c *storeCheck) whole() {
	programs, masters := map[string]bool{}, 0
	for i := range c.nodes {
		if n := &c.nodes[i]; n.Err == nil {
			programs[n.Version()] = true
			if n.Serves {
				masters++
			}
		}
	}
	if len(programs) > 1 {
		c.note("versions", "%d different ones: a replica of an older version cannot follow a newer master",
			len(programs))
	}
	if c.redis.Cluster && masters < 3 {
		c.risk("masters", "%d: fewer than 3 elect no replica when a master is lost", masters)
	}
	elects := c.redis.Cluster || c.redis.Sentinel != ""
	if !elects {
		return
	}
	c.note("advice", "after the loss of a disk delete nodes.conf together with the data, so that the node "+
		"comes back as a new one; with nodes.conf it comes back as an empty master, and its replicas delete what "+
		"they have")
	c.note("advice", "no process manager may start a node again by itself within the time-out of the others "+
		"(cluster-node-timeout, down-after-milliseconds), unless it has all its data")
	if c.redis.Sentinel != "" {
		c.note("advice", "no SENTINEL FAILOVER in a sale: it loses orders; stop the master instead")
	}
	if c.redis.Ack == pipeline.AckLocal || c.redis.Ack == "" {
		c.risk("what can be lost", "%s", pipeline.AckLocal.Loss("see the lines above", true))
	} else {
		c.note("what can be lost", "%s", c.redis.Ack.Loss("see the lines above", true))
	}
}

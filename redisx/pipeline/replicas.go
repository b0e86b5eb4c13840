package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flashsale/internal/background"
)

// How many replicas must have a change before its answer counts: all that may be elected when the master is
// lost, because the one that lags may be elected. The number must not fall when replicas lose the master,
// else the old side of a partition would soon wait for none. So it is not the number of replicas that are
// connected, but of those that the cluster or the sentinels know. One that has been away for so long that it
// cannot be elected any more does not count, until it is back.

const (
	recount        = time.Second // between two counts
	leastReplicas  = 1           // without a replica nothing survives the loss of the master
	sentinelWindow = 10          // times down-after: a sentinel elects no replica that was away for longer
)

// roster counts the replicas of one master.
type roster struct {
	conn   *Conn
	away   map[string]time.Time // replicas that are away, and since when this roster knows
	window time.Duration        // who is away for longer cannot be elected; 0: anyone can
}

// keep counts again and again, over a connection of its own, until ctx ends.
func (r *roster) keep(ctx context.Context, node Config) {
	for background.Pause(ctx, recount) {
		if err := r.recount(ctx, node); err != nil && ctx.Err() == nil {
			if n := r.conn.complaints.Due(time.Now()); n > 0 {
				slog.Warn("cannot count the replicas of Redis; as many as before must have each change",
					"redis", node.Address, "error", err)
			}
		}
	}
}

func (r *roster) recount(ctx context.Context, node Config) error {
	l, err := dial(ctx, node, 0)
	if err != nil {
		return err
	}
	defer l.Close()
	return r.count(ctx, l, node.Timeout)
}

func (r *roster) count(ctx context.Context, l *Link, limit time.Duration) (err error) {
	var n int
	switch cfg := r.conn.cfg; {
	case cfg.Cluster:
		n, err = r.ofCluster(l, limit)
	case cfg.Sentinel != "":
		n, err = r.ofSentinels(ctx, l, limit)
	default:
		n, err = connected(l, limit)
	}
	if err == nil {
		r.conn.fence.replicas.Store(int32(max(n, leastReplicas)))
	}
	return err
}

// ofCluster counts the replicas that the cluster knows.
func (r *roster) ofCluster(l *Link, limit time.Duration) (n int, err error) {
	var nodes string
	x := Command(&nodes, "CLUSTER", "NODES")
	settings := x.settings("cluster-node-timeout", "cluster-replica-validity-factor",
		"repl-ping-replica-period")
	if err := l.Do(x, limit); err != nil {
		return 0, err
	}
	r.window = validity(settings())
	list := parseNodes(nodes)
	me := slices.IndexFunc(list, func(n clusterNode) bool { return n.is("myself") })
	if me < 0 || !list[me].is("master") {
		return 0, errNotMaster
	}
	for _, node := range list {
		if node.master == list[me].id && r.mayWin(node.id, node.is("fail")) {
			n++
		}
	}
	return n, nil
}

// validity is how long a replica of a cluster may have been without its master and still be elected; 0: for
// ever.
func validity(settings map[string]string) time.Duration {
	number := func(name string) time.Duration {
		n, _ := strconv.Atoi(settings[name])
		return time.Duration(n)
	}
	factor := number("cluster-replica-validity-factor")
	if factor == 0 {
		return 0
	}
	return factor*number("cluster-node-timeout")*time.Millisecond +
		number("repl-ping-replica-period")*time.Second
}

// mayWin reports whether a replica can be elected.
func (r *roster) mayWin(id string, away bool) bool {
	if !away {
		delete(r.away, id)
		return true
	}
	since, known := r.away[id]
	if !known {
		since = time.Now()
		r.away[id] = since
	}
	return r.window == 0 || time.Since(since) <= r.window
}

// clusterNode is a line of CLUSTER NODES.
type clusterNode struct {
	id, address string
	flags       []string
	master      string // its id, "-" for none
	slots       bool   // it holds some
	moving      bool   // some slot is being moved from it or to it
}

func (n *clusterNode) is(flag string) bool { return slices.Contains(n.flags, flag) }

// parseNodes reads the reply to CLUSTER NODES.
func parseNodes(text string) (list []clusterNode) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		address, _, _ := strings.Cut(f[1], "@")
		list = append(list, clusterNode{id: f[0], address: address, flags: strings.Split(f[2], ","), master: f[3],
			slots: len(f) > 8, moving: slices.ContainsFunc(f[8:], func(slot string) bool { return slot[0] == '[' })})
	}
	return list
}

// ofSentinels counts the replicas that some sentinel knows, but no fewer than are connected.
func (r *roster) ofSentinels(ctx context.Context, l *Link, limit time.Duration) (n int, err error) {
	if n, err = connected(l, limit); err != nil {
		return 0, err
	}
	var answered bool
	for _, address := range r.conn.cfg.addresses() {
		known, err := r.ofSentinel(ctx, address, limit/askShare)
		if err == nil {
			answered, n = true, max(n, known)
		}
	}
	if !answered {
		return 0, errors.New("no sentinel answers")
	}
	return n, nil
}

func (r *roster) ofSentinel(ctx context.Context, address string, limit time.Duration) (n int, err error) {
	cfg := r.conn.cfg
	l, err := dial(ctx, cfg.withoutLogin().node(address, limit), 0)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	var replicas []map[string]string
	if err := l.Do(Command(&replicas, "SENTINEL", "REPLICAS", cfg.Sentinel), limit); err != nil {
		return 0, err
	}
	for _, replica := range replicas {
		after, _ := strconv.Atoi(replica["down-after-milliseconds"])
		r.window = sentinelWindow * time.Duration(after) * time.Millisecond
		away := strings.Contains(replica["flags"], "s_down")
		if replica["slave-priority"] != "0" && r.mayWin(address+" "+replica["name"], away) {
			n++
		}
	}
	return n, nil
}

// connected counts the replicas that are connected, but no fewer than min-replicas-to-write demands. Of a
// plain Redis a person makes another one the master, who may only take one that this number covers.
func connected(l *Link, limit time.Duration) (n int, err error) {
	var info string
	x := Command(&info, "INFO", "replication")
	settings := x.settings("min-replicas-to-write")
	if err := l.Do(x, limit); err != nil {
		return 0, err
	}
	least, _ := strconv.Atoi(settings()["min-replicas-to-write"])
	n, _ = strconv.Atoi(infoOf(info)["connected_slaves"])
	return max(n, least), nil
}

// infoOf reads the lines of a reply to INFO.
func infoOf(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields
}

// keepCounting counts the replicas of the node at the other end of a link until stop is called.
func (c *Conn) keepCounting(ctx context.Context, l *Link) (stop func()) {
	node := c.cfg
	if node.moves() {
		node = node.node(l.socket.RemoteAddr().String(), min(node.Timeout, redialMax))
	}
	ctx, cancel := context.WithCancel(ctx)
	var counting sync.WaitGroup
	counting.Go(func() { c.roster.keep(ctx, node) })
	return func() { cancel(); counting.Wait() }
}

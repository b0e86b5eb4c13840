package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"flashsale/internal/background"
)

// drill is a fault or an attack, and what buyers may notice of it. run makes the fault while buyers order
// and returns when the fault has ended: from then on service must resume by itself.
type drill struct {
	name, says string
	alert      string // of scripts/grafana that must fire, and clear after the fault
	quiet      string // why there is no alert
	setup      setup
	noticed    effects
	run        fault
}

// fault makes a drill's fault.
type fault func(context.Context, *stack, *rand.Rand) error

// effects are what buyers may notice of a drill. Where they may notice nothing, no answer may be a 5xx and
// no connection may be lost.
type effects int

const (
	may503  effects = 1 << iota // requests may be answered 503 meanwhile
	must503                     // some must be: otherwise there was no fault, and the drill proves nothing
	mayDrop                     // connections may be lost: the drill kills a process that holds them
	mayHang                     // buyers may wait long: a server, or the load itself, is frozen
)

// may reports whether buyers may notice any of these effects.
func (e effects) may(any effects) bool { return e&any != 0 }

var (
	one      = setup{servers: 1}
	ownStore = setup{servers: 1, own: true}
	network  = setup{servers: 1, proxied: true}
	// A slow disk must not decide about an attack, and a p99 needs many answers of other buyers.
	crowded = setup{servers: 1, probes: 4, everysec: true}
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

const noFault = "nothing is broken"

// drills are all drills, in the order in which they run.
var drills = []drill{
	{name: "worker-killed", alert: "WorkerRestarting", says: "kill -9 of a worker",
		setup: one, noticed: may503 | mayDrop, run: again(3, 10, killWorker)},
	{name: "server-killed", alert: "ServerRestarted",
		says:  "kill -9 of the supervisor, which is started again",
		setup: one, noticed: must503 | mayDrop, run: serverKilled},
	{name: "server-killed-own", alert: "ServerRestarted",
		says:  "the same with the server's own redis-server, which ends with it",
		setup: ownStore, noticed: must503 | mayDrop, run: serverKilled},
	{name: "redis-killed", alert: "RedisReconnecting",
		says:  "kill -9 of Redis at random moments, started again",
		setup: one, noticed: must503, run: again(3, 25, killRedis)},
	{name: "redis-killed-own", alert: "RedisReconnecting",
		says:  "kill -9 of the server's own redis-server, which it starts again",
		setup: ownStore, noticed: must503, run: again(2, 10, killOwnRedis)},
	{name: "redis-frozen", alert: "RedisAway", says: "SIGSTOP of Redis for 5 s",
		setup: one, noticed: must503, run: redisFrozen},
	// More calls must wait in each worker than one pipeline takes.
	{name: "disk-stalls", alert: "RedisStalls",
		says:  "Redis stands still for 0.3 to 1.5 s, again and again, as a slow disk makes it",
		setup: setup{servers: 1, own: true, buyers: 1000}, run: diskStalls},
	{name: "black-hole", alert: "RedisAway", says: "the network accepts and swallows everything",
		setup: network, noticed: must503, run: networkSwallows},
	{name: "reset", alert: "RedisReconnecting",
		says:  "connections to Redis are reset in the middle of a pipeline",
		setup: network, noticed: may503, run: connectionsReset},
	{name: "slow-redis", alert: "RedisSlow", says: "each reply of Redis comes 50 ms later",
		setup: network, noticed: may503, run: redisSlow},
	{name: "maxmemory", alert: "RedisAway", says: "Redis reaches maxmemory (noeviction)",
		setup: one, noticed: must503, run: memoryFull},
	{name: "disk-full-misconf", alert: "RedisAway",
		says:  "the disk of Redis is full: with appendfsync everysec it answers MISCONF",
		setup: setup{servers: 1, everysec: true, disk: true}, noticed: must503, run: diskFull},
	{name: "disk-full-always", alert: "RedisAway",
		says:  "the disk of Redis is full: with appendfsync always it ends, again and again",
		setup: setup{servers: 1, disk: true}, noticed: must503, run: diskFull},
	{name: "disk-full-own", alert: "RedisAway",
		says:  "the same with the server's own redis-server, which it starts again",
		setup: setup{servers: 1, own: true, disk: true}, noticed: must503, run: diskFull},
	{name: "tail-cut", alert: "RedisReconnecting",
		says: "the last bytes of the append-only file are lost, redis-check-aof repairs it; later one " +
			"more restart",
		setup: one, noticed: must503, run: tailCut},
	{name: "tail-cut-own", alert: "ServerRestarted",
		says:  "the same with the server's own redis-server, without anybody's help",
		setup: ownStore, noticed: must503 | mayDrop, run: tailCut},
	{name: "emptied", alert: "RedisAway", says: "Redis comes back empty, later with its data",
		setup: one, noticed: must503, run: redisEmptied},
	{name: "script-flush", quiet: "the server loads the scripts again at once",
		says: "SCRIPT FLUSH in mid-load", setup: one, noticed: may503, run: scriptsFlushed},
	{name: "frozen-server", alert: "ServerAway",
		says:  "three servers of one sale, one is frozen and goes on",
		setup: setup{servers: 3}, noticed: may503 | mayDrop | mayHang, run: serverFrozen},
	{name: "clock-jump", alert: "ClockWrong", says: "the servers' clock jumps hours ahead and back",
		setup: setup{servers: 1, clock: true}, noticed: may503, run: clockJumps},
	{name: "states", quiet: noFault,
		says:  "root pauses, closes, schedules, opens and restocks the sale while buyers order",
		setup: one, run: statesChange},
	{name: "released-beside", quiet: noFault,
		says:  "the last released version serves beside this one, while root changes the sale",
		setup: setup{servers: 2, released: true}, run: statesChange},
	{name: "alerts", quiet: "each of its faults has one of its own",
		says:  "whatever no other drill has an alert for: rooms that fail, a crowd, buyers who stay away",
		setup: setup{servers: 1, asides: true}, noticed: mayDrop | mayHang, run: alertsFire},
	{name: "one-cart", quiet: noFault, says: "256 connections change one cart as fast as they can",
		setup: crowded, run: oneCart.run},
	{name: "bombs", quiet: noFault,
		says:  "400 logins at once with bodies that could take long to read, again and again",
		setup: crowded, run: bombs.run},
	{name: "invented-names", quiet: noFault, says: "256 connections log in with invented names",
		setup: crowded, run: inventedNames.run},
	{name: "viewers-and-buyers", quiet: noFault, says: "500 pages watch the sale while buyers order",
		setup: crowded, run: viewersAndBuyers},
	{name: "pipelining", quiet: noFault,
		says:  "20 and 100 connections send 2000 requests each before they read, again and again",
		setup: crowded, run: pipelining},
	{name: "pipelining-tls", quiet: noFault, says: "the same with TLS",
		setup: setup{servers: 1, probes: 4, everysec: true, tls: true}, run: pipelining},
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
	{name: "chat-push-killed", quiet: "worker-killed has it",
		says:  "kill -9 of the process with the websockets, while people talk",
		setup: setup{servers: 2, talk: coming}, noticed: may503, run: again(3, 10, killPush)},
	{name: "chat-push-frozen", alert: "PushLags",
		says:  "SIGSTOP of the process with the websockets for 3 s, while people talk",
		setup: setup{servers: 2, talk: pairs}, noticed: may503, run: pushPauses},
	{name: "chat-redis-killed", quiet: "redis-killed has it", says: "kill -9 of Redis, while people talk",
		setup: setup{servers: 2, talk: pairs}, noticed: must503, run: again(3, 10, killRedis)},
	{name: "chat-redis-frozen", quiet: "redis-frozen has it",
		says:  "SIGSTOP of Redis for 2 s, while people talk",
		setup: setup{servers: 1, talk: pairs}, noticed: may503, run: again(1, 5, redisPauses)},
	{name: "chat-server-frozen", quiet: "frozen-server has it",
		says:  "three servers, one is frozen and goes on, while people talk",
		setup: setup{servers: 3, talk: pairs}, noticed: may503 | mayDrop | mayHang, run: serverFrozen},
	{name: "chat-keeper-killed", quiet: "server-killed has it",
		says:  "kill -9 of a supervisor, which keeps the lists of threads; another server goes on",
		setup: setup{servers: 2, talk: pairs}, noticed: may503 | mayDrop, run: again(3, 10, serverKilled)},
	{name: "chat-members", quiet: noFault, says: "members and devices come and go, while people talk",
		setup: setup{servers: 2, talk: coming}, run: peopleTalk},
}

// healthy reports whether a drill breaks nothing: it only makes requests.
func (d *drill) healthy() bool { return d.quiet == noFault }

// times and lasting tell how often and how long, in the short and in the long form.
func (s *stack) times(short, long int) int {
	if s.long {
		return long
	}
	return short
}

func (s *stack) lasting(short, long time.Duration) time.Duration {
	if s.long {
		return long
	}
	return short
}

// alone reports whether a drill is in no pair: it needs a stack that other drills do not work on.
func (d *drill) alone() bool { return d.setup != d.setup.merge(setup{}) }

// goesWith reports whether two faults can be made at once, on one stack.
func (d *drill) goesWith(other drill) bool {
	return !d.alone() && !other.alone() && d.name != other.name
}

// pair makes two faults at once: the second begins while the first goes on, or soon after.
func pair(a, b drill) drill {
	return drill{
		name: a.name + "+" + b.name, quiet: "one fault may hide the other",
		says: a.says + "; meanwhile: " + b.says, setup: a.setup.merge(b.setup),
		noticed: a.noticed | b.noticed | may503,
		run: func(ctx context.Context, s *stack, dice *rand.Rand) error {
			s.paired = true
			first, second := rand.New(rand.NewPCG(dice.Uint64(), 1)), rand.New(rand.NewPCG(dice.Uint64(), 2))
			later := moment(dice, 2*time.Second)
			ended := make(chan error, 1)
			go func() { ended <- a.run(ctx, s, first) }()
			background.Pause(ctx, later)
			err := b.run(ctx, s, second)
			return errors.Join(err, <-ended)
		},
	}
}

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"flashsale/internal/background"
)

// drill is a fault or an attack, and its permitted effects on the sale. run makes the fault while buyers
// order and returns when the fault has ended: from then on service must resume by itself.
type drill struct {
	name, says string
	alert      string // of scripts/grafana that must fire, and clear after the fault
	quiet      string // why there is no alert
	setup      setup
	refuses    bool // requests get 503 or no answer meanwhile; a drill without a refusal proves nothing
	drops      bool // connections may be lost: the drill kills a process that holds them
	freezes    bool // a frozen server cannot answer
	// never in a pair: it measures, or needs a less durable Redis or the server's own
	alone   bool
	healthy bool // only requests, no fault: no answer may be a 5xx
	// its fault ends before the server may give up on Redis: again no answer may be a 5xx
	bearable bool
	run      fault
}

// fault makes a drill's fault.
type fault func(context.Context, *stack, *rand.Rand) error

var (
	one      = setup{servers: 1}
	ownStore = setup{servers: 1, own: true}
	network  = setup{servers: 1, proxied: true}
	// More calls must wait in each worker than one pipeline takes.
	busyStore = setup{servers: 1, own: true, buyers: 1000}
	// A slow disk must not decide about an attack, and a p99 needs many answers of other buyers.
	crowded    = setup{servers: 1, probes: 4, everysec: true}
	crowdedTLS = setup{servers: 1, probes: 4, everysec: true, tls: true}
	racing     = setup{servers: 1, everysec: true, patient: true} // times do not matter
)

const noFault = "nothing is broken"

// drills are all drills, in the order in which they run.
var drills = []drill{
	{name: "worker-killed", alert: "WorkerRestarting",
		says: "kill -9 of a worker", setup: one, drops: true, run: workerKilled},
	{name: "server-killed", alert: "ServerRestarted",
		says: "kill -9 of the supervisor, which is started again", setup: one, drops: true, refuses: true,
		run: serverKilled},
	{name: "server-killed-own", alert: "ServerRestarted",
		says: "the same with the server's own redis-server, which ends with it", setup: ownStore,
		drops: true, refuses: true, alone: true, run: serverKilled},
	{name: "redis-killed", alert: "RedisReconnecting",
		says: "kill -9 of Redis at random moments, started again", setup: one, refuses: true,
		run: redisKilled},
	{name: "redis-killed-own", alert: "RedisReconnecting",
		says: "kill -9 of the server's own redis-server, which it starts again", setup: ownStore,
		refuses: true, alone: true, run: ownRedisKilled},
	{name: "redis-frozen", alert: "RedisAway",
		says: "SIGSTOP of Redis for 5 s", setup: one, refuses: true, run: redisFrozen},
	{name: "rooms", alert: "RedisAway",
		says: "Redis is frozen, then killed, then the server, while rate limits, blocklist, repeated messages " +
			"and the bot are asked",
		setup: setup{servers: 1, rooms: true}, drops: true, refuses: true, alone: true, run: roomsWithoutRedis},
	{name: "disk-stalls", alert: "RedisStalls",
		says:  "Redis stands still for 0.3 to 1.5 s, again and again, as a slow disk makes it",
		setup: busyStore, bearable: true, alone: true, run: diskStalls},
	{name: "black-hole", alert: "RedisAway",
		says: "the network accepts and swallows everything", setup: network, refuses: true,
		run: networkSwallows},
	{name: "reset", alert: "RedisReconnecting",
		says: "connections to Redis are reset in the middle of a pipeline", setup: network,
		run: connectionsReset},
	{name: "slow-redis", alert: "RedisSlow",
		says: "each reply of Redis comes 50 ms later", setup: network, run: redisSlow},
	{name: "maxmemory", alert: "RedisAway",
		says: "Redis reaches maxmemory (noeviction)", setup: one, refuses: true, run: memoryFull},
	{name: "disk-full-misconf", alert: "RedisAway",
		says:  "the disk of Redis is full: with appendfsync everysec it answers MISCONF",
		setup: setup{servers: 1, everysec: true, disk: true}, refuses: true, alone: true, run: diskFull},
	{name: "disk-full-always", alert: "RedisAway",
		says:  "the disk of Redis is full: with appendfsync always it ends, again and again",
		setup: setup{servers: 1, disk: true}, refuses: true, run: diskFull},
	{name: "disk-full-own", alert: "RedisAway",
		says:  "the same with the server's own redis-server, which it starts again",
		setup: setup{servers: 1, own: true, disk: true}, refuses: true, alone: true, run: diskFull},
	{name: "tail-cut", alert: "RedisReconnecting",
		says: "the last bytes of the append-only file are lost, redis-check-aof repairs it; later one " +
			"more restart", setup: one, refuses: true, run: tailCut},
	{name: "tail-cut-own", alert: "ServerRestarted",
		says: "the same with the server's own redis-server, without anybody's help", setup: ownStore,
		refuses: true, drops: true, alone: true, run: tailCut},
	{name: "emptied", alert: "RedisAway",
		says: "Redis comes back empty, later with its data", setup: one, refuses: true, run: redisEmptied},
	{name: "script-flush", quiet: "the server loads the scripts again at once",
		says: "SCRIPT FLUSH in mid-load", setup: one, run: scriptsFlushed},
	{name: "frozen-server", alert: "ServerAway",
		says: "three servers of one sale, one is frozen and goes on", setup: setup{servers: 3},
		drops: true, freezes: true, run: serverFrozen},
	{name: "clock-jump", alert: "ClockWrong",
		says: "the servers' clock jumps hours ahead and back", setup: setup{servers: 1, clock: true},
		run: clockJumps},
	{name: "states", quiet: noFault,
		says:  "root pauses, closes, schedules, opens and restocks the sale while buyers order",
		setup: one, healthy: true, run: statesChange},
	{name: "released-beside", quiet: noFault,
		says:  "the last released version serves beside this one, while root changes the sale",
		setup: setup{servers: 2, released: true}, healthy: true, alone: true, run: statesChange},
	{name: "cart-races", quiet: noFault,
		says: "carts are changed and ordered at the same moment on two connections", setup: racing,
		healthy: true, alone: true, run: cartRaces},
	{name: "one-cart", quiet: noFault,
		says: "256 connections change one cart as fast as they can", setup: crowded, healthy: true,
		alone: true, run: oneCart},
	{name: "bombs", quiet: noFault,
		says:  "400 logins at once with bodies that could take long to read, again and again",
		setup: crowded, healthy: true, alone: true, run: bombs},
	{name: "alerts", quiet: "each of its faults has one of its own",
		says:  "whatever no other drill has an alert for: rooms that fail, a crowd, buyers who stay away",
		setup: one, drops: true, freezes: true, bearable: true, alone: true, run: alertsFire},
	{name: "viewers-and-buyers", quiet: noFault, says: "500 pages watch the sale while buyers order",
		setup: crowded, healthy: true, alone: true, run: viewersAndBuyers},
	{name: "pipelining", quiet: noFault,
		says: "20 and 100 connections send 2000 requests each before they read, again and again", setup: crowded,
		healthy: true, alone: true, run: pipelining},
	{name: "pipelining-tls", quiet: noFault, says: "the same with TLS", setup: crowdedTLS,
		healthy: true, alone: true, run: pipelining},
	{name: "invented-names", quiet: noFault,
		says:  "256 connections log in with invented names, while a real one is guessed",
		setup: crowded, healthy: true, alone: true, run: inventedNames},
	{name: "lockout", quiet: noFault,
		says:  "40 addresses guess the passwords of root and of a buyer, who log in meanwhile",
		setup: setup{servers: 1, everysec: true, flags: "-admin-from " + adminAddress}, healthy: true, alone: true,
		run: lockout},
}

// How often and how long, in the short and in the long form.
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

// goesWith reports whether two faults can be made at once, on one stack.
func (d drill) goesWith(other drill) bool { return !d.alone && !other.alone && d.name != other.name }

// pair makes two faults at once: the second begins while the first goes on, or soon after.
func pair(a, b drill) drill {
	return drill{
		name: a.name + "+" + b.name, quiet: "one fault may hide the other",
		says: a.says + "; meanwhile: " + b.says, setup: a.setup.merge(b.setup),
		refuses: a.refuses || b.refuses, drops: a.drops || b.drops, freezes: a.freezes || b.freezes, alone: true,
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

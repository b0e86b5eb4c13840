package main

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
)

// processDrills kill and freeze processes, Redis among them, and let clocks jump.
var processDrills = []drill{
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
	{name: "frozen-server", alert: "ServerAway",
		says:  "three servers of one sale, one is frozen and goes on",
		setup: setup{servers: 3}, noticed: may503 | mayDrop | mayHang, run: serverFrozen},
	{name: "clock-jump", alert: "ClockWrong", says: "the servers' clock jumps hours ahead and back",
		setup: setup{servers: 1, clock: true}, noticed: may503, run: clockJumps},
}

// stand lets a fault last, in the long form for 10 s, and at least until its alert has fired.
func (s *stack) stand(ctx context.Context, short time.Duration) {
	background.Pause(ctx, s.lasting(short, 10*time.Second))
	s.awaitAlert(ctx)
}

// again makes a fault a number of times, and awaits service after each.
func again(short, long int, makes fault) fault {
	return func(ctx context.Context, s *stack, dice *rand.Rand) error {
		for range s.times(short, long) {
			if err := makes(ctx, s, dice); err != nil {
				return err
			}
			if err := s.awaitService(ctx); err != nil {
				return err
			}
			background.Pause(ctx, moment(dice, time.Second))
		}
		return nil
	}
}

func killWorker(ctx context.Context, s *stack, dice *rand.Rand) error {
	var workers []int
	err := testkit.Await(ctx, "worker to kill", startMax, func() bool {
		workers = s.servers[0].workers()
		return len(workers) > 0
	})
	if err == nil {
		_ = syscall.Kill(workers[dice.IntN(len(workers))], syscall.SIGKILL) // the only error: it has ended
	}
	return err
}

func serverKilled(ctx context.Context, s *stack, dice *rand.Rand) error {
	return s.servers[0].killAndStart(ctx, dice)
}

func (s *server) killAndStart(ctx context.Context, dice *rand.Rand) error {
	s.kill()
	background.Pause(ctx, restartDelay+moment(dice, 300*time.Millisecond))
	return s.start()
}

func killRedis(ctx context.Context, s *stack, dice *rand.Rand) error {
	s.redis.held.Lock()
	defer s.redis.held.Unlock()
	if err := s.redis.kill(); err != nil {
		return err
	}
	background.Pause(ctx, moment(dice, 300*time.Millisecond))
	return s.redis.start(ctx)
}

// killOwnRedis kills the server's own Redis. The server starts it again later after each kill, unless it has
// run for 10 s.
func killOwnRedis(ctx context.Context, s *stack, _ *rand.Rand) error {
	background.Pause(ctx, s.lasting(0, 10*time.Second))
	if err := s.redis.kill(); err != nil {
		return err
	}
	return s.awaitRefusals(ctx)
}

func redisFrozen(ctx context.Context, s *stack, _ *rand.Rand) error {
	return s.redis.freeze(ctx, 5*time.Second)
}

func serverFrozen(ctx context.Context, s *stack, dice *rand.Rand) error {
	which := dice.IntN(len(s.servers) - 1) // the last one lists the foods for the drill
	resume := s.probes.list[which].spare()
	thaw := s.servers[which].freeze()
	s.stand(ctx, 2*time.Second)
	thaw()
	resume()
	return nil
}

func clockJumps(ctx context.Context, s *stack, dice *rand.Rand) error {
	before := s.probes.expiries()
	const lifetime = 24 * time.Hour // of a token, -token-ttl
	if err := s.clock.Jump(lifetime + time.Hour); err != nil {
		return err
	}
	if err := testkit.Await(ctx, "token that expired: the clock did not jump", refusalMax, func() bool {
		return s.probes.expiries() > before
	}); err != nil {
		return err
	}
	s.awaitAlert(ctx)
	jumps := []time.Duration{-lifetime, time.Second, -time.Second}
	for range s.times(4, 40) {
		jumps = append(jumps, moment(dice, 4*time.Hour)-2*time.Hour)
	}
	for _, jump := range append(jumps, 0) {
		if err := s.clock.Jump(jump); err != nil {
			return err
		}
		background.Pause(ctx, 200*time.Millisecond+moment(dice, 300*time.Millisecond))
	}
	return nil
}

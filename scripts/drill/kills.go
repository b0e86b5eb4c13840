package main

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
)

// Faults of processes: killed, frozen, with a clock that jumps.

func workerKilled(ctx context.Context, s *stack, dice *rand.Rand) error {
	for range s.times(3, 10) {
		var workers []int
		err := testkit.Await(ctx, "worker to kill", startMax, func() bool {
			workers = s.servers[0].workers()
			return len(workers) > 0
		})
		if err != nil {
			return err
		}
		_ = syscall.Kill(workers[dice.IntN(len(workers))], syscall.SIGKILL) // the only error: it has ended
		if err := s.awaitService(ctx); err != nil {
			return err
		}
		background.Pause(ctx, moment(dice, time.Second))
	}
	return nil
}

func serverKilled(ctx context.Context, s *stack, dice *rand.Rand) error {
	s.servers[0].kill()
	background.Pause(ctx, restartDelay+moment(dice, 300*time.Millisecond))
	return s.servers[0].start()
}

func redisKilled(ctx context.Context, s *stack, dice *rand.Rand) error {
	kills := s.times(3, 25)
	for range kills {
		if err := s.killRedisOnce(ctx, dice); err != nil {
			return err
		}
		if err := s.awaitService(ctx); err != nil {
			return err
		}
		background.Pause(ctx, moment(dice, time.Second))
	}
	s.note("%d kills of redis-server", kills)
	return nil
}

func (s *stack) killRedisOnce(ctx context.Context, dice *rand.Rand) error {
	s.redis.held.Lock()
	defer s.redis.held.Unlock()
	if err := s.redis.kill(); err != nil {
		return err
	}
	background.Pause(ctx, moment(dice, 300*time.Millisecond))
	return s.redis.start(ctx)
}

// The server starts its Redis again later after each kill, unless Redis has run for 10 s.
func ownRedisKilled(ctx context.Context, s *stack, dice *rand.Rand) error {
	kills, calm := s.times(2, 10), s.lasting(0, 10*time.Second)
	for range kills {
		if err := s.redis.kill(); err != nil {
			return err
		}
		if err := s.awaitRefusals(ctx); err != nil {
			return err
		}
		if err := s.awaitService(ctx); err != nil {
			return err
		}
		background.Pause(ctx, calm+moment(dice, time.Second))
	}
	s.note("%d kills of redis-server", kills)
	return nil
}

func redisFrozen(ctx context.Context, s *stack, _ *rand.Rand) error {
	return s.redis.freeze(ctx, 5*time.Second)
}

func serverFrozen(ctx context.Context, s *stack, dice *rand.Rand) error {
	which := dice.IntN(len(s.servers) - 1) // the last one lists the foods for the drill
	resume := s.probes.list[which].spare()
	thaw := s.servers[which].freeze()
	background.Pause(ctx, s.lasting(2*time.Second, 10*time.Second)+moment(dice, time.Second))
	s.awaitAlert(ctx)
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

package main

import (
	"context"
	"math/rand/v2"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// Faults of the way to Redis.

func networkSwallows(ctx context.Context, s *stack, dice *rand.Rand) error {
	s.proxy.Set(launch.BlackHole)
	background.Pause(ctx, s.lasting(redisTimeout+time.Second, 10*time.Second)+moment(dice, time.Second))
	s.awaitAlert(ctx)
	s.proxy.Set(launch.Passes)
	return nil
}

func connectionsReset(ctx context.Context, s *stack, dice *rand.Rand) error {
	for range s.times(10, 40) {
		s.proxy.BreakNext(launch.Cut{Replies: dice.IntN(2) == 0, Share: dice.Float64()})
		if err := testkit.Await(ctx, "traffic to be cut", refusalMax, s.proxy.Broken); err != nil {
			return err
		}
		background.Pause(ctx, moment(dice, 200*time.Millisecond))
	}
	return nil
}

func redisSlow(ctx context.Context, s *stack, _ *rand.Rand) error {
	s.proxy.Set(launch.Slow)
	background.Pause(ctx, s.lasting(2*time.Second, 10*time.Second))
	s.awaitAlert(ctx)
	s.proxy.Set(launch.Passes)
	return nil
}

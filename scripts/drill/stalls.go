package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"flashsale/internal/background"
)

// A server must survive a Redis that stands still for this time, with this pause to catch up.
const (
	stallMin, stallMax = 300 * time.Millisecond, 1500 * time.Millisecond
	stallPause         = time.Second
	stallsLong         = 20 // in each turn of the long form
)

// diskStalls stops Redis for a moment, again and again. From outside that is a slow write to disk: Redis
// reads no command meanwhile, and answers afterwards.
func diskStalls(ctx context.Context, s *stack, dice *rand.Rand) error {
	stalls := stallLengths(s.long, dice)
	for _, lasting := range stalls {
		if err := s.redis.freeze(ctx, lasting); err != nil {
			return err
		}
		// Service did not end, so its return is not judged; the waiting calls come first.
		if _, err := s.probes.resumption(ctx); err != nil {
			return err
		}
		background.Pause(ctx, stallPause)
	}
	if waited := s.probes.longest(); waited < stallMax/2 { // a probe may pause when Redis stops
		return fmt.Errorf("no answer took longer than %v: Redis did not stand still, the drill proves nothing",
			waited)
	}
	s.note("%d stalls of Redis, up to %v", len(stalls), stallMax)
	return nil
}

// stallLengths are the shortest, a middle and the longest stall; the long form adds random lengths.
func stallLengths(long bool, dice *rand.Rand) []time.Duration {
	lengths := []time.Duration{stallMin, (stallMin + stallMax) / 2, stallMax}
	for long && len(lengths) < stallsLong {
		lengths = append(lengths, stallMin+moment(dice, stallMax-stallMin))
	}
	return lengths
}

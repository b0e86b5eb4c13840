package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

const (
	looksMax     = 10 // a second, of each worker
	lookCommands = 6  // of Redis for each look
	// commandNoise is by how much more commands of a kind the load may send from one second to the next.
	commandNoise = 1.25
	// loadCommand is sent for each piece that is put into a cart, and never for /readyz: it shows the pace of
	// the load.
	loadCommand = "append"
)

// readyzFlood asks /readyz as fast as 256 connections can, then as often /healthz, which needs no Redis.
func readyzFlood(ctx context.Context, s *stack, _ *rand.Rand) error {
	anybody := newShopper(s.servers[0].address, 0) // without a token
	crowd := crowdOf(slices.Repeat([]*shopper{anybody}, crowdSize))
	asks := func(path string) flood {
		next := func(int, int) call { return call{method: "GET", path: path} }
		return flood{crowd: crowd, right: []answer{"200"}, next: next}
	}
	calm, err := s.commandRates(ctx, func() { pause(ctx, s.lasting(calmShort, calmLong)) })
	if err != nil {
		return err
	}
	return s.contrast(func() (attack *tide, err error) {
		flooded, err := s.commandRates(ctx, func() {
			attack = s.run(ctx, asks("/readyz"), s.lasting(2*time.Second, 10*time.Second), 0)
		})
		if err != nil {
			return nil, err
		}
		extra := extraCommands(calm, flooded)
		most := float64(looksMax * lookCommands * s.setup.workers() * s.setup.servers)
		s.note("the flood made Redis carry out %.0f commands a second more, the bound is %.0f", extra, most)
		if extra > most {
			s.breaks("the flood made Redis carry out %.0f commands a second more, the bound is %.0f", extra, most)
		}
		return attack, nil
	}, func(rate float64) *tide {
		return s.run(ctx, asks("/healthz"), s.lasting(calmShort, 10*time.Second), rate)
	})
}

// extraCommands is the number of commands a second that the load alone does not explain.
// Each kind counts by itself, so that what the load seldom sends shows clearly.
func extraCommands(calm, flooded map[string]float64) (extra float64) {
	pace := 1.0
	if calm[loadCommand] > 0 {
		pace = max(pace, flooded[loadCommand]/calm[loadCommand])
	}
	for name, rate := range flooded {
		extra += max(0, rate-commandNoise*pace*calm[name])
	}
	return extra
}

// commandRates counts the commands of each kind that Redis carries out per second while do runs.
func (s *stack) commandRates(ctx context.Context, do func()) (map[string]float64, error) {
	before, err := s.commandCounts(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	do()
	took := time.Since(began).Seconds()
	after, err := s.commandCounts(ctx)
	rates := map[string]float64{}
	for name, count := range after {
		rates[name] = float64(count-before[name]) / took
	}
	return rates, err
}

func (s *stack) commandCounts(ctx context.Context) (map[string]int64, error) {
	info, err := s.redis.ask(ctx, "INFO", "commandstats")
	if err != nil {
		return nil, err
	}
	return parseCommandCounts(info)
}

// parseCommandCounts reads INFO commandstats: lines such as cmdstat_get:calls=12,usec=...
func parseCommandCounts(info string) (map[string]int64, error) {
	counts := map[string]int64{}
	for line := range strings.Lines(info) {
		name, figures, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if !found {
			continue // the heading
		}
		var calls int64
		if _, err := fmt.Sscanf(figures, "calls=%d,", &calls); err != nil {
			return nil, fmt.Errorf("cannot read the commands of Redis: %q: %w", line, err)
		}
		counts[name] = calls
	}
	return counts, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// dataDrills hurt the data of Redis, the way to it, and its disk.
var dataDrills = []drill{
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
}

func memoryFull(ctx context.Context, s *stack, _ *rand.Rand) error {
	if _, err := s.redis.ask(ctx, "CONFIG", "SET", "maxmemory-policy", "noeviction",
		"maxmemory", "1"); err != nil {
		return err
	}
	if err := s.awaitRefusals(ctx); err != nil {
		return err
	}
	s.stand(ctx, 2*time.Second)
	_, err := s.redis.ask(ctx, "CONFIG", "SET", "maxmemory", "0")
	return err
}

func diskFull(ctx context.Context, s *stack, _ *rand.Rand) error {
	if err := s.disk.fill(); err != nil {
		return err
	}
	if err := s.awaitRefusals(ctx); err != nil {
		return err
	}
	s.stand(ctx, 4*time.Second) // enough for a few restarts of a Redis that ends
	return s.disk.free()
}

func redisEmptied(ctx context.Context, s *stack, dice *rand.Rand) error {
	s.redis.held.Lock()
	defer s.redis.held.Unlock()
	data := filepath.Join(s.redis.folder, "appendonlydir")
	if err := s.restartWith(ctx, func() error { return os.Rename(data, data+".away") }); err != nil {
		return err
	}
	if err := s.awaitRefusals(ctx); err != nil {
		return err
	}
	s.stand(ctx, time.Second+moment(dice, time.Second))
	return s.restartWith(ctx, func() error {
		return errors.Join(os.RemoveAll(data), os.Rename(data+".away", data))
	})
}

// restartWith kills Redis, changes its data and starts it again.
func (s *stack) restartWith(ctx context.Context, change func() error) error {
	if err := s.redis.kill(); err != nil {
		return err
	}
	if err := change(); err != nil {
		return fmt.Errorf("cannot exchange the data of Redis: %w", err)
	}
	return s.redis.start(ctx)
}

func scriptsFlushed(ctx context.Context, s *stack, dice *rand.Rand) error {
	for range s.times(20, 100) {
		if _, err := s.redis.ask(ctx, "SCRIPT", "FLUSH"); err != nil {
			return err
		}
		background.Pause(ctx, moment(dice, 200*time.Millisecond))
	}
	return nil
}

func networkSwallows(ctx context.Context, s *stack, _ *rand.Rand) error {
	s.proxy.Set(launch.BlackHole)
	s.stand(ctx, redisTimeout+time.Second)
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
	s.stand(ctx, 2*time.Second)
	s.proxy.Set(launch.Passes)
	return nil
}

// diskStalls stops Redis for a moment, again and again. From outside that is a slow write to disk: Redis
// reads no command meanwhile, and answers afterwards.
func diskStalls(ctx context.Context, s *stack, dice *rand.Rand) error {
	// A server must survive these, with a pause to catch up; the long form adds random lengths.
	const shortest, longest, pause = 300 * time.Millisecond, 1500 * time.Millisecond, time.Second
	lengths := []time.Duration{shortest, (shortest + longest) / 2, longest}
	for len(lengths) < s.times(3, 20) {
		lengths = append(lengths, shortest+moment(dice, longest-shortest))
	}
	for _, lasting := range lengths {
		if err := s.redis.freeze(ctx, lasting); err != nil {
			return err
		}
		// Service did not end, so its return is not judged; the waiting calls come first.
		if _, err := s.probes.resumption(ctx); err != nil {
			return err
		}
		background.Pause(ctx, pause)
	}
	if waited := s.probes.longest(); waited < longest/2 { // a probe may pause when Redis stops
		return fmt.Errorf("no answer took longer than %v: Redis did not stand still, the drill proves nothing",
			waited)
	}
	s.note("%d stalls of Redis, up to %v", len(lengths), longest)
	return nil
}

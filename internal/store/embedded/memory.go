package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"flashsale/internal/background"

	"github.com/alicebob/miniredis/v2"
)

const (
	// The interval at which expired keys are removed. A key loses the whole interval in which it was
	// made, so it may expire too early by that time. The walk over all keys stops all commands. With many
	// keys the interval grows, up to expiryMost, so that the walk takes one part in expiryShare of the
	// time.
	expiryInterval = 100 * time.Millisecond
	expiryShare    = 10
	expiryMost     = time.Second
)

func startMemory() (*Store, error) {
	engine := miniredis.NewMiniRedis()
	// A TCP port is open to every user of the machine, unlike a socket in a private folder.
	password := rand.Text()
	engine.RequireAuth(password)
	if err := engine.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("cannot start in-memory store: %w", err)
	}
	return &Store{
		Network:     "tcp",
		Address:     engine.Addr(),
		Password:    password,
		Name:        "in-memory engine",
		description: "in-memory engine, as there is no redis-server on PATH: NOTHING survives a restart",
		run:         func(ctx context.Context) error { return runMemory(ctx, engine) },
	}, nil
}

// runMemory lets the engine's keys expire, which they do not do by themselves. The engine's own ClockTTL
// would walk over all keys at each command.
func runMemory(ctx context.Context, engine *miniredis.Miniredis) error {
	defer engine.Close()
	pause := expiryInterval
	for last := time.Now(); background.Pause(ctx, pause); {
		now := time.Now()
		engine.FastForward(now.Sub(last))
		last = now
		pause = min(max(expiryInterval, expiryShare*time.Since(now)), expiryMost)
	}
	return nil
}

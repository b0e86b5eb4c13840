package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

const (
	// The engine's keys expire up to this much too early: a key loses the whole interval in which it was made.
	expiryInterval = 100 * time.Millisecond
	// Expiry walks over all keys while commands wait, so it gets at most one part in this many of the time.
	expiryShare = 10
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

// runMemory lets time pass for the lifetimes of the engine's keys, which stand still by themselves. The engine's own
// ClockTTL would do so at each command, with a walk over all keys each time.
func runMemory(ctx context.Context, engine *miniredis.Miniredis) error {
	defer engine.Close()
	pause := expiryInterval
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case now := <-time.After(pause):
			engine.FastForward(now.Sub(last))
			last = now
			pause = max(expiryInterval, expiryShare*time.Since(now))
		}
	}
}

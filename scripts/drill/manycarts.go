package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	hoarderConns = 64
	cartsMax     = 32 // of one user that each worker keeps
	// By how much Redis may grow: twice as much as under the load alone, and the doubling of a table of keys.
	growthMax   = 2
	growthFloor = 512 << 10 // bytes
)

// cartsHeld is a script: how many keys match a pattern, and the bytes they take.
const cartsHeld = `
local keys, bytes = redis.call('KEYS', ARGV[1]), 0
for _, key in ipairs(keys) do bytes = bytes + redis.call('MEMORY', 'USAGE', key) end
return #keys .. ' ' .. bytes`

// manyCarts lets one user make carts and put a piece into each, then as many users change one cart each.
func manyCarts(ctx context.Context, s *stack, _ *rand.Rand) error {
	users, err := s.newcomers(ctx, 1+hoarderConns)
	if err != nil {
		return err
	}
	watched := s.lasting(calmShort, calmLong)
	calm, err := s.memoryGrowth(ctx, func() { pause(ctx, watched) })
	if err != nil {
		return err
	}
	own, err := changeOwn(ctx, users[1:])
	if err != nil {
		return err
	}
	err = s.contrast(func() (attack *tide, err error) {
		hostile := fillMany(crowdOf(slices.Repeat(users[:1], hoarderConns)))
		growth, err := s.memoryGrowth(ctx, func() {
			attack = s.run(ctx, hostile, s.lasting(2*time.Second, 10*time.Second), 0)
		})
		if err == nil {
			ordinary := int64(float64(calm) * attack.took.Seconds() / watched.Seconds())
			err = s.judgeHoard(ctx, users[0], growth, ordinary)
		}
		return attack, err
	}, func(rate float64) *tide {
		return s.run(ctx, own, s.lasting(calmShort, 10*time.Second), rate)
	})
	if err != nil {
		return err
	}
	newest, err := users[0].fill(attackedFood)
	if err != nil {
		return err
	}
	if a := s.order(ctx, users[0], newest); a != "200" {
		s.breaks("an order of the newest cart is answered %s", a)
	}
	return nil
}

var newCart = call{method: "POST", path: "/carts"}

// fillMany is a flood of new carts, each with a piece in it.
func fillMany(crowd []*shopper) flood {
	carts := make([]string, len(crowd))
	return flood{
		crowd: crowd, right: []answer{"200", "204"},
		next: func(member, n int) call {
			if n%2 == 0 {
				return newCart
			}
			return addTo(carts[member], item(1+n%foods, 1))
		},
		heard: func(member, n int, reply string) {
			var cart struct {
				ID string `json:"cart_id"`
			}
			if n%2 == 0 && json.Unmarshal([]byte(reply), &cart) == nil {
				carts[member] = cart.ID
			}
		},
	}
}

// changeOwn is a flood of the same calls, but each user puts the pieces into the same cart or takes them
// out.
func changeOwn(ctx context.Context, users []*shopper) (flood, error) {
	carts, err := fillAll(ctx, users)
	return flood{
		crowd: crowdOf(users), right: []answer{"200", "204"},
		next: func(member, n int) call {
			if n%2 == 0 {
				return newCart
			}
			return addTo(carts[member], item(attackedFood, n%4-2))
		},
	}, err
}

// judgeHoard counts what Redis has kept of the user's carts. ordinary is by how much the load alone makes
// Redis grow.
func (s *stack) judgeHoard(ctx context.Context, user *shopper, growth, ordinary int64) error {
	reply, err := s.redis.ask(ctx, "EVAL", cartsHeld, "0", cartKeys(user.user))
	if err != nil {
		return err
	}
	var keys, bytes int
	if _, err := fmt.Sscan(reply, &keys, &bytes); err != nil {
		return fmt.Errorf("cannot count carts: %q: %w", reply, err)
	}
	s.note("Redis keeps %d carts of the user, %d KB, and grew by %d KB (the load alone: %d KB)",
		keys, bytes>>10, growth>>10, ordinary>>10)
	if most := cartsMax*s.setup.workers()*s.setup.servers + hoarderConns; keys < 1 || keys > most {
		s.breaks("Redis keeps %d carts of one user, want 1 to %d", keys, most)
	}
	if most := growthMax*max(ordinary, 0) + growthFloor; growth > most {
		s.breaks("Redis grew by %d KB, the bound is %d KB", growth>>10, most>>10)
	}
	return nil
}

// memoryGrowth is by how many bytes Redis grows while something is done.
func (s *stack) memoryGrowth(ctx context.Context, do func()) (int64, error) {
	before, err := s.redis.usedMemory(ctx)
	if err != nil {
		return 0, err
	}
	do()
	after, err := s.redis.usedMemory(ctx)
	return after - before, err
}

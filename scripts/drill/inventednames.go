package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync/atomic"

	"flashsale/internal/testkit/client"
)

const (
	// limitKeysMax is the number of keys that failed logins can make: slots of names, each with 8 networks and
	// the list of them, and slots of addresses. Names have two rates, each with a key.
	limitKeysMax   = 8192*(2*(1+8)+1) + 8192
	limitBytesMax  = 8192 * (2*3200 + 8*2*600 + 900 + 3200)
	namesOfAddress = 20 // failed logins from an address, less than the default rule refuses
)

var rightLogin = []answer{"200", "429 TOO_MANY_REQUESTS"}

// inventedNames has 256 connections log in with names that nobody has, from ever new addresses, while
// guesses of a real name go on.
func inventedNames(ctx context.Context, s *stack, _ *rand.Rand) error {
	users, err := s.newcomers(ctx, 1+crowdSize)
	if err != nil {
		return err
	}
	victim := users[0].user
	var looked, guesses, addresses atomic.Int64
	err = s.contrast(func() (attack *tide, err error) {
		guesser := &client.Client{Address: s.servers[0].address, Timeout: answerPatient, NewConnections: true,
			From: loopback(20, int(addresses.Add(1)))}
		looked.Store(0)
		stop := repeat(ctx, func() {
			r, err := guesser.Do("POST", "/login", client.LoginBody(fmt.Sprint("user", victim), "wrong"))
			guesses.Add(1)
			if err == nil && r.Status == 403 {
				looked.Add(1)
			}
		})
		growth, err := s.memoryGrowth(ctx, func() {
			attack = s.run(ctx, inventing(users[1:], &addresses), s.lasting(calmLong, 10*calmLong), 0)
		})
		stop()
		s.note("%d of %d guesses of a real name were looked at; Redis grew by %d KB", looked.Load(),
			guesses.Load(), growth>>10)
		if most := int64(guessRate * s.setup.workers()); looked.Load() > most {
			s.breaks("%d guesses of a real name were looked at, want %d at most", looked.Load(), most)
		}
		victim = users[len(users)-1].user // the first name stays closed
		return attack, err
	}, func(rate float64) *tide {
		next := func(member, n int) call {
			user := users[1+member].user
			return call{"POST", "/login", client.LoginBody(fmt.Sprint("user", user), fmt.Sprint("pass", user))}
		}
		harmless := flood{crowd: crowdOf(users[1:]), right: rightLogin, next: next}
		return s.run(ctx, harmless, s.lasting(calmShort, 10*calmLong), rate)
	})
	if err != nil {
		return err
	}
	return s.judgeLimitKeys(ctx)
}

// inventing is a flood of failed logins, each with another name. A member changes its address now and then.
func inventing(users []*shopper, addresses *atomic.Int64) flood {
	crowd := crowdOf(users)
	next := func(member, n int) call {
		if n%namesOfAddress == 0 {
			crowd[member].HangUp()
			crowd[member].From = addressOf(addresses.Add(1))
		}
		name := fmt.Sprintf("%d-%d-%s", member, n, strings.Repeat("x", 100))
		return call{"POST", "/login", client.LoginBody(name, "wrong")}
	}
	return flood{crowd: crowd, right: []answer{"403 USER_AUTH_FAIL", "429 TOO_MANY_REQUESTS"}, next: next}
}

// addressOf is one of a million addresses of this machine.
func addressOf(n int64) netip.Addr { return loopback(byte(64+n>>14&63), int(n)) }

// judgeLimitKeys counts what Redis keeps of failed logins.
func (s *stack) judgeLimitKeys(ctx context.Context) error {
	reply, err := s.redis.ask(ctx, "EVAL", cartsHeld, "0", "limit_{login_failed*")
	if err != nil {
		return err
	}
	var keys, bytes int
	if _, err := fmt.Sscan(reply, &keys, &bytes); err != nil {
		return fmt.Errorf("cannot count keys of rate limits: %q: %w", reply, err)
	}
	s.note("Redis keeps %d keys of failed logins, %d KB; the bounds are %d and %d KB", keys, bytes>>10,
		limitKeysMax, limitBytesMax>>10)
	if keys > limitKeysMax || bytes > limitBytesMax {
		s.breaks("Redis keeps %d keys of failed logins, %d KB", keys, bytes>>10)
	}
	return nil
}

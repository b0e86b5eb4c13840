package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit/client"
)

// Attacks on the login.

const (
	adminAddress   = "127.9.0.1" // the only address of -admin-from
	slowMax        = 5           // seconds that guesses from elsewhere may delay a login
	guessers       = 20          // addresses that guess a name: more than the server counts one by one
	guessPace      = time.Second // of an address: more refusals are an alert
	closedMax      = 30 * time.Second
	guessRate      = 5  // a minute, of a name from an address: the default rule
	namesOfAddress = 20 // failed logins from an address, fewer than the default rule refuses
)

// loopback is one of the addresses of this machine: 16,384 in each block.
func loopback(block byte, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, block, byte(n >> 8 & 127), byte(n)})
}

// loginFrom logs in from an address, on a new connection. wait is what a refusal asks for.
func (s *stack) loginFrom(from netip.Addr, name, password string) (a answer, wait time.Duration) {
	c := &client.Client{Address: s.servers[0].address, Timeout: answerPatient, From: from, NewConnections: true}
	r, err := c.Do("POST", "/login", client.LoginBody(name, password))
	if err != nil {
		return noAnswer, 0
	}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil {
		wait = time.Duration(seconds) * time.Second
	}
	return answer(strconv.Itoa(r.Status)), wait
}

// login is the call.
func login(name, password string) call {
	return call{"POST", "/login", client.LoginBody(name, password)}
}

// inventedNames logs in with invented names over 256 connections, from ever new addresses, while one
// address guesses a real name.
func inventedNames(ctx context.Context, s *stack, _ *rand.Rand) error {
	users, err := s.newcomers(1 + crowdSize)
	if err != nil {
		return err
	}
	looked := 0
	stop := repeat(ctx, func() {
		if a, _ := s.loginFrom(loopback(20, 1), fmt.Sprint("user", users[0].user), "wrong"); a == "403" {
			looked++
		}
	})
	var addresses atomic.Int64
	crowd := crowdOf(users[1:])
	hostile := flood{crowd: crowd, right: []answer{"403 USER_AUTH_FAIL", "429 TOO_MANY_REQUESTS"},
		next: func(member, n int) call {
			if n%namesOfAddress == 0 {
				crowd[member].HangUp()
				address := addresses.Add(1)
				crowd[member].From = loopback(byte(64+address>>14&63), int(address))
			}
			return login(fmt.Sprintf("%d-%d-%s", member, n, strings.Repeat("x", 100)), "wrong")
		}}
	harmless := flood{crowd: crowdOf(users[1:]), right: []answer{"200", "429 TOO_MANY_REQUESTS"},
		next: func(member, _ int) call {
			user := users[1+member].user
			return login(fmt.Sprint("user", user), fmt.Sprint("pass", user))
		}}
	err = s.contrastFloods(ctx, hostile, harmless)
	stop()
	s.note("%d guesses of a real name were looked at", looked)
	if most := guessRate * s.setup.workers(); looked > most {
		s.breaks("%d guesses of a real name were looked at, want %d at most", looked, most)
	}
	return err
}

// lockout guesses the passwords of root and of a buyer from many addresses until each address is refused.
// Root still logs in from its network, the buyer from its former address, and within seconds from a new one.
func lockout(ctx context.Context, s *stack, _ *rand.Rand) error {
	buyer, password := fmt.Sprint("user", firstNewcomer), fmt.Sprint("pass", firstNewcomer)
	home, admin := loopback(8, 1), netip.MustParseAddr(adminAddress)
	if a, _ := s.loginFrom(home, buyer, password); a != "200" {
		s.breaks("before the guesses the buyer's login is answered %s", a)
	}
	background.Pause(ctx, 2*time.Second) // all workers can know it then
	guessing, stop := context.WithCancel(ctx)
	var attack sync.WaitGroup
	for i := range guessers {
		for block, name := range []string{"root", buyer} {
			attack.Go(func() { s.guessOn(guessing, loopback(byte(10+block), i), name) })
		}
	}
	defer attack.Wait()
	defer stop()
	background.Pause(ctx, guessRate*guessPace)
	logins := s.times(50, 500)
	for range logins {
		if a, wait := s.loginFrom(admin, "root", rootPassword); a != "200" {
			s.breaks("root's login from -admin-from is answered %s, to wait for %v", a, wait)
		}
		if a, wait := s.loginFrom(home, buyer, password); a != "200" {
			s.breaks("the buyer's login from a known address is answered %s, to wait for %v", a, wait)
		}
	}
	for i := range s.times(5, 50) {
		a, wait := s.loginFrom(loopback(9, 10+i), buyer, password)
		if a == "429" && wait <= slowMax*time.Second {
			background.Pause(ctx, wait)
			a, wait = s.loginFrom(loopback(9, 10+i), buyer, password)
		}
		if a != "200" {
			s.breaks("the buyer's login from a new address, repeated after Retry-After, is answered %s, %v", a, wait)
		}
	}
	stop()
	attack.Wait()
	s.note("%d logins of root and of the buyer while %d addresses guessed each password", logins, guessers)
	return s.unlock(ctx, buyer, loopback(11, 0))
}

// guessOn guesses a name's password from an address until ctx ends.
func (s *stack) guessOn(ctx context.Context, from netip.Addr, name string) {
	for ; ctx.Err() == nil; background.Pause(ctx, guessPace) {
		if a, _ := s.loginFrom(from, name, "wrong"); a != "403" && a != "429" {
			s.breaks("a guess is answered %s", a)
		}
	}
}

// unlock guesses a name until it is closed for an address, and runs flashsale unlock.
func (s *stack) unlock(ctx context.Context, name string, closed netip.Addr) error {
	// Guesses while the name is slowed down do not count, and each worker counts some guesses alone.
	for deadline := time.Now().Add(closedMax); ; background.Pause(ctx, guessPace) {
		a, wait := s.loginFrom(closed, name, "wrong")
		if a == "429" && wait > slowMax*time.Second {
			break
		}
		if time.Now().After(deadline) {
			s.breaks("where the name was guessed for %v a login is answered %s, to wait for %v", closedMax, a, wait)
			break
		}
	}
	command := exec.CommandContext(ctx, s.servers[0].program.Path, "unlock", name, "-redis", s.redis.socket)
	command.Env = saleEnv
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("flashsale unlock: %w: %s", err, out)
	}
	background.Pause(ctx, 2*time.Second) // the workers learn of it within a second
	if a, wait := s.loginFrom(closed, name, "wrong"); a != "403" {
		s.breaks("after flashsale unlock a guess is answered %s, to wait for %v", a, wait)
	}
	return nil
}

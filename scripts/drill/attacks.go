package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit/client"
	bench "flashsale/scripts/bench/load"
)

// attackDrills break nothing: they make requests that any client may send.
var attackDrills = []drill{
	{name: "one-cart", quiet: noFault, says: "256 connections change one cart as fast as they can",
		setup: crowded, run: oneCart.run},
	{name: "bombs", quiet: noFault,
		says:  "400 logins at once with bodies that could take long to read, again and again",
		setup: crowded, run: bombs.run},
	{name: "invented-names", quiet: noFault, says: "256 connections log in with invented names",
		setup: crowded, run: inventedNames.run},
	{name: "viewers-and-buyers", quiet: noFault, says: "500 pages watch the sale while buyers order",
		setup: crowded, run: viewersAndBuyers},
	{name: "pipelining", quiet: noFault,
		says:  "20 and 100 connections send 2000 requests each before they read, again and again",
		setup: crowded, run: pipelining},
	{name: "pipelining-tls", quiet: noFault, says: "the same with TLS",
		setup: setup{servers: 1, probes: 4, everysec: true, tls: true}, run: pipelining},
}

// attack is many requests that any client may send, and harmless ones to compare them with.
type attack func(*stack, *rand.Rand) (hostile, harmless flood, err error)

// run is the fault of an attack.
func (a attack) run(ctx context.Context, s *stack, dice *rand.Rand) error {
	hostile, harmless, err := a(s, dice)
	if err != nil {
		return err
	}
	return s.contrastFloods(ctx, hostile, harmless)
}

const (
	attackedFood   = 1
	volleySize     = 400
	loginMax       = 1 << 10 // bytes of the body of a login
	pipelineLength = 2000    // requests sent before their replies are read
	namesOfAddress = 20      // failed logins from an address, fewer than the default rule refuses
)

// cartCounts are the changes that an attacker sends again and again; most are refused.
var cartCounts = []int{3, 3, 3, 1, 3, -1, 3, 3, 2, -3}

// oneCart changes one cart from 256 connections of its user, then 256 carts of 256 users.
var oneCart attack = func(s *stack, dice *rand.Rand) (hostile, harmless flood, err error) {
	users, err := s.newcomers(1 + crowdSize)
	if err != nil {
		return hostile, harmless, err
	}
	carts, first := make([]string, len(users)), dice.IntN(len(cartCounts))
	err = inParallel(len(users), func(i int) (err error) {
		carts[i], err = users[i].fill(attackedFood)
		return err
	})
	hostile = changeCarts(slices.Repeat(users[:1], crowdSize), slices.Repeat(carts[:1], crowdSize), first)
	return hostile, changeCarts(users[1:], carts[1:], first), err
}

// changeCarts is a flood of changes in the order of cartCounts; each user has the cart of the same number.
func changeCarts(users []*shopper, carts []string, first int) flood {
	next := func(member, n int) call {
		return addTo(carts[member], item(attackedFood, cartCounts[(first+member+n)%len(cartCounts)]))
	}
	return flood{crowd: crowdOf(users), right: []answer{"204", "403 FOOD_OUT_OF_LIMIT"}, next: next}
}

// bombs sends the login, which anybody may call, bodies that could keep the server busy for long, and then
// as many short bodies.
var bombs attack = func(s *stack, _ *rand.Rand) (hostile, harmless flood, err error) {
	return s.logins(loginBody(`,"\n":1`), loginBody(`,"\u0070assword":[]`), loginBody(`,"":"\ud800\u00e4"`),
		loginBody(`,"":[[[[[]]]]]`)), s.logins(loginBody("")), nil
}

// logins is a flood of logins with these bodies in turn.
func (s *stack) logins(bodies ...string) flood {
	anybody := s.servers[0].shopper(0) // without a token
	return flood{crowd: crowdOf(slices.Repeat([]*shopper{anybody}, volleySize)),
		right: []answer{"400 MALFORMED_JSON"},
		next:  func(member, n int) call { return call{"POST", "/login", bodies[(member+n)%len(bodies)]} }}
}

// loginBody is a body that repeats a member as often as a login may be long.
func loginBody(member string) string {
	const begin, end = `{"username":"x","password":[1]`, "}"
	return begin + strings.Repeat(member, (loginMax-len(begin)-len(end))/max(1, len(member))) + end
}

// inventedNames logs in with invented names over 256 connections, from ever new addresses.
var inventedNames attack = func(s *stack, _ *rand.Rand) (hostile, harmless flood, err error) {
	users, err := s.newcomers(crowdSize)
	if err != nil {
		return hostile, harmless, err
	}
	var addresses atomic.Int64
	crowd := crowdOf(users)
	hostile = flood{crowd: crowd, right: []answer{"403 USER_AUTH_FAIL", "429 TOO_MANY_REQUESTS"},
		next: func(member, n int) call {
			if n%namesOfAddress == 0 {
				crowd[member].HangUp()
				address := addresses.Add(1)
				crowd[member].From = netip.AddrFrom4([4]byte{127, byte(64 + address>>14&63),
					byte(address >> 8 & 63), byte(address)})
			}
			return login(fmt.Sprintf("%d-%d-%s", member, n, strings.Repeat("x", 100)), "wrong")
		}}
	harmless = flood{crowd: crowdOf(users), right: []answer{"200", "429 TOO_MANY_REQUESTS"},
		next: func(member, _ int) call {
			user := users[member].user
			return login(fmt.Sprint("user", user), fmt.Sprint("pass", user))
		}}
	return hostile, harmless, nil
}

// login is the call.
func login(name, password string) call {
	return call{"POST", "/login", client.LoginBody(name, password)}
}

// viewersAndBuyers compares a load beside many viewers with one without viewers.
func viewersAndBuyers(ctx context.Context, s *stack, _ *rand.Rand) error {
	watching := s.times(500, 5000)
	look := func() *tide {
		t := &tide{}
		end := s.measure(t, nil)
		background.Pause(ctx, s.lasting(2*time.Second, 10*time.Second))
		end()
		return t
	}
	return s.contrast(func() (*tide, error) {
		viewers, err := bench.OpenViewers(ctx, bench.Options{Servers: []string{s.servers[0].address},
			Timeout: answerPatient}, watching)
		if err != nil {
			return nil, err
		}
		defer viewers.Close()
		t := look()
		if held := viewers.Held(); held != watching {
			s.breaks("%d of %d viewers are still there", held, watching)
		}
		return t, nil
	}, func(float64) *tide { return look() })
}

// pipelining sends hot calls, and calls that need a goroutine, without awaiting the replies, and then the
// same calls, awaiting each reply.
func pipelining(ctx context.Context, s *stack, _ *rand.Rand) error {
	anybody := s.servers[0].shopper(0) // without a token
	for _, attack := range []struct {
		path        string
		connections int
		right       answer
	}{{"/sale", 20, "200"}, {"/sale", 100, "200"}, {"/orders", 100, "401 INVALID_ACCESS_TOKEN"}} {
		s.note("%d connections, GET %s:", attack.connections, attack.path)
		harmless := flood{crowd: crowdOf(slices.Repeat([]*shopper{anybody}, attack.connections)),
			right: []answer{attack.right},
			next:  func(int, int) call { return call{method: "GET", path: attack.path} }}
		hostile := harmless
		hostile.pipelined = "GET " + attack.path + " HTTP/1.1\r\nHost: drill\r\n\r\n"
		hostile.right = []answer{attack.right[:len("200")]}
		if err := s.contrastFloods(ctx, hostile, harmless); err != nil {
			return err
		}
	}
	return nil
}

// pipeline sends a request pipelineLength times over a new connection and counts the replies by status. It
// looks for status lines only, much faster than net/http reads: the attacker must not be slower than the
// server.
func pipeline(to *client.Client, request string, answers map[answer]int) {
	c, err := net.Dial("tcp", to.Address)
	if err != nil {
		answers[noAnswer]++
		return
	}
	defer c.Close()
	if to.TLS != nil {
		c = tls.Client(c, to.TLS)
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // on a closed connection the next call fails
	go func() { _, _ = io.WriteString(c, strings.Repeat(request, pipelineLength)) }()
	replies := bufio.NewReaderSize(c, 64<<10)
	for n := 0; n < pipelineLength; {
		line, err := replies.ReadSlice('\n') // a body has no line end: the next status line stands behind it
		if err != nil {
			answers[noAnswer]++
			return
		}
		if _, status, found := bytes.Cut(line, []byte("HTTP/1.1 ")); found {
			answers[answer(status[:len("200")])]++
			n++
		}
	}
}

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
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit/client"
	bench "flashsale/scripts/bench/load"
)

// Attacks: many requests that any client may send.

const (
	attackedFood   = 1
	cartKeyMax     = 1200 // bytes of Redis for a cart, whatever clients send
	cartKeyLetters = 16   // letters of a cart ID in the name of its key

	volleySize = 400
	loginMax   = 1 << 10 // bytes of the body of a login

	pipelineLength = 2000 // requests sent before their replies are read
)

// cartCounts are the changes that an attacker sends again and again; most are refused.
var cartCounts = []int{3, 3, 3, 1, 3, -1, 3, 3, 2, -3}

// oneCart changes one cart from 256 connections of its user, then 256 carts of 256 users.
func oneCart(ctx context.Context, s *stack, dice *rand.Rand) error {
	users, err := s.newcomers(1 + crowdSize)
	if err != nil {
		return err
	}
	carts := make([]string, len(users))
	if err := inParallel(len(users), func(i int) (err error) {
		carts[i], err = users[i].fill(attackedFood)
		return err
	}); err != nil {
		return err
	}
	first, largest := dice.IntN(len(cartCounts)), int64(0)
	stop := repeat(ctx, func() {
		bytes, err := s.redis.number(ctx, "MEMORY", "USAGE", "c_"+carts[0][:cartKeyLetters])
		if err != nil && ctx.Err() == nil {
			s.breaks("cannot look at the cart: %v", err)
		}
		largest = max(largest, bytes)
	})
	err = s.contrastFloods(ctx,
		changeCarts(slices.Repeat(users[:1], crowdSize), slices.Repeat(carts[:1], crowdSize), first),
		changeCarts(users[1:], carts[1:], first))
	stop()
	if err != nil {
		return err
	}
	s.note("the cart took at most %d bytes of Redis", largest)
	if largest > cartKeyMax {
		s.breaks("the cart took %d bytes of Redis, the bound is %d", largest, cartKeyMax)
	}
	return s.orderAttacked(users[0].regular(), carts[0])
}

// changeCarts is a flood of changes in the order of cartCounts; each user has the cart of the same number.
func changeCarts(users []*shopper, carts []string, first int) flood {
	next := func(member, n int) call {
		return addTo(carts[member], item(attackedFood, cartCounts[(first+member+n)%len(cartCounts)]))
	}
	return flood{crowd: crowdOf(users), right: []answer{"204", "403 FOOD_OUT_OF_LIMIT"}, next: next}
}

// orderAttacked demands that the cart becomes an order of one to three pieces after the attack.
func (s *stack) orderAttacked(user *shopper, cart string) error {
	defer user.HangUp()
	// The cart is not empty from here on.
	if a, _, _ := user.ask(addTo(cart, item(attackedFood, 3))); a != "204" && a != "403 FOOD_OUT_OF_LIMIT" {
		s.breaks("after the attack a change of the cart is answered %s", a)
	}
	if a := s.order(user, cart); a != "200" {
		s.breaks("after the attack an order of the cart is answered %s", a)
	}
	items, err := user.bought()
	if err == nil && !slices.Contains([]string{"[{1 1}]", "[{1 2}]", "[{1 3}]"}, fmt.Sprint(items)) {
		s.breaks("the attacked cart became the order %v, want one to three pieces of food %d", items, attackedFood)
	}
	return err
}

// bombs sends the login, which anybody may call, bodies that could keep the server busy for long, and then
// as many short bodies.
func bombs(ctx context.Context, s *stack, _ *rand.Rand) error {
	const malformed, tooLarge = "400 MALFORMED_JSON", "413 BODY_TOO_LARGE"
	const bomb = `,"\n":1`
	s.run(ctx, s.logins(tooLarge, loginBody(bomb, 32*loginMax), loginBody(bomb, loginMax+1)), time.Second, 0)
	return s.contrastFloods(ctx, s.logins(malformed, loginBody(bomb, loginMax),
		loginBody(`,"\u0070assword":[]`, loginMax), loginBody(`,"":"\ud800\u00e4"`, loginMax),
		loginBody(`,"":[[[[[]]]]]`, loginMax)),
		s.logins(malformed, loginBody("", 0)))
}

// logins is a flood of logins with these bodies in turn.
func (s *stack) logins(right answer, bodies ...string) flood {
	anybody := s.servers[0].shopper(0) // without a token
	return flood{crowd: crowdOf(slices.Repeat([]*shopper{anybody}, volleySize)), right: []answer{right},
		next: func(member, n int) call { return call{"POST", "/login", bodies[(member+n)%len(bodies)]} }}
}

// loginBody is a body that repeats a member up to this number of bytes, if they suffice.
func loginBody(member string, bytes int) string {
	const begin, end = `{"username":"x","password":[1]`, "}"
	room := max(0, bytes-len(begin)-len(end))
	members := strings.Repeat(member, room/max(1, len(member)))
	return begin + members + strings.Repeat(" ", room-len(members)) + end
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
		f := flood{crowd: crowdOf(slices.Repeat([]*shopper{anybody}, attack.connections)),
			right: []answer{attack.right},
			next:  func(int, int) call { return call{method: "GET", path: attack.path} }}
		hostile := f
		hostile.pipelined = "GET " + attack.path + " HTTP/1.1\r\nHost: drill\r\n\r\n"
		hostile.right = []answer{attack.right[:len("200")]}
		if err := s.contrastFloods(ctx, hostile, f); err != nil {
			return err
		}
	}
	return nil
}

// pipeline sends a request pipelineLength times over a new connection and counts the replies by status.
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
	for range pipelineLength {
		a, err := readStatus(replies)
		if err != nil {
			answers[noAnswer]++
			return
		}
		answers[a]++
	}
}

// readStatus reads a reply, much faster than net/http does: the attacker must not be slower than the server.
func readStatus(replies *bufio.Reader) (answer, error) {
	line, err := replies.ReadSlice('\n')
	if err != nil || len(line) < len("HTTP/1.1 200") {
		return "", fmt.Errorf("no reply but %q: %w", line, err)
	}
	status, length := answer(line[len("HTTP/1.1 "):len("HTTP/1.1 200")]), 0
	for len(line) > len("\r\n") {
		if line, err = replies.ReadSlice('\n'); err != nil {
			return "", err
		}
		if size, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(size))); err != nil {
				return "", err
			}
		}
	}
	_, err = replies.Discard(length)
	return status, err
}

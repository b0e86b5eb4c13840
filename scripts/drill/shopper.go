package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"flashsale/internal/testkit/client"
)

const (
	answerMax     = redisTimeout + 500*time.Millisecond // promised, for every request
	answerPatient = 20 * time.Second                    // when a shopper gives up
)

// item is some pieces of a food.
var item = client.Pieces

// shopper is one reserved user of one server.
type shopper struct {
	*client.Client
	user int

	ordered string // the cart that became the order, under the idempotency key
	cart    string // another cart, which is changed again and again
}

// newShopper makes a shopper with a new connection for each request, to reach all workers of the server.
func newShopper(address string, user int) *shopper {
	return &shopper{user: user, Client: &client.Client{Address: address, Timeout: answerPatient,
		NewConnections: true}}
}

// shopper is newShopper for a server that may speak TLS.
func (s *server) shopper(user int) *shopper {
	one := newShopper(s.address, user)
	one.TLS = s.trust
	return one
}

// regular is the same user on one connection until HangUp.
func (s *shopper) regular() *shopper {
	return &shopper{user: s.user, Client: &client.Client{Address: s.Address, Timeout: answerPatient,
		Token: s.Token, TLS: s.TLS}}
}

func (s *shopper) login() error { return s.LoginUser(s.user) }

type (
	call   struct{ method, path, body string }
	answer string // the status, then the code of a refusal
)

const noAnswer answer = "no answer" // the connection was lost

func orderOf(cart string) call { return call{"POST", "/orders", client.OrderBody(cart)} }

func addTo(cart string, i client.Item) call {
	return call{"PATCH", client.CartPath(cart), client.JSON(i)}
}

// ask makes a call.
func (s *shopper) ask(c call) (a answer, reply string, took time.Duration) {
	began := time.Now()
	r, err := s.Do(c.method, c.path, c.body)
	took = time.Since(began)
	if err != nil {
		return noAnswer, "", took
	}
	return answerOf(r.Status, r.Body), r.Body, took
}

func answerOf(status int, body string) answer {
	a := answer(strconv.Itoa(status))
	if status >= http.StatusBadRequest {
		var refusal struct{ Code string }
		_ = json.Unmarshal([]byte(body), &refusal) // other text has no code, and is never the right answer
		a += answer(" " + refusal.Code)
	}
	return a
}

// fill makes a cart with a piece of each food.
func (s *shopper) fill(foods ...int) (string, error) {
	var pieces []client.Item
	for _, food := range foods {
		pieces = append(pieces, item(food, 1))
	}
	cart, err := s.Fill(pieces...)
	if err != nil {
		return "", fmt.Errorf("cannot fill a cart of user %d: %w", s.user, err)
	}
	return cart, nil
}

// prepare places the order under the key, for later repeats, and fills the other cart.
func (s *shopper) prepare() (err error) {
	if err = s.login(); err != nil {
		return fmt.Errorf("cannot log in user %d: %w", s.user, err)
	}
	if s.ordered, err = s.fill(1); err != nil {
		return err
	}
	s.IdempotencyKey = s.key()
	defer func() { s.IdempotencyKey = "" }()
	if _, err = s.Order(s.ordered); err != nil {
		return fmt.Errorf("cannot order for user %d: %w", s.user, err)
	}
	s.cart, err = s.fill(2, 3)
	return err
}

func (s *shopper) key() string { return fmt.Sprintf("drill-%d", s.user) }

// pieces counts the pieces left of all foods.
func (s *shopper) pieces() (left int64, err error) {
	list, err := s.Foods()
	if err != nil {
		return 0, fmt.Errorf("cannot list the foods of %s: %w", s.Address, err)
	}
	for _, food := range list {
		left += int64(food.Stock)
	}
	return left, nil
}

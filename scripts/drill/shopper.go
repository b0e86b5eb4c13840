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
	answerPatient = 5 * time.Second                     // when a shopper gives up
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

// as changes the user of a shopper, on the same connection.
func (s *shopper) as(user *shopper) *shopper {
	s.user, s.Token = user.user, user.Token
	return s
}

func (s *shopper) login() error { return s.LoginUser(s.user) }

type (
	call   struct{ method, path, body string }
	answer string // the status, then the code of a refusal
)

const noAnswer answer = "no answer" // the connection was lost

// hurts reports whether the answer shows a fault of the server.
func (a answer) hurts() bool { return a == noAnswer || a >= "500" }

func addTo(cart string, i client.Item) call {
	return call{"PATCH", client.CartPath(cart), client.JSON(i)}
}

func orderOf(cart string) call { return call{"POST", "/orders", client.OrderBody(cart)} }

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

// stock lists the pieces left of each food.
func (s *shopper) stock() (left []int64, err error) {
	list, err := s.Foods()
	if err != nil {
		return nil, fmt.Errorf("cannot list the foods of %s: %w", s.Address, err)
	}
	for _, food := range list {
		left = append(left, int64(food.Stock))
	}
	return left, nil
}

// pieces counts the pieces left of all foods.
func (s *shopper) pieces() (left int64, err error) {
	stock, err := s.stock()
	for _, pieces := range stock {
		left += pieces
	}
	return left, err
}

// bought is the content of the user's order, nil for no order.
func (s *shopper) bought() ([]client.Item, error) {
	orders, err := s.Orders()
	if err != nil || len(orders) > 1 {
		return nil, fmt.Errorf("cannot list the orders of user %d: %v, %v", s.user, orders, err)
	}
	if len(orders) == 0 {
		return nil, nil
	}
	return orders[0].Items, nil
}

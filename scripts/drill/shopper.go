package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	answerMax     = redisTimeout + 500*time.Millisecond // promised, for every request
	answerPatient = 5 * time.Second                     // when the probe gives up
	replyMax      = 1 << 20                             // bytes of a reply, of which /foods is the longest
)

// shopper is one reserved user, who knows one server. Each request has a connection of its own, so that all workers of
// the server are met.
type shopper struct {
	address string
	user    int
	http    http.Client

	token   string
	ordered string // the cart that became the order, under the idempotency key
	cart    string // another one, which is changed again and again
}

func newShopper(address string, user int) *shopper {
	transport := &http.Transport{DisableKeepAlives: true} // no Proxy: the environment has no say here
	return &shopper{address: address, user: user, http: http.Client{Transport: transport, Timeout: answerPatient}}
}

// regular is the same user on one connection of its own, which is kept.
func (s *shopper) regular() *shopper {
	transport := &http.Transport{MaxConnsPerHost: 1}
	return &shopper{address: s.address, user: s.user, token: s.token, http: http.Client{Transport: transport, Timeout: answerPatient}}
}

// as is a regular of another user on the same connection.
func (s *shopper) as(user *shopper) *shopper {
	return &shopper{address: s.address, user: user.user, token: user.token, http: s.http}
}

// leave closes the connection of a regular.
func (s *shopper) leave() { s.http.CloseIdleConnections() }

// send sends one request and returns the status, the body and how long that took. err is one of transport.
func (s *shopper) send(ctx context.Context, method, path, body, key string) (status int, reply []byte, took time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, 0, err
	}
	if s.token != "" {
		request.Header.Set("Access-Token", s.token)
	}
	if key != "" {
		request.Header["Idempotency-Key"] = []string{key}
		request.GetBody = nil // net/http would send a request with this header twice
	}
	began := time.Now()
	response, err := s.http.Do(request)
	if err != nil {
		return 0, nil, time.Since(began), err
	}
	defer response.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(response.Body, replyMax))
	return response.StatusCode, reply, time.Since(began), err
}

// need sends a request that must succeed and reads a text of its reply; "" reads nothing.
func (s *shopper) need(ctx context.Context, method, path, body, key, field string) (string, error) {
	status, reply, _, err := s.send(ctx, method, path, body, key)
	if err == nil && status >= 300 {
		err = fmt.Errorf("%d %s", status, reply)
	}
	var fields map[string]any
	if err == nil && field != "" {
		err = json.Unmarshal(reply, &fields)
	}
	if err != nil {
		return "", fmt.Errorf("cannot %s %s as user %d: %w", method, path, s.user, err)
	}
	text, _ := fields[field].(string)
	return text, nil
}

func (s *shopper) login(ctx context.Context) (err error) {
	body := fmt.Sprintf(`{"username":"user%d","password":"pass%[1]d"}`, s.user)
	s.token, err = s.need(ctx, "POST", "/login", body, "", "access_token")
	return err
}

// fill makes a cart with a piece of each food.
func (s *shopper) fill(ctx context.Context, foods ...int) (string, error) {
	cart, err := s.need(ctx, "POST", "/carts", "", "", "cart_id")
	for _, food := range foods {
		if err == nil {
			_, err = s.need(ctx, "PATCH", "/carts/"+cart, fmt.Sprintf(`{"food_id":%d,"count":1}`, food), "", "")
		}
	}
	return cart, err
}

// prepare places the order under the key, which may be asked for again and again, and fills the other cart.
func (s *shopper) prepare(ctx context.Context) error {
	if err := s.login(ctx); err != nil {
		return err
	}
	var err error
	if s.ordered, err = s.fill(ctx, 1); err != nil {
		return err
	}
	if _, err = s.need(ctx, "POST", "/orders", s.orderBody(), s.key(), "id"); err != nil {
		return err
	}
	s.cart, err = s.fill(ctx, 2, 3)
	return err
}

func (s *shopper) key() string       { return fmt.Sprintf("drill-%d", s.user) }
func (s *shopper) orderBody() string { return orderOf(s.ordered).body }

// stock is what is left of each food, as the server lists it.
func (s *shopper) stock(ctx context.Context) (left []int64, err error) {
	status, reply, _, err := s.send(ctx, "GET", "/foods", "", "")
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("cannot list the foods of %s: status %d, %v", s.address, status, err)
	}
	var foods []struct{ Stock int64 }
	if err := json.Unmarshal(reply, &foods); err != nil {
		return nil, fmt.Errorf("cannot list the foods of %s: %w", s.address, err)
	}
	for _, food := range foods {
		left = append(left, food.Stock)
	}
	return left, nil
}

// pieces counts what is left of all foods.
func (s *shopper) pieces(ctx context.Context) (left int64, err error) {
	stock, err := s.stock(ctx)
	for _, pieces := range stock {
		left += pieces
	}
	return left, err
}

// item is some pieces of a food, in an order or as a change of a cart.
type item struct {
	Food  int `json:"food_id"`
	Count int `json:"count"`
}

// bought is what the user has ordered, nil for no order.
func (s *shopper) bought(ctx context.Context) ([]item, error) {
	status, reply, _, err := s.send(ctx, "GET", "/orders", "", "")
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("cannot list the orders of user %d: status %d, %v", s.user, status, err)
	}
	var orders []struct{ Items []item }
	if err := json.Unmarshal(reply, &orders); err != nil || len(orders) > 1 {
		return nil, fmt.Errorf("cannot list the orders of user %d: %q, %v", s.user, reply, err)
	}
	if len(orders) == 0 {
		return nil, nil
	}
	return orders[0].Items, nil
}

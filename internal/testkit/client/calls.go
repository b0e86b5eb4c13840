package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Refusal is an error of the contract: a status from 400 on and the code in its body.
type Refusal struct {
	Status int
	Code   string
}

// Error is the status and the code, as "403 CART_EMPTY".
func (r Refusal) Error() string { return fmt.Sprintf("%d %s", r.Status, r.Code) }

// IsRefused reports whether an error is this refusal.
func IsRefused(err error, status int, code string) bool {
	var r Refusal
	return errors.As(err, &r) && r == Refusal{status, code}
}

// Item is some pieces of a food, in an order or as a change of a cart.
type Item struct {
	Food  int `json:"food_id"`
	Count int `json:"count"`
}

// Pieces makes an item.
func Pieces(food, count int) Item { return Item{food, count} }

// Order is an order that was placed.
type Order struct {
	ID    string `json:"id"`
	User  int    `json:"user_id"` // 0 in a user's own list
	Items []Item `json:"items"`
	Total int    `json:"total"`
}

// Food is a line of the list of foods.
type Food struct {
	ID    int `json:"id"`
	Price int `json:"price"`
	Stock int `json:"stock"`
}

// Call sends one request and reads a JSON answer into the receiver, or skips the body if that is nil. A
// status from 400 on is a Refusal.
func (c *Client) Call(method, path, body string, into any) error {
	r, err := c.Do(method, path, body)
	if err == nil {
		err = r.read(into)
	}
	if _, refused := err.(Refusal); err != nil && !refused {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return err
}

// read reads the body of an answer as Call does.
func (r Reply) read(into any) error {
	var told struct{ Code string }
	refused := r.Status >= http.StatusBadRequest
	if refused {
		into = &told
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(r.Body), into); err != nil {
		return fmt.Errorf("status %d, body %q: %w", r.Status, r.Body, err)
	}
	if refused {
		return Refusal{r.Status, told.Code}
	}
	return nil
}

// Login gets the token that later requests carry.
func (c *Client) Login(name, password string) error {
	var session struct {
		Token string `json:"access_token"`
	}
	c.Token = ""
	err := c.Call("POST", "/login", LoginBody(name, password), &session)
	c.Token = session.Token
	return err
}

// LoginUser logs in as a user of the built-in catalogue.
func (c *Client) LoginUser(user int) error {
	return c.Login(fmt.Sprint("user", user), fmt.Sprint("pass", user))
}

// NewCart returns the ID of a new cart.
func (c *Client) NewCart() (id string, err error) {
	var cart struct {
		ID string `json:"cart_id"`
	}
	body := ""
	if c.EmptyObjects {
		body = "{}"
	}
	err = c.Call("POST", "/carts", body, &cart)
	return cart.ID, err
}

// Add changes a cart.
func (c *Client) Add(cart string, i Item) error {
	return c.Call("PATCH", CartPath(cart), JSON(i), nil)
}

// Order places an order and returns its ID.
func (c *Client) Order(cart string) (id string, err error) {
	var order struct{ ID string }
	err = c.Call("POST", "/orders", OrderBody(cart), &order)
	return order.ID, err
}

// OrderOnce places an order under an Idempotency-Key and repeats it until its outcome is known. After a
// broken connection or a 503 the order may or may not exist; under the same key it is placed only once. When
// ctx ends, the error leaves the outcome unknown.
func (c *Client) OrderOnce(ctx context.Context, cart, key string) (id string, err error) {
	before := c.IdempotencyKey
	c.IdempotencyKey = key
	defer func() { c.IdempotencyKey = before }()
	for {
		r, err := c.Do("POST", "/orders", OrderBody(cart))
		if err == nil && r.Status < http.StatusInternalServerError {
			var order struct{ ID string }
			err = r.read(&order)
			return order.ID, err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("the outcome of the order is unknown: %w", ctx.Err())
		case <-time.After(r.pause()):
		}
	}
}

// pause is the wait before the next try: the answer's Retry-After, or a second without it.
func (r Reply) pause() time.Duration {
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil {
		return time.Second
	}
	return time.Duration(seconds) * time.Second
}

// Fill makes a cart with these items.
func (c *Client) Fill(items ...Item) (cart string, err error) {
	if cart, err = c.NewCart(); err != nil {
		return "", err
	}
	for _, i := range items {
		if err := c.Add(cart, i); err != nil {
			return "", err
		}
	}
	return cart, nil
}

// Buy logs in as a user of the built-in catalogue and orders these items.
func (c *Client) Buy(user int, items ...Item) (order string, err error) {
	if err := c.LoginUser(user); err != nil {
		return "", err
	}
	cart, err := c.Fill(items...)
	if err != nil {
		return "", err
	}
	return c.Order(cart)
}

// Foods lists all foods and the pieces left of them.
func (c *Client) Foods() ([]Food, error) { return list[Food](c, "/foods") }

// Orders lists the user's own orders, at most one.
func (c *Client) Orders() ([]Order, error) { return list[Order](c, "/orders") }

// AllOrders lists every order of the sale, for root.
func (c *Client) AllOrders() ([]Order, error) { return list[Order](c, "/admin/orders") }

func list[T any](c *Client, path string) (all []T, err error) {
	err = c.Call("GET", path, "", &all)
	return all, err
}

// Ready reports whether the server serves the sale now.
func (c *Client) Ready() bool {
	r, err := c.Do("GET", "/readyz", "")
	return err == nil && r.Status == http.StatusOK
}

// CartPath is the path of a cart.
func CartPath(cart string) string { return "/carts/" + url.PathEscape(cart) }

// LoginBody is the body of a login.
func LoginBody(name, password string) string {
	return JSON(struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}{name, password})
}

// OrderBody is the body of an order.
func OrderBody(cart string) string {
	return JSON(struct {
		Cart string `json:"cart_id"`
	}{cart})
}

// JSON is the text of strings and numbers, which never fail to encode.
func JSON(fields any) string {
	text, _ := json.Marshal(fields)
	return string(text)
}

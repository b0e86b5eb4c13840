package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client sends requests on a connection of its own, one after another. Unlike net/http it never sends one twice, so
// that none that fails stays unseen.
type client struct {
	address        string
	token          string
	tokenInQuery   bool // else in a header
	newConnections bool // one for each request
	emptyObjects   bool // a body {} with the calls that take none
	idempotencyKey string
	trust          *tls.Config // nil for plain HTTP

	conn   net.Conn
	reader *bufio.Reader
}

// reply is what was answered.
type reply struct {
	status int
	header http.Header
	body   string
	close  bool // the server closes the connection
}

// refusal is an error that the server answered.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.code) }

// do sends one request. After an error its outcome is unknown and the next one opens a new connection.
func (c *client) do(method, path, body string) (r reply, err error) {
	if err := c.send(method, path, body); err != nil {
		return r, err
	}
	return c.receive(method)
}

func (c *client) send(method, path, body string) error {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.address, patience)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		if c.trust != nil {
			conn = tls.Client(conn, c.trust)
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	var head strings.Builder
	if c.tokenInQuery {
		path += "?access_token=" + c.token
	}
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, c.address)
	if !c.tokenInQuery {
		fmt.Fprintf(&head, "Access-Token: %s\r\n", c.token)
	}
	if c.idempotencyKey != "" {
		fmt.Fprintf(&head, "Idempotency-Key: %s\r\n", c.idempotencyKey)
	}
	if body != "" || method != http.MethodGet {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(c.conn, head.String()+"\r\n"+body); err != nil {
		c.hangUp()
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func (c *client) receive(method string) (r reply, err error) {
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		c.hangUp()
		return r, fmt.Errorf("cannot read the answer to %s: %w", method, err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.hangUp()
		return r, fmt.Errorf("cannot read the answer to %s: %w", method, err)
	}
	if response.Close || c.newConnections {
		c.hangUp()
	}
	return reply{response.StatusCode, response.Header, string(body), response.Close}, nil
}

func (c *client) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// ask sends one request and reads a JSON answer into the receiver, nil for none; a status from 400 is a refusal.
func (c *client) ask(method, path, body string, into any) error {
	r, err := c.do(method, path, body)
	switch {
	case err != nil:
		return err
	case r.status >= 400:
		var told struct{ Code string }
		if err := json.Unmarshal([]byte(r.body), &told); err != nil {
			return fmt.Errorf("%s %s: status %d, body %q: %w", method, path, r.status, r.body, err)
		}
		return refusal{r.status, told.Code}
	case into == nil:
		return nil
	}
	return json.Unmarshal([]byte(r.body), into)
}

func (c *client) login(name, password string) error {
	var session struct {
		Token string `json:"access_token"`
	}
	c.token = ""
	err := c.ask("POST", "/login", fmt.Sprintf(`{"username":%q,"password":%q}`, name, password), &session)
	c.token = session.Token
	return err
}

// loginUser logs in as a user of the built-in catalogue.
func (c *client) loginUser(user int) error {
	return c.login(fmt.Sprint("user", user), fmt.Sprint("pass", user))
}

func (c *client) newCart() (id string, err error) {
	var cart struct {
		ID string `json:"cart_id"`
	}
	body := ""
	if c.emptyObjects {
		body = "{}"
	}
	err = c.ask("POST", "/carts", body, &cart)
	return cart.ID, err
}

// item is some pieces of a food.
type item struct {
	Food  int `json:"food_id"`
	Count int `json:"count"`
}

func (c *client) add(cart string, i item) error {
	return c.ask("PATCH", "/carts/"+cart, fmt.Sprintf(`{"food_id":%d,"count":%d}`, i.Food, i.Count), nil)
}

func (c *client) order(cart string) (id string, err error) {
	var order struct{ ID string }
	err = c.ask("POST", "/orders", fmt.Sprintf(`{"cart_id":%q}`, cart), &order)
	return order.ID, err
}

// fill makes a cart with these items.
func (c *client) fill(items ...item) (cart string, err error) {
	if cart, err = c.newCart(); err != nil {
		return "", err
	}
	for _, i := range items {
		if err := c.add(cart, i); err != nil {
			return "", err
		}
	}
	return cart, nil
}

// buy logs in as a user of the built-in catalogue and orders these items.
func (c *client) buy(user int, items ...item) (order string, err error) {
	if err := c.loginUser(user); err != nil {
		return "", err
	}
	cart, err := c.fill(items...)
	if err != nil {
		return "", err
	}
	return c.order(cart)
}

// order is one of the orders of the sale.
type order struct {
	ID    string
	User  int `json:"user_id"`
	Items []item
	Total int
}

// client returns a client of the server for the test's own goroutine.
func (s *server) client(t *testing.T) *client {
	c := &client{address: s.address, trust: s.trust}
	t.Cleanup(c.hangUp)
	return c
}

// root returns a client that is logged in as root.
func (s *server) root(t *testing.T) *client {
	t.Helper()
	c := s.client(t)
	must(t, c.login("root", rootPassword))
	return c
}

// orders reads all orders of the sale by user.
func (s *server) orders(t *testing.T) map[int]order {
	t.Helper()
	var list []order
	must(t, s.root(t).ask("GET", "/admin/orders", "", &list))
	byUser := map[int]order{}
	for _, o := range list {
		if _, twice := byUser[o.User]; twice {
			t.Errorf("user %d has two orders", o.User)
		}
		byUser[o.User] = o
	}
	return byUser
}

// stock reads the pieces left of each food, as GET /foods has them now.
func (s *server) stock(t *testing.T) map[int]int {
	t.Helper()
	var list []struct{ ID, Stock int }
	must(t, s.root(t).ask("GET", "/foods", "", &list))
	stock := map[int]int{}
	for _, food := range list {
		stock[food.ID] = food.Stock
	}
	return stock
}

// awaitStock waits for the list of foods, which may lag, to show this stock.
func (s *server) awaitStock(t *testing.T, want map[int]int) {
	t.Helper()
	within(t, fmt.Sprintf("stock of %v", want), func() bool { return maps.Equal(s.stock(t), want) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func isRefused(err error, status int, code string) bool {
	var r refusal
	return errors.As(err, &r) && r == refusal{status, code}
}

// Package client speaks the sale's API as a buyer does, for the end-to-end tests, the drills and the tools
// that prepare a load. A buyer needs five calls:
//
//	c := &client.Client{Address: "127.0.0.1:8080"}
//	err := c.Login("user2", "pass2")        // POST /login
//	foods, err := c.Foods()                 // GET /foods
//	cart, err := c.NewCart()                // POST /carts
//	err = c.Add(cart, client.Pieces(1, 2))  // PATCH /carts/:id
//	id, err := c.OrderOnce(ctx, cart, key)  // POST /orders, until its outcome is known
//
// scripts/examples has the same in other languages, to copy.
//
// It sends each request once, on a plain connection, so that tests see every failure; net/http repeats some
// requests. It must not generate load: it builds texts for every request. One goroutine at a time may use a
// Client.
package client

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

const (
	timeoutDefault = 40 * time.Second // for a server that hangs
	replyMax       = 256 << 20        // bytes of a body; the list of a million orders takes less
)

// Client is one user of one server.
type Client struct {
	Address string        // host:port
	TLS     *tls.Config   // with RootCAs and ServerName; nil = plain HTTP
	From    netip.Addr    // to connect from; the zero Addr = the system chooses
	Timeout time.Duration // of a request, and of its connection; 0 = 40 s

	Token          string // Login sets it
	TokenInQuery   bool   // instead of in a header
	NewConnections bool   // a connection for each request
	EmptyObjects   bool   // a body {} with the calls that need no body
	IdempotencyKey string // sent with every request; "" = no key

	OnReply func(method, path string, r Reply) // called with every reply; may be nil

	conn   net.Conn // nil: the next request opens one
	reader *bufio.Reader
}

// Reply is the answer to a request.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	Close  bool // the server closes the connection
}

// Do sends one request and reads its answer, whatever its status. After an error the outcome is unknown, and
// the next request opens a new connection.
func (c *Client) Do(method, path, body string) (Reply, error) {
	if err := c.Send(method, path, body); err != nil {
		return Reply{}, err
	}
	return c.Receive(method, path)
}

// Send is the first half of Do; Receive must follow.
func (c *Client) Send(method, path, body string) error {
	err := c.SendRaw(c.request(method, path, body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// SendRaw sends bytes as they are, on the connection of the other requests.
func (c *Client) SendRaw(raw string) error {
	if c.conn == nil {
		dialer := net.Dialer{Timeout: c.timeout()}
		if c.From.IsValid() {
			dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.From, 0))
		}
		conn, err := dialer.Dial("tcp", c.Address)
		if err != nil {
			return err
		}
		if c.TLS != nil {
			conn = tls.Client(conn, c.TLS)
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	err := c.conn.SetDeadline(time.Now().Add(c.timeout()))
	if err == nil {
		_, err = io.WriteString(c.conn, raw)
	}
	if err != nil {
		c.HangUp()
	}
	return err
}

// Receive reads the answer to the request that Send sent, or SendRaw.
func (c *Client) Receive(method, path string) (r Reply, err error) {
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(response.Body, replyMax+1))
	}
	if err == nil && len(body) > replyMax {
		err = fmt.Errorf("a body of more than %d bytes", replyMax)
	}
	if err != nil {
		c.HangUp()
		return r, fmt.Errorf("cannot read the answer to %s %s: %w", method, path, err)
	}
	if response.Close || c.NewConnections {
		c.HangUp()
	}
	r = Reply{response.StatusCode, response.Header, string(body), response.Close}
	if c.OnReply != nil {
		c.OnReply(method, path, r)
	}
	return r, nil
}

// HangUp closes the connection, if there is one.
func (c *Client) HangUp() {
	if c.conn != nil {
		_ = c.conn.Close() // no reply is awaited any more
		c.conn = nil
	}
}

// AwaitEnd returns once the server has closed the connection; further bytes are an error.
func (c *Client) AwaitEnd() error {
	if c.conn == nil {
		return nil
	}
	n, err := c.reader.Read(make([]byte, 1))
	c.HangUp()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("the connection gave %d bytes instead of its end: %w", n, err)
}

func (c *Client) timeout() time.Duration {
	if c.Timeout == 0 {
		return timeoutDefault
	}
	return c.Timeout
}

// request is the text of a request, with token and key.
func (c *Client) request(method, path, body string) string {
	var text strings.Builder
	if c.TokenInQuery {
		path += "?access_token=" + c.Token
	}
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, c.Address)
	if !c.TokenInQuery && c.Token != "" {
		fmt.Fprintf(&text, "Access-Token: %s\r\n", c.Token)
	}
	if c.IdempotencyKey != "" {
		fmt.Fprintf(&text, "Idempotency-Key: %s\r\n", c.IdempotencyKey)
	}
	if body != "" || method != http.MethodGet {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(body))
	}
	return text.String() + "\r\n" + body
}

package eventloop

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// client is a client of a stand, with the bytes as they are.
type client struct {
	*net.TCPConn
	s       *stand
	replies *bufio.Reader
}

func newClient(s *stand, c *net.TCPConn) *client { return &client{c, s, bufio.NewReader(c)} }

// get is a request without a body.
func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" }

// post is a request with a body.
func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

func (c *client) send(text ...string) {
	c.s.Helper()
	if _, err := io.WriteString(c, strings.Join(text, "")); err != nil {
		c.s.Fatal(err)
	}
}

// reply is what a client sees of a response.
type reply struct {
	status int
	body   string
	close  bool
}

func ok(body string) reply { return reply{http.StatusOK, body, false} }

// closing is ok with the last reply of a connection.
func closing(body string) reply { return reply{http.StatusOK, body, true} }

// read reads the next reply to a request with a method.
func (c *client) read(method string) (reply, error) {
	r, err := http.ReadResponse(c.replies, &http.Request{Method: method})
	if err != nil {
		return reply{}, err
	}
	body, err := io.ReadAll(r.Body)
	return reply{r.StatusCode, string(body), r.Close}, err
}

// want reads replies, each to a GET or POST.
func (c *client) want(replies ...reply) {
	c.s.Helper()
	for i, want := range replies {
		got, err := c.read(http.MethodGet)
		if err != nil {
			c.s.Fatalf("reply %d, want %+v: %v", i, want, err)
		}
		if got != want {
			c.s.Fatalf("reply %d: %+v, want %+v", i, got, want)
		}
	}
}

// wantEnd reads the end of the connection.
func (c *client) wantEnd() {
	c.s.Helper()
	if _, err := c.replies.Peek(1); !errors.Is(err, io.EOF) {
		rest := make([]byte, c.replies.Buffered())
		c.replies.Read(rest)
		c.s.Errorf("the connection goes on with %q, %v", rest, err)
	}
}

// reset ends the connection without its order.
func (c *client) reset() {
	c.s.Helper()
	if err := errors.Join(c.SetLinger(0), c.Close()); err != nil {
		c.s.Fatal(err)
	}
}

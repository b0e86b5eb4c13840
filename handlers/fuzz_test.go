package handlers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/tokens"
)

// statuses are all that the server answers; 500 is not among them.
var statuses = map[int]bool{100: true, 200: true, 204: true, 400: true, 401: true, 403: true, 404: true,
	405: true, 413: true,
	414: true, 431: true, 503: true}

// FuzzRequest sends any bytes as what comes on a connection. In them TOKEN stands for a token of user 2 and
// CART for a cart. Each reply must be one that net/http reads, with a status and a body as the contract has
// them, and none may give away anything without the token.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET /foods HTTP/1.1\r\nHost: shop\r\nAccess-Token: TOKEN\r\n\r\n",
		"GET /foods?access_token=TOKEN HTTP/1.1\r\nHost: shop\r\n\r\nGET /readyz HTTP/1.0\r\n\r\n",
		"POST /login HTTP/1.1\r\nHost: shop\r\nContent-Length: 39\r\n\r\n" +
			"{\"username\":\"user2\",\"password\":\"pass2\"}",
		"PATCH /carts/CART HTTP/1.1\r\nHost: shop\r\naccess-token: TOKEN\r\nContent-Length: 23\r\n\r\n" +
			"{\"food_id\":1,\"count\":1}",
		"POST /orders HTTP/1.1\r\nHost: shop\r\nAccess-Token: TOKEN\r\nIdempotency-Key: k\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"POST /carts HTTP/1.1\r\nHost: shop\r\nAccess-Token: TOKEN\r\nExpect: 100-continue\r\n" +
			"Content-Length: 0\r\n\r\n",
		"GET /%66oods#x HTTP/1.1\r\nHost: shop\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"DELETE http://shop/orders?a=%zz&access_token=%41 HTTP/1.1\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00",
	} {
		f.Add([]byte(text))
	}
	s, replace := closedShop(f)
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("HEAD")) {
			// Its replies have lengths without bodies: one must know the request to find the next one.
			return
		}
		c := &recording{closed: make(chan struct{})}
		slot, ok := s.limiter.Admit(netip.Addr{})
		received := []byte(replace.Replace(string(text)))
		if !ok || len(received) > requests.Longest() {
			return
		}
		s.goroutines.Lend(nil, c, slot, received)
		<-c.closed
		replies := bufio.NewReader(&c.out)
		for {
			if _, err := replies.Peek(1); errors.Is(err, io.EOF) {
				return
			}
			reply, err := http.ReadResponse(replies, nil)
			if err != nil {
				t.Fatalf("%q: a reply is not HTTP: %v", text, err)
			}
			body, err := io.ReadAll(reply.Body)
			if err != nil {
				t.Fatalf("%q: a reply is cut: %v", text, err)
			}
			checkReply(t, reply, body)
			given := bytes.HasPrefix(body, []byte("[")) || bytes.HasPrefix(body, []byte(`{"cart_id"`)) ||
				reply.StatusCode == 204
			if given && !bytes.Contains(text, []byte("TOKEN")) {
				t.Errorf("%q: answered %d %s without a token", text, reply.StatusCode, body)
			}
		}
	})
}

// closedShop returns a Server without a Redis, so that requests end where they would ask it. The Replacer
// puts in the strings that a fuzzer cannot guess.
func closedShop(tb testing.TB) (*Server, *strings.Replacer) {
	users, err := catalog.Load(tb.Context(), catalog.Config{Users: 20, Foods: 5, Stock: 10,
		RootPassword: "toor"})
	testkit.Must(tb, err)
	keys, err := tokens.New("aaaaaaaa", secret)
	testkit.Must(tb, err)
	redis := redisx.Config{CartTTL: time.Hour}
	redis.Timeout = time.Second
	sale := redisx.Join(redis, "aaaaaaaa", 5, 20)
	s := New(Config{Catalog: users, Keys: keys, Sale: sale, TokenTTL: time.Hour})
	s.Publish(snapshotOf([]int64{10, 10, 10, 10, 10}))
	return s, strings.NewReplacer("TOKEN", string(keys.AppendAccess(nil, 2, 1, time.Now().Add(24*time.Hour))),
		"CART", string(keys.AppendCart(nil, 2, 2)))
}

// checkReply fails the test for what no reply may be.
func checkReply(t *testing.T, reply *http.Response, body []byte) {
	t.Helper()
	if !statuses[reply.StatusCode] {
		t.Errorf("status %d %s", reply.StatusCode, body)
	}
	if reply.StatusCode < 400 {
		return
	}
	var refusal map[string]string
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&refusal); err != nil || len(refusal) != 2 || refusal["code"] == "" ||
		refusal["message"] == "" {
		t.Errorf("status %d with body %q, %v; want code and message", reply.StatusCode, body, err)
	}
	if reply.Header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d with Content-Type %q", reply.StatusCode, reply.Header.Get("Content-Type"))
	}
}

// recording is a connection on which nothing more comes.
type recording struct {
	net.Conn // nil: what is not below must not be called
	out      bytes.Buffer
	closed   chan struct{}
}

func (c *recording) Read([]byte) (int, error)    { return 0, io.EOF }
func (c *recording) Write(b []byte) (int, error) { return c.out.Write(b) }
func (c *recording) Close() error                { close(c.closed); return nil }
func (c *recording) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
}
func (c *recording) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2}
}

func (c *recording) SetDeadline(time.Time) error      { return nil }
func (c *recording) SetReadDeadline(time.Time) error  { return nil }
func (c *recording) SetWriteDeadline(time.Time) error { return nil }

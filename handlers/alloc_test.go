package handlers

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// The hot flow does not allocate: handler, token and redisx together; nor do IDs of requests, given or made,
// and an access log in which the request has no line.
func TestHotFlowDoesNotAllocate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"plain": func(*Config) {}, "IDs given": trustLoopback,
		"IDs made": func(cfg *Config) { cfg.RequestIDs = true },
		"a log": func(cfg *Config) {
			trustLoopback(cfg)
			cfg.AccessLog, _ = newAccessLog(t, 1<<40)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "unix", redistest.Start(t).Socket)
			change(&s.cfg)
			s.callHot(t, name)
		})
	}
}

// callHot makes each hot call, which must not allocate.
func (s *shop) callHot(t *testing.T, name string) {
	t.Helper()
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"login", "POST", "/login", `{"username":"user2","password":"pass2"}`, 200},
		{"foods", "GET", "/foods", "", 200},
		{"cart", "POST", "/carts", "{}", 200},
		{"add", "PATCH", "/carts/" + s.cartOf(2), `{"food_id":1,"count":-1}`, 204},
		{"order", "POST", "/orders", `{"cart_id":"` + s.cartOf(2) + `"}`, 403},
	} {
		token := "access_token=" + s.token(2)
		for _, query := range []string{"", "?" + token, "?details=1&" + token} {
			var request fasthttp.Request
			request.Header.SetMethod(tc.method)
			request.SetRequestURI(tc.path + query)
			request.SetBodyString(tc.body)
			if query == "" {
				request.Header.Set("Access-Token", s.token(2))
			}
			if name == "IDs given" {
				request.Header.Set(requestIDHeader, "front")
			}
			var ctx fasthttp.RequestCtx
			ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
			n := testkit.Allocations(func() {
				ctx.Response.Reset()
				s.handle(&ctx)
			})
			if ctx.Response.StatusCode() != tc.status {
				t.Errorf("%s%s: %d %s", tc.name, query, ctx.Response.StatusCode(), ctx.Response.Body())
			}
			if n != 0 {
				t.Errorf("%s%s: %v allocations, want 0", tc.name, query, n)
			}
			id := string(ctx.Response.Header.Peek(requestIDHeader))
			if name == "IDs given" && id != "front" || name == "IDs made" && !madeID.MatchString(id) {
				t.Errorf("%s%s: answered with the ID %q", tc.name, query, id)
			}
		}
	}
}

// allocsOf has a request handled many times, and returns its status and how often each time allocates.
func (s *shop) allocsOf(method, uri, body string, header ...string) (status int, allocs float64) {
	var request fasthttp.Request
	request.Header.SetMethod(method)
	request.SetRequestURI(uri)
	request.SetBodyString(body)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
	allocs = testkit.Allocations(func() { // the first run, which is not counted, begins a cart
		ctx.Response.Reset()
		s.handle(&ctx)
	})
	return ctx.Response.StatusCode(), allocs
}

// The hot flow over a connection does not allocate on the event loop, from accept to close: also where every
// request comes on a connection of its own, as those of contest clients do, and where a proxy has given
// each an ID.
func TestLoopDoesNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Log("not counted under -race")
		return
	}
	for _, test := range []struct {
		name              string
		newConns, trusted bool
	}{{"kept alive", false, false}, {"a new connection for each", true, false}, {"with IDs", false, true}} {
		newConns := test.newConns
		t.Run(test.name, func(t *testing.T) {
			s := openOnLoop(t, "unix", redistest.Start(t).Socket)
			if test.trusted {
				s.do(func() { trustLoopback(&s.cfg) })
			}
			const warm, runs = 20, 300
			flows := s.flows(warm+runs, newConns)
			c := newQuietClient(t, s.l.Addr().(*net.TCPAddr).Port, newConns)
			// testing.AllocsPerRun would take all processors but one, which the loop keeps while it waits.
			c.send(t, flows[:warm])
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c.send(t, flows[warm:])
			runtime.ReadMemStats(&after)
			// What remains are pools that fill once more, where the loop has moved to another processor.
			if n := after.Mallocs - before.Mallocs; n >= runs {
				t.Errorf("%d allocations for %d flows, want none", n, runs)
			} else {
				t.Logf("%d allocations for %d flows", n, runs)
			}
		})
	}
}

// quietCall is a request and what its reply begins with.
type quietCall struct{ request, status []byte }

// flows are calls of buyers. In each flow the cart is new, and at most as many of a user as the server does
// not look after (redisx.begunCarts); the order is placed, or was under the same key.
func (s *shop) flows(count int, newConns bool) [][5]quietCall {
	connection := ""
	if newConns {
		connection = "Connection: close\r\n"
	}
	flows := make([][5]quietCall, count)
	for i := range flows {
		const users = 20
		user, nonce := uint32(i%users+1), uint64(i/users)
		cart := string(s.keys.AppendCart(nil, user, nonce))
		request := func(status int, method, path, body string) quietCall {
			return quietCall{fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: shop\r\nAccess-Token: %s\r\n"+
				"Idempotency-Key: k\r\nX-Request-Id: front\r\n%sContent-Length: %d\r\n\r\n%s", method, path,
				s.token(user), connection, len(body), body), fmt.Appendf(nil, "HTTP/1.1 %d ", status)}
		}
		flows[i] = [5]quietCall{
			request(200, "POST", "/login", rawLogin), request(200, "GET", "/foods", ""),
			request(200, "POST", "/carts", "{}"),
			request(204, "PATCH", "/carts/"+cart, fmt.Sprintf(`{"food_id":%d,"count":1}`, i%5+1)),
			request(200, "POST", "/orders", `{"cart_id":"`+cart+`"}`),
		}
	}
	return flows
}

// quietClient is a client that does not allocate.
type quietClient struct {
	to       unix.SockaddrInet4
	fd       int
	newConns bool
	reply    [4 << 10]byte
}

func newQuietClient(t *testing.T, port int, newConns bool) *quietClient {
	t.Helper()
	c := &quietClient{to: unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}, newConns: newConns}
	if !newConns {
		c.connect(t)
		t.Cleanup(func() { unix.Close(c.fd) })
	}
	return c
}

func (c *quietClient) connect(t *testing.T) {
	var err error
	if c.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	limit := unix.NsecToTimeval(int64(20 * time.Second))
	testkit.Must(t, unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit))
	testkit.Must(t, unix.Connect(c.fd, &c.to))
}

func (c *quietClient) send(t *testing.T, flows [][5]quietCall) {
	for i := range flows {
		for j := range flows[i] {
			c.call(t, &flows[i][j])
		}
	}
}

// call sends a request and reads the reply, which the server sends in one piece, and the end of the
// connection if it is a new one.
func (c *quietClient) call(t *testing.T, call *quietCall) {
	if c.newConns {
		c.connect(t)
		defer unix.Close(c.fd)
	}
	if _, err := unix.Write(c.fd, call.request); err != nil {
		t.Fatal(err)
	}
	n, err := c.read()
	if err != nil || !bytes.HasPrefix(c.reply[:n], call.status) {
		t.Fatalf("%q: %q, %v", call.request, c.reply[:max(n, 0)], err)
	}
	if !c.newConns {
		return
	}
	if n, err := c.read(); n != 0 || err != nil {
		t.Fatalf("%q: behind the reply %d bytes, %v", call.request, n, err)
	}
}

func (c *quietClient) read() (n int, err error) {
	for {
		// A wait with a limit is not taken up again after a signal to the thread.
		if n, err = unix.Read(c.fd, c.reply[:]); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

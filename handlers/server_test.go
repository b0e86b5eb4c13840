package handlers

import (
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// With Redis gone every call that needs it gets 503 in time; the others go on.
func TestRedisGone(t *testing.T) { onEngines(t, testRedisGone) }

func testRedisGone(t *testing.T, open opener) {
	server := redistest.New(t)
	s := open(t, "unix", server.Socket)
	server.Kill(t)
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", "/carts/" + s.cartOf(1), `{"food_id":1,"count":1}`},
		{"POST", "/orders", `{"cart_id":"` + s.cartOf(1) + `"}`},
		{"GET", "/orders", ""}, {"GET", "/admin/orders", ""}, {"GET", "/readyz", ""},
	} {
		if h := s.expect(t, 1, c.method, c.path, c.body, 503, unavailable); h.Get("Retry-After") != "1" {
			t.Errorf("%s %s: Retry-After %q, want 1", c.method, c.path, h.Get("Retry-After"))
		}
	}
	if status, _, _ := s.call(t, 1, "GET", "/foods", ""); status != 200 {
		t.Errorf("GET /foods: %d", status)
	}
	if status, _, _ := s.call(t, 0, "POST", "/login",
		`{"username":"user2","password":"pass2"}`); status != 200 {
		t.Errorf("POST /login: %d", status)
	}
	if status, _, _ := s.call(t, 1, "POST", "/carts", ""); status != 200 {
		t.Errorf("POST /carts: %d", status)
	}
}

// A panic in a handler is a 500 for its request and nothing to the others.
func TestPanic(t *testing.T) { onBoth(t, testPanic) }

func testPanic(t *testing.T, s *shop) {
	keys := s.cfg.Keys
	s.do(func() { s.cfg.Keys = nil })
	s.expect(t, 1, "GET", "/foods", "", 500, `{"code":"INTERNAL_ERROR","message":"内部错误"}`)
	s.do(func() { s.cfg.Keys = keys })
	s.expect(t, 1, "GET", "/orders", "", 200, "[]")
}

// A connection over the limit gets a reply of 503 and is closed.
func TestTooManyConnections(t *testing.T) { onBoth(t, testTooManyConnections) }

func testTooManyConnections(t *testing.T, s *shop) {
	address := s.twin(func(cfg *Config) { cfg.ConnsMax = 1 }).listen(t)
	first := dial(t, address)
	send(t, first, getHead+"\r\n")
	if _, err := io.ReadFull(first, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", address)
	testkit.Must(t, err)
	defer c.Close()
	const want = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n" +
		"Content-Length: 55\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" + unavailable
	if text, err := io.ReadAll(c); err != nil || string(text) != want {
		t.Errorf("refused with %q, %v; want %q", text, err, want)
	}
}

// The kernel keeps a bounded part of the replies that a client does not read.
func TestSendsAreBounded(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	encrypted, _, _ := s.encrypted(t)
	for name, address := range map[string]string{
		"event loop": openOnLoop(t, "unix", redistest.Start(t).Socket).l.Addr().String(),
		"goroutines": s.twin(func(*Config) {}).listen(t), "TLS": encrypted,
	} {
		dial := func(text string) net.Conn {
			c, err := net.Dial("tcp", address)
			testkit.Must(t, err)
			t.Cleanup(func() { c.Close() })
			io.WriteString(c, text) // or it is not accepted yet
			return c
		}
		io.Copy(io.Discard, dial("no request\r\n\r\n")) // the server has begun
		client := dial("G")
		testkit.Until(t, "connection with a bound, "+name, func() bool {
			return sendBufferTo(client.LocalAddr().(*net.TCPAddr).Port) == 2*listener.SendBuffer // of the kernel
		})
	}
}

// sendBufferTo returns the size of the send buffer of this process's connection to a port, 0 for none.
func sendBufferTo(port int) int {
	for fd := range 1024 {
		peer, err := unix.Getpeername(fd)
		if to, ok := peer.(*unix.SockaddrInet4); err == nil && ok && to.Port == port {
			size, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
			return size
		}
	}
	return 0
}

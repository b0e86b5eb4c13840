package deploy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

const (
	perAddress = 20 // in the place of 2000 and 1500
	healthz    = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
	buy        = "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
)

// limited makes the limit of a front small and its time limits long.
var limited = map[string][]string{
	"haproxy": {"CONNS_PER_IP 2000", "CONNS_PER_IP 20", "timeout server 10s", "timeout server 60s",
		"timeout http-request 5s", "timeout http-request 600s",
		"timeout client 30s", "timeout client 600s"},
	"nginx": {"limit_conn requests 1500", "limit_conn requests 20", "proxy_read_timeout 10s",
		"proxy_read_timeout 60s",
		"client_header_timeout 5s", "client_header_timeout 600s"},
}

// An address with as many requests under way as it may have gets no more; all others do, and so does an
// address of the operator's network.
func TestFrontsLimitAddresses(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		greedy, other, own := newNetwork()+"1", newNetwork()+"1", newNetwork()+"1"
		server := newBackend(t, true)
		front := startFront(t, name, server.address, own+"/32", limited[name]...)
		server.hang.Store(true)
		for _, from := range []string{greedy, own} {
			for range perAddress {
				_, err := dial(t, from, front).Write([]byte(buy))
				testkit.Must(t, err)
			}
		}
		testkit.Until(t, "the requests are under way", func() bool {
			return server.served.Load() == 2*perAddress
		})
		server.hang.Store(false)
		for from, want := range map[string]int{other: 200, own: 200, greedy: map[string]int{"nginx": 503}[name]} {
			reply := once(t, from, front, buy)
			if status(reply) != want {
				t.Errorf("%s is answered %q, want %d", from, reply, want)
			}
			if want == 503 && !strings.HasSuffix(reply, "\r\n\r\n"+unavailable) {
				t.Errorf("the refusal is %q", reply)
			}
		}
	})
}

// Connections without a request, from one address, do not keep others out: HAProxy closes them at its
// limit, nginx when it has no more room.
func TestFrontsSurviveIdleConnections(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		const most = 1000 // connections of nginx in these tests, twice those of HAProxy
		greedy, other := newNetwork()+"1", newNetwork()+"1"
		server := newBackend(t, true)
		front := startFront(t, name, server.address, "192.0.2.0/24", limited[name]...)
		for range most + 100 {
			conn, err := connect(greedy, front)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break // the front takes no more, and the next ones would wait as long
			}
			if err == nil { // else it was closed at once
				t.Cleanup(func() { conn.Close() })
			}
		}
		if reply := once(t, other, front, healthz); status(reply) != 200 {
			t.Errorf("another address is answered %q", reply)
		}
	})
}

// dial connects from an address of this machine.
func dial(t *testing.T, from, to string) net.Conn {
	t.Helper()
	conn, err := connect(from, to)
	testkit.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func connect(from, to string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	return dialer.Dial("tcp", to)
}

// once sends a request on a connection of its own; "" is the answer when that is closed, at whatever moment.
func once(t *testing.T, from, to, raw string) (reply string) {
	t.Helper()
	conn, err := connect(from, to)
	if err != nil {
		return ""
	}
	defer conn.Close()
	reply, _ = exchangeOver(t, conn, raw)
	return reply
}

const tooLarge = `{"code":"BODY_TOO_LARGE","message":"请求体过大"}`

// What rooms take passes, and everything else stays small.
func TestFrontsLimitBodies(t *testing.T) {
	const small, room, event = 4 << 10, 64 << 10, 1 << 20
	each(t, func(t *testing.T, name string) {
		server := newBackend(t, true)
		front := startFront(t, name, server.address, everywhere)
		for path, most := range map[string]int{
			"/login": small, "/carts/x": small, "/orders": small, "/live": small, "/admin/sale": small,
			"/users": small, "/contacts/x": small, "/presence": small, "/x/repeats": small, "/x/threads": small,
			"/threads": room, "/threads/u2-3/messages": room, "/rooms/sale/messages": room,
			"/blocklist/check": room, "/limits/check": room, "/repeats": room, "/traffic/hit": room,
			"/vk/callback": event,
		} {
			for bytes, want := range map[int]int{most: 200, most + 1: 413} {
				body := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", path, bytes,
					strings.Repeat("x", bytes))
				reply, _ := exchange(t, front, body)
				for range 9 { // the kernel may drop a 413 that is sent before the body has come
					if reply != "" || want == 200 {
						break
					}
					reply, _ = exchange(t, front, body)
				}
				if status(reply) != want || want == 413 && !strings.HasSuffix(reply, "\r\n\r\n"+tooLarge) {
					t.Errorf("%d bytes to %s are answered %q, want %d", bytes, path, reply, want)
				}
			}
		}
	})
}

// No client writes into the log of a front, whatever it sends. HAProxy logs servers that go.
func TestFrontsLogNoRequest(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		gone := newNetwork() + "1:8080"
		server := newBackend(t, true)
		front, run := launchFront[name](t, [3]string{server.address, gone, gone}, "192.0.2.0/24")
		const text = "textofaclient"
		head := " /" + text + " HTTP/1.1\r\nHost: " + text + "\r\nX: " + text + "\r\n"
		for _, raw := range []string{
			"GET" + head + "\r\n", // two servers do not answer it
			"POST" + head + "Content-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000),
			"POST" + head + "Content-Length: -1\r\n\r\n",
			"GET" + head + "a b: c\r\n\r\n",
			"GET /admin/" + text + " HTTP/1.1\r\nHost: a\r\n\r\n",
			text + "\r\n\r\n",
		} {
			for range 3 {
				exchange(t, front, raw)
			}
		}
		if name == "haproxy" {
			testkit.Until(t, "a line on the servers", func() bool {
				return strings.Contains(run.Written(t), "Server servers/two is DOWN")
			})
		}
		run.Stop()
		if log := run.Written(t); strings.Contains(log, text) || strings.Contains(log, "client") {
			t.Errorf("the log has requests:\n%s", log)
		}
	})
}

package deploy

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
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
		servers := [3]string{server.address, server.address, server.address}
		front := fronts[name](t, servers, own+"/32", limited[name]...)
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
		servers := [3]string{server.address, server.address, server.address}
		front := fronts[name](t, servers, "192.0.2.0/24", limited[name]...)
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

// A Redis without memory refuses to fill carts; what is in carts can still be ordered.
func TestFullRedis(t *testing.T) {
	redis := redistest.New(t)
	host := newNetwork() + "1"
	newServer(t, redis.Socket, host)
	setMemory := func(bytes string) {
		reply, err := launch.AskRedis(redis.Socket, patience, "CONFIG", "SET", "maxmemory", bytes)
		if err != nil || reply != "OK" {
			t.Fatal(reply, err)
		}
	}
	awaitReadyz := func(status int) {
		t.Helper()
		testkit.Until(t, "/readyz follows the memory of Redis", func() bool {
			return get(http.DefaultClient, "http://"+host+":8080/readyz") == status
		})
	}
	b := newBuyer(t, host+":8080")
	var filled []string
	for _, user := range []int{2, 3} {
		testkit.Must(t, b.LoginUser(user))
		cart, err := b.Fill(client.Pieces(1, 3), client.Pieces(1, -2)) // user 3's is settled below
		testkit.Must(t, err)
		filled = append(filled, cart)
	}
	if status, reply := call(b, "PATCH", client.CartPath(filled[1]), `{"food_id":2,"count":3}`); status != 403 {
		t.Fatalf("too many pieces: %d %s", status, reply)
	}
	setMemory("1")
	awaitReadyz(http.StatusServiceUnavailable)
	for i, user := range []int{2, 3} {
		testkit.Must(t, b.LoginUser(user))
		empty, err := b.NewCart()
		testkit.Must(t, err)
		for _, cart := range []string{filled[i], empty} {
			if status, reply := call(b, "PATCH", client.CartPath(cart), `{"food_id":2,"count":1}`); status != 503 {
				t.Errorf("a cart is filled in a full Redis: %d %s", status, reply)
			}
		}
		if _, err := b.Order(filled[i]); err != nil {
			t.Errorf("an order of user %d in a full Redis: %v", user, err)
		}
	}
	setMemory("0")
	awaitReadyz(http.StatusOK)
	if _, err := b.Buy(4, client.Pieces(1, 1)); err != nil {
		t.Error(err)
	}
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

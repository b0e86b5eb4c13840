package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script is what a server does on one connection: one answer per request read; after the last one it closes.
// An empty answer closes at once, "reset" by a reset; "silence" answers nothing until the client goes away.
type script []string

// serveScripts plays one script per connection, in the order of the connections, and returns the address.
func serveScripts(t *testing.T, scripts ...script) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for _, s := range scripts {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			play(conn, s)
		}
	}()
	return listener.Addr().String()
}

func play(conn net.Conn, s script) {
	defer conn.Close()
	request := make([]byte, len("request"))
	for _, answer := range s {
		if _, err := io.ReadFull(conn, request); err != nil || answer == "" {
			return
		}
		if answer == "reset" {
			_ = conn.(*net.TCPConn).SetLinger(0)
			return
		}
		if answer == "silence" {
			_, _ = io.Copy(io.Discard, conn)
			return
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

const (
	fine    = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
)

func TestClientConnections(t *testing.T) {
	tests := map[string]struct {
		scripts    []script
		twice      bool   // of the second request
		fault      string // of the second request
		opened     int64
		reconnects int64
	}{
		"kept alive":            {[]script{{fine, fine}}, false, "", 1, 0},
		"closed as announced":   {[]script{{closing}, {fine}}, false, "", 2, 0},
		"closed while idle":     {[]script{{fine}, {fine}}, true, "", 2, 1},
		"closed at the request": {[]script{{fine, ""}, {fine}}, true, "", 2, 1},
		"closed twice":          {[]script{{fine}, {""}, {fine}}, true, "closed by server", 2, 1},
		"reset twice":           {[]script{{fine, "reset"}, {"reset"}}, true, "reset by server", 2, 1},
		"closed within a reply": {[]script{{fine, fine[:20]}, {fine}}, false, "closed by server", 1, 0},
		"silent":                {[]script{{fine, "silence"}, {fine}}, false, "timeout", 1, 0},
		"malformed": {[]script{{fine, "what?\r\n\r\n"}, {fine}}, false,
			"malformed reply", 1, 0},
		"more than asked for": {[]script{{fine, fine + "HTTP"}, {fine}}, false, "malformed reply", 1, 0},
		"too long": {[]script{{fine, strings.Replace(fine, "2", "99999999", 1)}, {fine}}, false,
			"malformed reply", 1, 0},
		"in chunks": {[]script{{fine, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n" +
			"1\r\nk\r\n0\r\n\r\n"}}, false, "", 1, 0},
		"until the end":          {[]script{{fine, "HTTP/1.1 200 OK\r\n\r\nok"}}, false, "", 1, 0},
		"closed without another": {[]script{{fine, ""}}, true, "timeout", 2, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 20 * time.Second
			if test.fault == "timeout" {
				timeout = 2 * time.Second
			}
			c := newClient([]string{serveScripts(t, test.scripts...)}, nil, timeout)
			defer c.close()
			if rep, twice, err := c.send(0, []byte("request")); err != nil || twice || rep.status != 200 ||
				string(rep.body) != "ok" {
				t.Fatalf("first request: %+v, %t, %v", rep, twice, err)
			}
			rep, twice, err := c.send(0, []byte("request"))
			if twice != test.twice || (err == nil) != (test.fault == "") || err == nil &&
				string(rep.body) != "ok" {
				t.Errorf("second request: %+v, twice %t, %v", rep, twice, err)
			}
			if err != nil && faultKind(err) != test.fault {
				t.Errorf("fault %q of %v, want %q", faultKind(err), err, test.fault)
			}
			if err != nil && c.conns[0] != nil {
				t.Error("the failed connection is kept")
			}
			if c.traffic.Connections != test.opened || c.traffic.Reconnects != test.reconnects ||
				name == "kept alive" && (c.traffic.BytesSent != 14 || c.traffic.BytesReceived != int64(2*len(fine))) {
				t.Errorf("traffic = %+v", c.traffic)
			}
		})
	}
}

func TestClientNamesFailedDial(t *testing.T) {
	noPort := fmt.Errorf("%w: %w", errConnect, os.NewSyscallError("connect", syscall.EADDRNOTAVAIL))
	if got := faultKind(noPort); got != "no free port" {
		t.Errorf("%v is %q", noPort, got)
	}
	// A handshake that fails is no reply that was lost: nothing was sent.
	for address, config := range map[string]*tls.Config{
		"127.0.0.1:1":                 nil,
		serveScripts(t, script{fine}): {InsecureSkipVerify: true},
	} {
		_, twice, err := newClient([]string{address}, config, 20*time.Second).send(0, []byte("request"))
		if !errors.Is(err, errConnect) || twice || faultKind(err) != "connect" {
			t.Errorf("%s: twice %t, %v", address, twice, err)
		}
	}
}

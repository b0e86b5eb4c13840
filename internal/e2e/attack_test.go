package e2e

import (
	"fmt"
	"io"
	"net"
	"testing"

	"flashsale/internal/testkit"
)

// knock connects from an address. The answer, to a request that is then sent or without one, comes in the
// channel.
func (s *server) knock(t *testing.T, from string) (c net.Conn, answer chan string) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: testkit.Patience}
	c, err := dialer.Dial("tcp", s.Address)
	testkit.Must(t, err)
	t.Cleanup(func() { c.Close() })
	answer = make(chan string, 1)
	go func() {
		line := make([]byte, len("HTTP/1.1 200"))
		n, _ := io.ReadFull(c, line) // nothing comes of a refusal that a reset has overtaken
		answer <- string(line[:n])
	}()
	return c, answer
}

const healthz = "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n"

// All workers together hold no more connections than they may; one that ends makes room for another.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	const limit, tried = 20, 200
	s := setup{args: []string{"-users", "2", "-workers", "2", "-max-conns", fmt.Sprint(limit)}}.serve(t)
	var conns []net.Conn
	var answers []chan string
	for range tried {
		c, answer := s.knock(t, "127.0.0.1")
		conns, answers = append(conns, c), append(answers, answer)
	}
	// Those that are refused get their answer without a request.
	testkit.Until(t, "refusal of all above the limit", func() bool { return waiting(answers) == limit })
	var open int
	for i, answer := range answers {
		if len(answer) == 1 {
			if text := <-answer; text != "HTTP/1.1 503" {
				t.Errorf("a connection is refused with %q", text)
			}
			continue
		}
		if _, err := io.WriteString(conns[i], healthz); err != nil {
			t.Errorf("a connection that is not refused: %v", err)
		}
		if text := <-answer; text != "HTTP/1.1 200" {
			t.Errorf("a connection that is not refused is answered %q", text)
		}
		open++
	}
	if open != limit {
		t.Errorf("%d connections are open, want %d", open, limit)
	}
	// of a run that takes 20 s
	var n int
	testkit.Until(t, "a line of each worker", func() bool {
		n = s.Logged(t, "connections are refused: all that -max-conns and the limit of open files")
		return n >= 2
	})
	if n > 6 {
		t.Errorf("the refusals of %d connections by two workers are logged %d times", tried-limit, n)
	}
	for _, c := range conns {
		c.Close()
	}
	testkit.Until(t, "room for a client", func() bool { return s.client(t).LoginUser(2) == nil })
	s.End(t)
}

// waiting counts the answers that have not come.
func waiting(answers []chan string) (n int) {
	for _, answer := range answers {
		if len(answer) == 0 {
			n++
		}
	}
	return n
}

// One address has no more connections than it may, except a trusted proxy.
func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := setup{args: []string{"-users", "2", "-workers", "1", "-max-conns-per-ip", "2",
		"-trusted-proxies", "127.0.0.2"}}.serve(t)
	for i, test := range []struct{ from, want string }{
		{"127.0.0.1", "200"}, {"127.0.0.1", "200"}, {"127.0.0.1", "503"}, {"127.0.0.3", "200"},
		{"127.0.0.2", "200"}, {"127.0.0.2", "200"}, {"127.0.0.2", "200"}, {"127.0.0.2", "200"},
	} {
		c, answer := s.knock(t, test.from)
		// a request to a connection that is refused makes a reset, which may overtake the refusal
		if test.want == "200" {
			_, err := io.WriteString(c, healthz)
			testkit.Must(t, err)
		}
		if text := <-answer; text != "HTTP/1.1 "+test.want {
			t.Errorf("connection %d, from %s: %q, want %s", i, test.from, text, test.want)
		}
	}
	s.End(t)
}

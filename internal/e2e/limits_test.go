package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

// A connection that was idle while SIGHUP replaced the workers brings its next request to the worker that
// retires. The new rules decide it, also if there were no rules before or are no rules now.
func TestIdleConnectionsGetNewRules(t *testing.T) {
	certificate := certtest.Write(t, testkit.Folder(t), time.Now().Add(time.Hour))
	for name, args := range map[string][]string{
		"plain": nil,
		"TLS":   {"-tls-cert", certificate.ChainFile, "-tls-key", certificate.KeyFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.Need(t, "redis-server")
			file := t.TempDir() + "/rules"
			testkit.WriteFile(t, file, "off\n")
			s := setup{env: []string{"SERVICE_TOKEN=" + serviceSecret, "ROOT_PASSWORD=" + rootPassword},
				args: append(args, "-users", "2", "-workers", "1", "-drain", "1m", "-limits-file", file)}.serve(t)
			if name == "TLS" {
				s.trust = certtest.Trust(certificate)
			}
			for rolls, rules := range []struct{ rules, want string }{
				{"x by user 7/h", `200 "limit":7,`}, {"x by user 9/m", `200 "limit":9,`},
				{"off", `404 "NOT_FOUND"`},
			} {
				var idle []*client.Client
				for range 20 {
					idle = append(idle, s.root(t))
				}
				testkit.WriteFile(t, file, rules.rules+"\n")
				s.Send(t, syscall.SIGHUP)
				testkit.Until(t, "reload", func() bool {
					return s.Logged(t, "all workers are replaced") == rolls+1
				})
				s.askLast(t, idle, rules.want)
			}
			s.End(t)
		})
	}
}

// askLast asks on one connection after the other until a worker that retires, which closes them, has given
// the wanted reply. Others of it may come before it has the signal.
func (s *server) askLast(t *testing.T, idle []*client.Client, want string) {
	t.Helper()
	status, text, _ := strings.Cut(want, " ")
	testkit.Until(t, "a last reply of "+want, func() bool {
		if len(idle) == 0 {
			t.Fatalf("no last reply is %s", want)
		}
		c := idle[0]
		idle = idle[1:]
		r, err := c.Do("GET", "/limits/x?user=2", "")
		testkit.Must(t, err)
		if !r.Close {
			idle = append(idle, c)
		}
		return r.Close && fmt.Sprint(r.Status) == status && strings.Contains(r.Body, text)
	})
}

// Guesses close root's name where they come from, and nowhere for long; flashsale unlock opens it there.
func TestUnlock(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s := setup{args: []string{"-redis", redis.Socket, "-users", "2", "-workers", "2",
		"-admin-from", "127.0.0.9"}}.serve(t)
	login := func(from, password string) error {
		c := s.client(t)
		c.NewConnections, c.From = true, netip.MustParseAddr(from)
		return c.Login("root", password)
	}
	testkit.Until(t, "refusal by both workers", func() bool {
		for range 20 {
			if !client.IsRefused(login("127.0.0.2", rootPassword), 429, "TOO_MANY_REQUESTS") {
				_ = login("127.0.0.2", "wrong") // refused in one way or the other
				return false
			}
		}
		return true
	})
	for range 20 {
		if err := login("127.0.0.9", rootPassword); err != nil {
			t.Errorf("from -admin-from: %v", err)
		}
	}
	unlock := func(want string, args ...string) {
		t.Helper()
		code, out, faults := run(t, module, nil, append([]string{"unlock"}, args...)...)
		out += faults
		if !strings.Contains(out, want) || (code == 0) != !strings.Contains(out, "flashsale unlock:") {
			t.Errorf("flashsale unlock %q: exit code %d, %s", args, code, out)
		}
	}
	unlock("root is unlocked", "root", "-redis", redis.Socket)
	testkit.Until(t, "login after unlock", func() bool { return login("127.0.0.2", rootPassword) == nil })
	unlock("no failed login of user2 was counted", "user2", "-redis", redis.Socket)
	unlock("flashsale unlock: no name is given", "-redis", redis.Socket)
	s.End(t)
}

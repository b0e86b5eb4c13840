package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// The clocks of three servers are wrong, each by another time. Their sale opens by the clock of Redis: no
// order is placed before, and none is refused as too early afterwards. Redis and this test read the same
// clock, which is right.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	path, err := launch.BuildWithClock(t.Context(), launch.ServerSource)
	testkit.Must(t, err)
	redis := redistest.New(t)
	var servers []*server
	for _, ahead := range []time.Duration{10 * time.Second, -10 * time.Second, 20 * time.Second} {
		servers = append(servers, serveWithClock(t, path, ahead, "-redis", redis.Socket, "-workers", "1",
			"-users", "9", "-foods", "1", "-opens-at", "2099-01-01T00:00:00Z"))
	}
	var buyers []*client.Client
	var carts []string
	for i, s := range servers {
		c := s.client(t)
		testkit.Must(t, c.LoginUser(2+i))
		cart, err := c.Fill(item(1, 1))
		testkit.Must(t, err)
		buyers, carts = append(buyers, c), append(carts, cart)
	}
	var opens time.Time
	testkit.Until(t, "time of the opening", func() bool { // again where this machine was too slow for it
		opens = time.Now().Add(600 * time.Millisecond).Truncate(time.Millisecond)
		return servers[1].root(t).Call("PUT", "/admin/sale", fmt.Sprintf(`{"state":"scheduled","opens_at":%q}`,
			opens.UTC().Format(time.RFC3339Nano)), nil) == nil
	})
	var early atomic.Int64
	var all sync.WaitGroup
	for i, c := range buyers {
		all.Go(func() {
			for {
				sent := time.Now()
				_, err := c.Order(carts[i])
				switch {
				case err == nil && !time.Now().Before(opens):
					return
				case client.IsRefused(err, 403, "SALE_NOT_OPEN") && sent.Before(opens):
					early.Add(1)
				default:
					t.Errorf("an order that was sent at %v, the sale open from %v on: %v", sent, opens, err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d orders were refused as too early", early.Load())
}

// serveWithClock starts a server of a program with another clock.
func serveWithClock(t *testing.T, path string, ahead time.Duration, args ...string) *server {
	t.Helper()
	data := testkit.Folder(t)
	clock, err := launch.NewClock(data)
	testkit.Must(t, err)
	testkit.Must(t, clock.Jump(ahead))
	env := append(clock.Env(), "TOKEN_SECRET="+sharedSecret, "ROOT_PASSWORD="+rootPassword,
		patient)
	run := launch.Program{Path: path, Env: env,
		Args: append([]string{"-app-port", "0", "-data", data}, args...)}.Launch(t)
	s := &server{Server: &launch.Server{Process: run, Data: data}}
	s.Serves(t)
	return s
}

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

const (
	earlyTries    = 20_000 // before the openings, in all rounds
	buyersInRound = 30
	triesAtOnce   = 20 // orders of one cart that a buyer sends without waiting
	beforeOpening = 600 * time.Millisecond
)

// The clocks of three servers are wrong, each by another time. Their sale opens again and again, by the
// clock of Redis: no order is placed before it opens, in 20,000 tries. Once it is open, no order is refused
// as too early. Redis and this test read the same clock, which is right.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	path, err := launch.BuildWithClock(t.Context(), launch.ServerSource)
	testkit.Must(t, err)
	redis := redistest.New(t)
	w := &wrongClocks{T: t, nextUser: 2}
	for _, ahead := range []time.Duration{10 * time.Second, -10 * time.Second, 20 * time.Second} {
		w.servers = append(w.servers, serveWithClock(t, path, ahead, "-redis", redis.Socket, "-workers", "2",
			"-users", "200000", "-foods", "1", "-stock", "1000000", "-opens-at", "2099-01-01T00:00:00Z"))
	}
	w.root = w.servers[1].root(t)
	rounds := 0
	for ; w.early.Load() < earlyTries && !t.Failed(); rounds++ {
		w.round()
	}
	t.Logf("openings: %d; tries before an opening, all refused: %d; by the clock of Redis each of %d "+
		"connections had its first order at most %v after an opening", rounds, w.early.Load(), buyersInRound,
		w.worst)
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

// wrongClocks is the sale of the test.
type wrongClocks struct {
	*testing.T
	servers  []*server
	root     *client.Client
	nextUser int
	opens    time.Time
	early    atomic.Int64  // tries that were refused before an opening
	worst    time.Duration // from an opening to the first order of the last connection
}

// round has one opening, and shuts the sale again.
func (w *wrongClocks) round() {
	buyers, requests := make([]*client.Client, buyersInRound), make([]string, buyersInRound)
	first := w.nextUser
	w.nextUser += buyersInRound
	var wait sync.WaitGroup
	for i := range buyers {
		buyers[i] = w.servers[i%len(w.servers)].client(w.T)
		defer buyers[i].HangUp()
		wait.Go(func() { requests[i] = w.orderOf(buyers[i], first+i) })
	}
	wait.Wait()
	testkit.Until(w, "time of the opening", func() bool { // again where this machine was too slow for it
		w.opens = time.Now().Add(beforeOpening).Truncate(time.Millisecond)
		return w.root.Call("PUT", "/admin/sale", fmt.Sprintf(`{"state":"scheduled","opens_at":%q}`,
			w.opens.UTC().Format(time.RFC3339Nano)), nil) == nil
	})
	for i, c := range buyers {
		wait.Go(func() {
			for !w.Failed() && !w.try(c, requests[i]) {
			}
		})
	}
	wait.Wait()
	w.checkTimes(first)
	testkit.Must(w, w.root.Call("PUT", "/admin/sale", `{"state":"closed"}`, nil))
}

// orderOf fills a cart of a user, which the sale allows at any time, and returns the whole request that
// orders it.
func (w *wrongClocks) orderOf(c *client.Client, user int) (request string) {
	err := c.LoginUser(user)
	cart := ""
	if err == nil {
		cart, err = c.Fill(item(1, 1))
	}
	if err != nil {
		w.Error(err)
	}
	c.OnReply = nil // to compare the many replies with the description would take too much time
	body := client.OrderBody(cart)
	return fmt.Sprintf("POST /orders HTTP/1.1\r\nHost: shop\r\nAccess-Token: %s\r\n"+
		"Content-Length: %d\r\n\r\n%s", c.Token, len(body), body)
}

// try sends an order some times at once, judges the answers, and reports whether the cart is ordered.
func (w *wrongClocks) try(c *client.Client, request string) (ordered bool) {
	sent := time.Now()
	err := c.SendRaw(strings.Repeat(request, triesAtOnce))
	for range triesAtOnce {
		var r client.Reply
		if err == nil {
			r, err = c.Receive("POST", "/orders")
		}
		if err != nil {
			w.Error(err)
			return false
		}
		open := r.Status == 200 || strings.Contains(r.Body, `"ORDER_OUT_OF_LIMIT"`)
		switch {
		case open && !time.Now().Before(w.opens):
			ordered = true
		case strings.Contains(r.Body, `"SALE_NOT_OPEN"`) && sent.Before(w.opens):
			w.early.Add(1)
		default:
			w.Errorf("an order that was sent at %v, the sale open from %v on: %d %s", sent, w.opens, r.Status, r.Body)
		}
	}
	return ordered
}

// checkTimes reads when the orders of this round were placed.
func (w *wrongClocks) checkTimes(firstUser int) {
	w.Helper()
	var orders []struct {
		User     int       `json:"user_id"`
		PlacedAt time.Time `json:"placed_at"`
	}
	testkit.Must(w, w.root.Call("GET", "/admin/orders?details=1", "", &orders))
	placed := 0
	for _, o := range orders {
		if o.User < firstUser {
			continue
		}
		placed++
		if o.PlacedAt.Before(w.opens) {
			w.Errorf("user %d has an order of %v, the sale was open from %v on", o.User, o.PlacedAt, w.opens)
		}
		w.worst = max(w.worst, o.PlacedAt.Sub(w.opens))
	}
	if placed != buyersInRound {
		w.Errorf("%d orders were placed, want %d", placed, buyersInRound)
	}
}

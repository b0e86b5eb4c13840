package e2e

import (
	"fmt"
	"math/rand/v2"
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

// What a round of TestWrongClocks consists of.
const (
	earlyTries    = 20_000 // before the openings, in all rounds
	buyersInRound = 30
	triesAtOnce   = 20 // orders of one cart that a buyer sends without waiting
	cartsInRound  = 5  // of a buyer: one for the opening, the last for after the closing, the others around it

	beforeOpening = 600 * time.Millisecond
	openFor       = 150 * time.Millisecond
	afterClosing  = 400 * time.Millisecond
	aroundClosing = 20 * time.Millisecond
)

// The clocks of three servers are wrong, each by another time. Their sale opens and closes again and again,
// by the clock of Redis: no order is placed before it opens, in 20,000 tries, nor once it is closed. Once it
// is open, no order is refused as too early.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	path, err := launch.BuildWithClock(t.Context(), launch.ServerSource)
	testkit.Must(t, err)
	redis := redistest.New(t)
	w := &wrongClocks{T: t, redis: redis, nextUser: 2}
	for _, ahead := range []time.Duration{10 * time.Second, -10 * time.Second, 20 * time.Second} {
		w.servers = append(w.servers, serveWithClock(t, path, ahead, "-redis", redis.Socket, "-workers", "2",
			"-users", "200000", "-foods", "1", "-stock", "1000000", "-opens-at", "2099-01-01T00:00:00Z"))
	}
	w.sale, w.root = w.servers[0].Sale(t), w.servers[1].root(t)
	rounds := 0
	for ; w.early.Load() < earlyTries && !t.Failed(); rounds++ {
		w.round()
	}
	if w.placed == 0 {
		t.Error("no order was placed: the test proves nothing")
	}
	t.Logf("%d openings and closings; %d tries before an opening, %d after a closing, all refused; %d orders; "+
		"by the clock of Redis each of %d connections had its first order at most %v after an opening", rounds,
		w.early.Load(), w.late.Load(), w.placed, buyersInRound, w.worst)
}

// serveWithClock starts a server of a program with another clock.
func serveWithClock(t *testing.T, path string, ahead time.Duration, args ...string) *server {
	t.Helper()
	data := testkit.Folder(t)
	clock, err := launch.NewClock(data)
	testkit.Must(t, err)
	testkit.Must(t, clock.Jump(ahead))
	env := append(clock.Env(), "TOKEN_SECRET="+sharedSecret, "ROOT_PASSWORD="+rootPassword)
	run := launch.Program{Path: path, Args: append([]string{"-app-port", "0", "-data", data}, args...),
		Env: env}.Launch(t)
	s := &server{Server: &launch.Server{Process: run, Data: data}}
	s.Serves(t)
	return s
}

// wrongClocks is the sale of the test. Times are Unix ms of Redis.
type wrongClocks struct {
	*testing.T
	redis    *redistest.Server
	servers  []*server
	sale     string
	root     *client.Client
	nextUser int

	opens, closes int64
	now           atomic.Int64 // at the last look: Redis is at least as far
	early         atomic.Int64 // tries that were refused before an opening
	late          atomic.Int64 // and after a closing
	placed        int
	worst         time.Duration // from an opening to the first order of the last connection
}

// round has one opening and one closing.
func (w *wrongClocks) round() {
	buyers := make([]*clockBuyer, buyersInRound)
	var wait sync.WaitGroup
	for i := range buyers {
		buyers[i] = &clockBuyer{w: w, c: w.servers[i%len(w.servers)].client(w.T)}
		defer buyers[i].c.HangUp()
		first := w.nextUser
		w.nextUser += cartsInRound
		wait.Go(func() { buyers[i].prepare(first) })
	}
	wait.Wait()
	if w.Failed() {
		return
	}
	w.schedule()
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { w.watch(ended) })
	for _, b := range buyers {
		wait.Go(b.buy)
	}
	wait.Wait()
	close(ended)
	watch.Wait()
	w.checkTimes(w.nextUser - buyersInRound*cartsInRound)
}

// look returns the clock of Redis and the number of orders at that moment.
func (w *wrongClocks) look() (now, orders int64) {
	const script = `local t = redis.call('TIME') ` +
		`return t[1] .. string.sub(1000000 + t[2], 2, 4) .. ' ' .. (redis.call('HGET', KEYS[1], 'orders') or 0)`
	text, err := launch.AskRedis(w.redis.Socket, testkit.Patience, "EVAL", script, "1", "stock_"+w.sale)
	if err == nil {
		_, err = fmt.Sscan(text, &now, &orders)
	}
	if err != nil {
		w.Error(err)
	}
	return now, orders
}

// schedule sets the times of a round, again where this machine was too slow for them.
func (w *wrongClocks) schedule() {
	w.Helper()
	moment := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }
	testkit.Until(w, "times of the sale", func() bool {
		now, _ := w.look()
		w.now.Store(now)
		w.opens = now + beforeOpening.Milliseconds()
		w.closes = w.opens + openFor.Milliseconds()
		err := w.root.Call("PUT", "/admin/sale", fmt.Sprintf(`{"state":"scheduled","opens_at":%q,"closes_at":%q}`,
			moment(w.opens), moment(w.closes)), nil)
		return err == nil
	})
}

// watch looks at Redis all the time: orders come while the sale is open and at no other moment.
func (w *wrongClocks) watch(ended <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	before, had := w.look()
	for {
		now, has := w.look()
		if has != had && (now < w.opens || before >= w.closes) {
			w.Errorf("%d orders between %d and %d ms, the sale is open from %d to %d", has-had, before, now, w.opens,
				w.closes)
		}
		before, had = now, has
		w.now.Store(now)
		select {
		case <-tick.C:
		case <-ended:
			return
		}
	}
}

// checkTimes reads when the orders of this round were placed.
func (w *wrongClocks) checkTimes(firstUser int) {
	w.Helper()
	var orders []struct {
		User     int       `json:"user_id"`
		PlacedAt time.Time `json:"placed_at"`
	}
	testkit.Must(w, w.root.Call("GET", "/admin/orders?details=1", "", &orders))
	for _, o := range orders {
		if o.User < firstUser {
			continue
		}
		w.placed++
		at := o.PlacedAt.UnixMilli()
		if at < w.opens || at >= w.closes {
			w.Errorf("user %d has an order of %d ms, the sale was open from %d to %d", o.User, at, w.opens, w.closes)
		}
		if (o.User-firstUser)%cartsInRound == 0 {
			w.worst = max(w.worst, time.Duration(at-w.opens)*time.Millisecond)
		}
	}
}

// clockBuyer has carts of some users and tries to order them on one connection.
type clockBuyer struct {
	w     *wrongClocks
	c     *client.Client
	carts [cartsInRound]string // the whole request for each
}

// prepare fills the carts, which the sale allows at any time.
func (b *clockBuyer) prepare(user int) {
	for i := range b.carts {
		err := b.c.LoginUser(user + i)
		cart := ""
		if err == nil {
			cart, err = b.c.Fill(item(1, 1))
		}
		if err != nil {
			b.w.Error(err)
			return
		}
		body := client.OrderBody(cart)
		b.carts[i] = fmt.Sprintf("POST /orders HTTP/1.1\r\nHost: shop\r\nAccess-Token: %s\r\n"+
			"Content-Length: %d\r\n\r\n%s", b.c.Token, len(body), body)
	}
}

// buy tries the first cart until it is placed, others at a moment close to the closing, the last one
// afterwards.
func (b *clockBuyer) buy() {
	defer b.compareLater()()
	for !b.try(b.carts[0], triesAtOnce) && b.w.now.Load() < b.w.closes && !b.w.Failed() {
	}
	for _, cart := range b.carts[1 : cartsInRound-1] {
		from := b.w.closes - rand.Int64N(aroundClosing.Milliseconds())
		for b.w.now.Load() < from && !b.w.Failed() {
			b.try(b.carts[0], 1) // this takes time
		}
		b.try(cart, 1)
	}
	for b.w.now.Load() < b.w.closes && !b.w.Failed() {
		b.try(b.carts[0], 1)
	}
	for b.w.now.Load() < b.w.closes+afterClosing.Milliseconds() && !b.w.Failed() {
		b.try(b.carts[cartsInRound-1], triesAtOnce)
	}
}

// compareLater keeps the replies to orders, and the result compares them with the description: that takes
// too much time meanwhile.
func (b *clockBuyer) compareLater() (compare func()) {
	check := b.c.OnReply
	var kept []client.Reply
	b.c.OnReply = func(_, _ string, r client.Reply) { kept = append(kept, r) }
	return func() {
		for _, r := range kept {
			check("POST", "/orders", r)
		}
	}
}

// try sends an order some times at once, judges the answers and reports whether the cart is ordered.
func (b *clockBuyer) try(request string, times int) (ordered bool) {
	began := b.w.now.Load()
	err := b.c.SendRaw(strings.Repeat(request, times))
	for range times {
		var r client.Reply
		if err == nil {
			r, err = b.c.Receive("POST", "/orders")
		}
		if err != nil {
			b.w.Error(err)
			return false
		}
		ordered = b.judge(r, began) || ordered
	}
	return ordered
}

// judge compares an answer with the clock of Redis: it had come to began before the order was sent.
func (b *clockBuyer) judge(r client.Reply, began int64) (ordered bool) {
	w := b.w
	switch {
	case r.Status == 200 && began < w.closes:
		return true
	case strings.Contains(r.Body, `"ORDER_OUT_OF_LIMIT"`):
		return true
	case strings.Contains(r.Body, `"SALE_NOT_OPEN"`) && began < w.opens:
		w.early.Add(1)
	case strings.Contains(r.Body, `"SALE_CLOSED"`) && (began >= w.closes || w.isClosed()):
		w.late.Add(1)
	default:
		w.Errorf("an order that was sent at %d ms or later, the sale open from %d to %d: %d %s", began, w.opens,
			w.closes, r.Status, r.Body)
	}
	return false
}

// isClosed asks for the clock of Redis now.
func (w *wrongClocks) isClosed() bool {
	now, _ := w.look()
	return now >= w.closes
}

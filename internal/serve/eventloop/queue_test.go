package eventloop

import (
	"net"
	"strings"
	"testing"
	"time"

	"flashsale/internal/serve/listener"
)

// However many clients send thousands of requests at once, another one waits for a bounded part of them.
func TestTurnsOfACrowd(t *testing.T) {
	const crowd, requests = 64, 400
	s := open(t, listener.Config{})
	var many []*client
	for range crowd {
		many = append(many, s.dial())
	}
	other := s.dial()
	s.await(crowd+1, listener.Opening)
	var before, asked int64
	s.onLoop(func() {
		s.watch = func(x *Exchange) {
			if string(x.Path()) == "/other" {
				before = s.handled.Load() - asked
			}
		}
		for _, c := range many {
			c.send(strings.Repeat(get("/n"), requests))
		}
	})
	s.onLoop(func() { // they are at work
		asked = s.handled.Load()
		other.send(get("/other"))
	})
	other.want(ok("GET /other "))
	for _, c := range many { // it reads all that is there, so that none is closed by a reset
		for range requests {
			c.want(ok("GET /n "))
		}
	}
	// What the turn has left, those that wait, and the next turn's events before this one.
	const bound = 2*(pipelinedMax+crowd) + pendingMax*requestsMax
	if s.onLoop(func() {}); before > bound {
		t.Errorf("%d requests of others came before, want at most %d", before, bound)
	}
}

// Connections leave in the order in which they came, a few in a turn. One that has come back and leaves
// again goes behind the others.
func TestLeavingTurnByTurn(t *testing.T) {
	const crowd = 20
	s := open(t, listener.Config{})
	clients := []*client{}
	for range crowd {
		clients = append(clients, s.dial())
	}
	s.await(crowd, listener.Opening)
	turns := map[time.Time]int{} // by their begin
	var order []string
	s.onLoop(func() {
		serve := s.away
		s.away = func(socket net.Conn, slot listener.Slot, unread []byte) {
			turns[s.loop.Now()]++
			order = append(order, socket.RemoteAddr().String())
			serve(socket, slot, unread)
		}
		for _, c := range clients {
			c.send(get("/away/1"), get("/now"), get("/away/2"))
		}
	})
	for _, c := range clients {
		c.want(ok("GET /away/1 "), ok("GET /now "), ok("GET /away/2 "))
	}
	s.onLoop(func() {
		for _, n := range turns {
			if n > awayMax {
				t.Errorf("%d connections left in one turn, want at most %d", n, awayMax)
			}
		}
		if len(order) != 2*crowd {
			t.Fatalf("%d connections left, want %d", len(order), 2*crowd)
		}
		for i, c := range clients {
			if got := order[i]; got != c.LocalAddr().String() {
				t.Errorf("connection %d that left is %s, want %s", i, got, c.LocalAddr())
			}
		}
	})
}

// A connection that ends while it waits for its turn leaves nothing to the one that comes after it.
func TestEndBeforeItsTurn(t *testing.T) {
	s := &Server{}
	var q queue
	gone, next := &conn{server: s}, &conn{server: s}
	gone.queueUp(&q)
	next.queueUp(&q)
	*gone = conn{server: s} // another one
	if got := q.take(s.tickets); got != next || next.waits() {
		t.Errorf("the turn is of %p, want %p", got, next)
	}
	gone.queueUp(&q)
	if got := q.take(s.tickets - 1); got != nil {
		t.Error("a connection has a turn before events are polled")
	}
	if got := q.take(s.tickets); got != gone || !q.empty() {
		t.Errorf("the turn is of %p, want %p", got, gone)
	}
	for range 1000 { // the line does not grow with those that have left it
		gone.queueUp(&q)
		next.queueUp(&q)
		q.take(s.tickets)
		gone, next = next, gone
		q.take(s.tickets)
	}
	if n := cap(q.line); n > 16 {
		t.Errorf("the queue has room for %d connections, want room for few", n)
	}
}

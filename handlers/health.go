package handlers

import (
	"errors"
	"sync"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"flashsale/redisx"
)

var aliveBody = []byte(`{"status":"alive"}`)

// alive reports that the process answers.
func (s *Server) alive(ctx *fasthttp.RequestCtx, _ Call) { replyRaw(ctx, aliveBody) }

// ready reports whether a sale can be served: Redis answers, holds the sale and takes writes, catalogue and
// stock are loaded, and the server is not stopping.
func (s *Server) ready(ctx *fasthttp.RequestCtx, c Call) {
	if s.foods.Load() == nil || s.draining.Load() {
		reply(ctx, errUnavailable)
		return
	}
	found := s.readiness.recent()
	if found == nil && c.answer.readByLoop() { // the event loop must not wait for Redis
		c.answer.exchange.Decline()
		return
	}
	if found == nil {
		found = s.readiness.check(s.checkReady)
	}
	switch {
	case found.failure == nil:
		replyRaw(ctx, found.body)
	case found.words != nil && s.isOperator(ctx):
		reply(ctx, found.words)
	default:
		reply(ctx, found.failure)
	}
}

// isOperator reports whether the caller is an operator, root or a program with the service token.
func (s *Server) isOperator(ctx *fasthttp.RequestCtx) bool {
	if s.hasServiceToken(ctx) {
		return true
	}
	c, _ := s.callerOf(ctx)
	return c.role != "" && s.isAdminPlace(ctx)
}

// checkReady asks Redis. words is the failure with the error text of Redis, for callers who may read that;
// nil if Redis gave no reason.
func (s *Server) checkReady() (body []byte, f, words *failure) {
	backlog, err := s.cfg.Sale.Ready()
	switch {
	case errors.Is(err, redisx.ErrWritesRefused):
		return nil, errUnavailable, writesRefused(err)
	case err != nil:
		return nil, failureOf(err), nil
	}
	detail := readyBody{Status: "ready", Sale: s.cfg.Sale.ID(), Users: s.cfg.Catalog.Users(),
		Foods: len(s.cfg.Catalog.Foods())}
	if backlog.Kept { // a database that is behind does not hold up the sale
		detail.Ledger = &ledgerLag{backlog.Orders, backlog.Age(time.Now()).Seconds()}
	}
	if body, err = json.Marshal(detail); err != nil {
		return nil, failureOf(err), nil
	}
	return body, nil, nil
}

// writesRefused is a failure with the error text of Redis as its message, for operators. Others need not
// know how Redis is set up.
func writesRefused(err error) *failure {
	body, err := json.MarshalWithOption(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{"SERVICE_UNAVAILABLE", err.Error()}, json.DisableHTMLEscape())
	if err != nil {
		return failureOf(err)
	}
	return &failure{errUnavailable.status, body, body}
}

// readyInterval is the shortest time between two checks of Redis for /readyz, which anybody may call.
const readyInterval = 100 * time.Millisecond

// readiness lets all callers within readyInterval share one answer of Redis. The zero value is ready.
type readiness struct {
	mu   sync.Mutex
	last *readyCheck
}

// readyCheck is one check of Redis and its outcome.
type readyCheck struct {
	begun time.Time
	done  chan struct{} // closed when the outcome is there

	body    []byte
	failure *failure
	words   *failure // see Server.checkReady
}

// recent returns the last check if it is recent and over, else nil.
func (r *readiness) recent() *readyCheck {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && r.last.over() && time.Since(r.last.begun) < readyInterval {
		return r.last
	}
	return nil
}

// check returns the last check if it is recent or under way. Otherwise the caller makes a new check with ask
// and waits for it.
func (r *readiness) check(ask func() (body []byte, f, words *failure)) *readyCheck {
	r.mu.Lock()
	if last := r.last; last != nil && (!last.over() || time.Since(last.begun) < readyInterval) {
		r.mu.Unlock()
		<-last.done
		return last
	}
	// errInternal remains if ask panics.
	mine := &readyCheck{begun: time.Now(), done: make(chan struct{}), failure: errInternal}
	r.last = mine
	r.mu.Unlock()
	defer close(mine.done)
	mine.body, mine.failure, mine.words = ask()
	return mine
}

func (c *readyCheck) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// readyBody is the body of GET /readyz.
type readyBody struct {
	Status string `json:"status"`
	Sale   string `json:"sale"`
	Users  int    `json:"users"`
	Foods  int    `json:"foods"`

	Ledger *ledgerLag `json:"ledger,omitempty"` // of a sale that keeps one
}

// ledgerLag describes the orders that are not in the database yet.
type ledgerLag struct {
	Waiting int     `json:"orders_waiting"`
	Oldest  float64 `json:"oldest_seconds"` // age of the oldest of them
}

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

// ready reports whether a sale can be served: Redis answers, holds it and takes writes, the catalogue and
// the stock are loaded, and the server is not about to stop.
func (s *Server) ready(ctx *fasthttp.RequestCtx, c Call) {
	if s.foods.Load() == nil || s.draining.Load() {
		reply(ctx, errUnavailable)
		return
	}
	l := s.looks.recent()
	if l == nil && c.answer.onLoop() { // the event loop must not wait for a look
		c.answer.exchange.Decline()
		return
	}
	if l == nil {
		l = s.looks.take(s.look)
	}
	switch {
	case l.failure == nil:
		replyRaw(ctx, l.body)
	case l.words != nil && s.isOperator(ctx):
		reply(ctx, l.words)
	default:
		reply(ctx, l.failure)
	}
}

// isOperator reports whether root asks, or a program with the service token.
func (s *Server) isOperator(ctx *fasthttp.RequestCtx) bool {
	if s.hasServiceToken(ctx) {
		return true
	}
	user, _, _ := s.tokenOf(ctx)
	return user == rootUser
}

// look asks Redis. words is the failure for those who may read the words of Redis, nil where it has none.
func (s *Server) look() (body []byte, f, words *failure) {
	backlog, err := s.cfg.Sale.Ready()
	switch {
	case errors.Is(err, redisx.ErrWritesRefused):
		return nil, errUnavailable, writesRefused(err)
	case err != nil:
		return nil, failureOf(err), nil
	}
	detail := readiness{Status: "ready", Sale: s.cfg.Sale.ID(), Users: s.cfg.Catalog.Users(),
		Foods: len(s.cfg.Catalog.Foods())}
	if backlog.Kept { // a database that is behind does not hold up the sale
		detail.Ledger = &ledgerLag{backlog.Orders, backlog.Age(time.Now()).Seconds()}
	}
	if body, err = json.Marshal(detail); err != nil {
		return nil, failureOf(err), nil
	}
	return body, nil, nil
}

// writesRefused has the words of Redis as its message: the operator who asks needs to know them, and not
// only the log. Others need not know what Redis is and how it is set up.
func writesRefused(err error) *failure {
	body, err := json.MarshalWithOption(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{"SERVICE_UNAVAILABLE", err.Error()}, json.DisableHTMLEscape())
	if err != nil {
		return failureOf(err)
	}
	return &failure{status: errUnavailable.status, body: body}
}

// lookInterval is the shortest time between two looks at Redis for /readyz, which anybody may call without
// a token.
const lookInterval = 100 * time.Millisecond

// looks lets all callers within lookInterval share one look. The zero value is ready.
type looks struct {
	mu   sync.Mutex
	last *look
}

// look is one look at Redis.
type look struct {
	begun time.Time
	done  chan struct{} // closed when the outcome is there

	body    []byte
	failure *failure
	words   *failure // see Server.look
}

// recent returns the last look if it is recent and over, else nil.
func (l *looks) recent() *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.last; last != nil && last.over() && time.Since(last.begun) < lookInterval {
		return last
	}
	return nil
}

// take returns the last look if it is recent or under way. Otherwise this caller makes one with ask. It
// takes as long as ask at most.
func (l *looks) take(ask func() (body []byte, f, words *failure)) *look {
	l.mu.Lock()
	if last := l.last; last != nil && (!last.over() || time.Since(last.begun) < lookInterval) {
		l.mu.Unlock()
		<-last.done
		return last
	}
	// errInternal stands if ask panics.
	mine := &look{begun: time.Now(), done: make(chan struct{}), failure: errInternal}
	l.last = mine
	l.mu.Unlock()
	defer close(mine.done)
	mine.body, mine.failure, mine.words = ask()
	return mine
}

func (l *look) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// readiness is the body of GET /readyz.
type readiness struct {
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

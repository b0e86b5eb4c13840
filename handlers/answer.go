package handlers

import (
	"runtime/debug"
	"sync"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/goroutines"
	"flashsale/redisx"
)

// answer is the state of one request. Where the reply depends on a change in Redis, the answer is the
// redisx.Outcome of the change and keeps the function that makes the reply. The event loop sends the reply
// when the outcome arrives. Without the loop, the request's goroutine waits for the outcome.
type answer struct {
	server   *Server
	exchange *eventloop.Exchange // nil where a goroutine serves the request

	line    *counted // route of the request; nil without a route
	counted bool     // count has run
	list    *list    // set where the reply is a list for root
	// Food and pieces added to a cart, for the statistics; 0 pieces for other calls.
	food, pieces int64

	ctx   *fasthttp.RequestCtx
	user  uint32     // the caller; 0 without a user
	reply replyLater // set while the reply waits for an outcome
	err   error
	// number of the user's orders before an order that was placed; 0 without -hold
	number int
	done   chan struct{} // for the goroutine that waits
}

// replyLater makes the reply to a user's call from its outcome, in user, number and err: nil or an error of
// redisx.
type replyLater = func(s *Server, ctx *fasthttp.RequestCtx, outcome *answer)

// later postpones the reply until the outcome arrives. It must be the last call of a handler.
func (c Call) later(ctx *fasthttp.RequestCtx, reply replyLater) redisx.Outcome {
	a := c.answer
	a.ctx, a.reply = ctx, reply
	if a.readByLoop() {
		a.exchange.Later()
	}
	return a
}

// readByLoop reports whether the event loop has read the request.
func (a *answer) readByLoop() bool { return a.exchange != nil }

// Number receives the number of an order, before the outcome: redisx.Numbered.
func (a *answer) Number(before int) { a.number = before }

// Done receives the outcome.
func (a *answer) Done(err error) {
	a.err = err
	switch x := a.exchange; {
	case a.reply == nil: // the handler has panicked and its request got a 500
	case x == nil:
		a.done <- struct{}{}
	default:
		a.finish()
		x.Finish()
	}
}

// finish makes the reply.
func (a *answer) finish() {
	ctx, reply := a.ctx, a.reply
	a.ctx, a.reply = nil, nil
	defer a.count(ctx)
	defer a.server.endRequest(ctx)
	reply(a.server, ctx, a)
}

// endRequest ends the work on a request. It recovers from a panic, which would end the process, and answers
// with a 500. It must be deferred.
func (s *Server) endRequest(ctx *fasthttp.RequestCtx) {
	if fault := recover(); fault != nil {
		s.logFault(ctx, "fault", fault, "stack", string(debug.Stack()))
		id := string(s.identify(ctx))
		ctx.Response.Reset()
		ctx.Response.Header.Set(requestIDHeader, id)
		reply(ctx, errInternal)
		ctx.SetConnectionClose()
	}
	if s.draining.Load() {
		ctx.SetConnectionClose()
	}
}

// begin resets the answer for the next request.
func (a *answer) begin() {
	a.line, a.counted, a.user, a.list, a.pieces, a.number = nil, false, 0, nil, 0, 0
}

// serveOnLoop is the entry of requests that the event loop has read.
func (s *Server) serveOnLoop(x *eventloop.Exchange) {
	a, ok := x.Attachment.(*answer)
	if !ok { // the answer stays with the exchange, which is used again
		a = &answer{server: s, exchange: x}
		x.Attachment = a
	}
	a.begin()
	if !a.serve(&x.RequestCtx) && a.reply != nil { // it got a 500, and the outcome may still arrive
		a.reply, x.Attachment = nil, nil
		x.AtOnce()
	}
	if a.reply == nil && !x.Declined() {
		a.count(&x.RequestCtx)
	}
}

// serve runs the handler. It returns false if the handler has panicked.
func (a *answer) serve(ctx *fasthttp.RequestCtx) (ok bool) {
	defer a.server.endRequest(ctx)
	a.server.route(ctx, a)
	return true
}

var answers = sync.Pool{New: func() any { return &answer{done: make(chan struct{}, 1)} }}

// serveOnGoroutine answers a request that fasthttp's server has read.
func (a *answer) serveOnGoroutine(ctx *fasthttp.RequestCtx) {
	a.server.route(ctx, a)
	if a.reply != nil {
		if c, ok := ctx.Conn().(*goroutines.Conn); ok {
			c.LeaveLine()
		}
		<-a.done
		a.finish()
	}
}

// endOnGoroutine counts the request. It reuses the answer unless an outcome may still arrive.
func (a *answer) endOnGoroutine(ctx *fasthttp.RequestCtx) {
	a.count(ctx)
	if a.reply == nil {
		answers.Put(a)
	}
}

package handlers

import (
	"runtime/debug"
	"sync"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/goroutines"
	"flashsale/redisx"
)

// answer is the state of one request. A hot call needs it to answer later: it is the redisx.Outcome of a
// change, and has the function that makes a reply of that. On the event loop the reply is sent when the
// outcome is there. Elsewhere the request's goroutine waits for it.
type answer struct {
	server   *Server
	exchange *eventloop.Exchange // nil where a goroutine serves the request

	line    *counted // of the table; nil for a request that no line is for
	counted bool     // the request
	list    *list    // the reply, where it is a list for root
	// What is added to a cart, of a food; 0 pieces for nothing.
	food, pieces int64

	ctx   *fasthttp.RequestCtx
	user  uint32     // who calls; 0 where no user does
	reply replyLater // nil as long as nothing is to come later
	err   error
	done  chan struct{} // for the goroutine that waits
}

// replyLater makes the reply to a call of a user once its outcome is there: nil or an error of redisx.
type replyLater = func(s *Server, ctx *fasthttp.RequestCtx, user uint32, err error)

// later has the reply wait for an outcome. It must be the last thing that a handler does.
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

// Done takes the outcome.
func (a *answer) Done(err error) {
	a.err = err
	switch x := a.exchange; {
	case a.reply == nil: // the handler has failed, and its request is answered
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
	reply(a.server, ctx, a.user, a.err)
}

// endRequest ends the work on a request. It recovers from a panic, which would end the process and with it
// every other request, and answers the request that has failed. It must be deferred.
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

// begin makes the answer ready for the next request.
func (a *answer) begin() {
	a.line, a.counted, a.user, a.list, a.pieces = nil, false, 0, nil, 0
}

// serveOnLoop is the entry of requests that the event loop has read.
func (s *Server) serveOnLoop(x *eventloop.Exchange) {
	a, ok := x.Attachment.(*answer)
	if !ok { // the answer stays with the exchange, which is used again
		a = &answer{server: s, exchange: x}
		x.Attachment = a
	}
	a.begin()
	if !a.serve(&x.RequestCtx) && a.reply != nil { // it is answered with 500, and the outcome may still come
		a.reply, x.Attachment = nil, nil
		x.AtOnce()
	}
	if a.reply == nil && !x.Declined() {
		a.count(&x.RequestCtx)
	}
}

// serve runs the handler. It reports false where the handler has panicked.
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

// endOnGoroutine counts the request, and keeps the answer for reuse unless an outcome may still come.
func (a *answer) endOnGoroutine(ctx *fasthttp.RequestCtx) {
	a.count(ctx)
	if a.reply == nil {
		answers.Put(a)
	}
}

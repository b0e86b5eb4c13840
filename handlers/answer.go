package handlers

import (
	"runtime/debug"
	"sync"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/redisx"
)

// answer is what a hot call needs to answer later: the redisx.Outcome of a change, and the function that
// makes a reply of it. On the event loop the reply is sent when the outcome is there. Elsewhere the
// request's goroutine waits for it.
type answer struct {
	server   *Server
	exchange *eventloop.Exchange // on the event loop, else nil

	line    *counted // of the table; nil for a request that none is for
	counted bool     // the request
	inLine  bool     // it has the turn of Server.line
	list    *list    // that the reply consists of, or nil
	// What is added to a cart, of a food; 0 pieces for nothing.
	food, pieces int64

	ctx   *fasthttp.RequestCtx
	user  uint32     // who calls, 0 for none
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
	if a.onLoop() {
		a.exchange.Later()
	}
	return a
}

func (a *answer) onLoop() bool { return a.exchange != nil }

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
	defer a.server.end(ctx)
	reply(a.server, ctx, a.user, a.err)
}

// end ends the work on a request. It answers one that has failed: a panic would end the process, and with it
// every other request.
func (s *Server) end(ctx *fasthttp.RequestCtx) {
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

// begin makes the answer ready for a request.
func (a *answer) begin() {
	a.line, a.counted, a.user, a.list, a.pieces = nil, false, 0, nil, 0
}

// serveOnLoop is the entry of requests that the event loop has read.
func (s *Server) serveOnLoop(x *eventloop.Exchange) {
	a, ok := x.Attachment.(*answer)
	if !ok { // it stays with the exchange, which is used again
		a = &answer{server: s, exchange: x}
		x.Attachment = a
	}
	a.begin()
	if !a.serve(&x.RequestCtx) && a.reply != nil { // the reply is there, and the outcome may still come
		a.reply, x.Attachment = nil, nil
		x.AtOnce()
	}
	if a.reply == nil && !x.Declined() {
		a.count(&x.RequestCtx)
	}
}

// serve runs the handler. It reports false where that has failed.
func (a *answer) serve(ctx *fasthttp.RequestCtx) (ok bool) {
	defer a.server.end(ctx)
	a.server.route(ctx, a)
	return true
}

var answers = sync.Pool{New: func() any { return &answer{done: make(chan struct{}, 1)} }}

// serveOnGoroutine answers a request that fasthttp's server has read.
func (a *answer) serveOnGoroutine(ctx *fasthttp.RequestCtx) {
	a.server.route(ctx, a)
	if a.reply != nil {
		a.leaveLine()
		<-a.done
		a.finish()
	}
}

// endOnGoroutine counts the request, and keeps the answer for reuse unless an outcome may still come.
func (a *answer) endOnGoroutine(ctx *fasthttp.RequestCtx) {
	a.leaveLine()
	a.count(ctx)
	if a.reply == nil {
		answers.Put(a)
	}
}

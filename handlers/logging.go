package handlers

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/observe/accesslog"
	"flashsale/internal/serve/goroutines"
)

// logFault logs that a request has failed. It omits the path, which may hold a cart ID.
func (s *Server) logFault(ctx *fasthttp.RequestCtx, what ...any) {
	slog.Error("a request failed", append(what, "method", methodOf(ctx), "route", s.routeOf(ctx),
		s.identity(ctx))...)
}

// clientTextMax is the most characters that a log line takes from a client's text.
const clientTextMax = 48

// cut shortens a client's text for the log.
func cut(text string) string { return fmt.Sprintf("%.*s", clientTextMax, text) }

// identity names a request in the log: by its ID and its place in the caller's trace.
func (s *Server) identity(ctx *fasthttp.RequestCtx) slog.Attr {
	id := slog.String("request_id", string(s.identify(ctx)))
	if p := parentOf(ctx); p.trace != "" {
		return slog.Group("", id, slog.String("trace_id", p.trace), slog.String("span_id", p.span))
	}
	return id
}

// log writes an answered request to the access log, if the log takes it, and puts the ID into the reply.
func (a *answer) log(ctx *fasthttp.RequestCtx, took time.Duration) {
	s, log := a.server, a.server.cfg.AccessLog
	if log == nil || !log.Takes(ctx.Response.StatusCode()) {
		if s.answersID(ctx) {
			s.identify(ctx)
		}
		return
	}
	entry := a.entry(ctx, took)
	if a.list != nil && ctx.Response.IsBodyStream() { // Close of the list logs it
		a.list.entry = entry
		return
	}
	log.Add(entry)
}

// entry makes the access log line of a request. It allocates.
func (a *answer) entry(ctx *fasthttp.RequestCtx, took time.Duration) *accesslog.Record {
	s, caller := a.server, parentOf(ctx)
	r := &accesslog.Record{
		Time: timeOf(ctx).Add(took), Took: took, RequestID: string(s.identify(ctx)),
		Method: methodOf(ctx), Route: s.routeOf(ctx), User: a.user, Status: ctx.Response.StatusCode(),
		Code: replyCode(&ctx.Response), BytesIn: int64(len(ctx.Request.Body())), Client: s.clientAddress(ctx),
		Connection: a.connection(ctx), TraceID: caller.trace, SpanID: caller.span,
	}
	if a.user == 0 {
		r.Operator = actorOf(ctx)
	}
	switch {
	case ctx.IsHead() || ctx.Response.IsBodyStream():
	case a.list != nil && a.list.sent > 0: // to a client of HTTP/1.0
		r.BytesOut = a.list.sent
	default:
		r.BytesOut = int64(len(ctx.Response.Body()))
	}
	return r
}

// logUnread is log for a request that could not be read.
func (s *Server) logUnread(r *fasthttp.Response, peer netip.Addr) {
	status, log := r.StatusCode(), s.cfg.AccessLog
	logged := log != nil && log.Takes(status)
	if logged || s.cfg.RequestIDs {
		setNewID(&r.Header)
	}
	if !logged {
		return
	}
	connection := onGoroutines
	switch {
	case s.cfg.TLS != nil:
		connection = overTLS
	case s.loop != nil:
		connection = onEventLoop
	}
	entry := &accesslog.Record{Time: time.Now(), RequestID: string(r.Header.Peek(requestIDHeader)),
		Method: otherWord, Route: otherWord, Status: status, Code: replyCode(r), Client: peer,
		Connection: connection}
	if !r.SkipBody {
		entry.BytesOut = int64(len(r.Body()))
	}
	log.Add(entry)
}

// How a request is served, in the access log.
const (
	onEventLoop  = "loop"
	onGoroutines = "goroutine"
	lentByLoop   = "lent" // by the event loop to a goroutine, for one request
	overTLS      = "tls"
)

func (a *answer) connection(ctx *fasthttp.RequestCtx) string {
	c, ok := ctx.Conn().(*goroutines.Conn)
	switch {
	case a.readByLoop():
		return onEventLoop
	case a.server.cfg.TLS != nil:
		return overTLS
	case ok && c.Lent():
		return lentByLoop
	}
	return onGoroutines
}

// replyCode returns the code of an error reply, "" for other replies.
func replyCode(r *fasthttp.Response) string {
	if r.StatusCode() < fasthttp.StatusBadRequest {
		return ""
	}
	return string(codeOf(r.Body()))
}

// routeOf returns the pattern of a request's path, for the log.
func (s *Server) routeOf(ctx *fasthttp.RequestCtx) string {
	if bytes.HasPrefix(ctx.RequestURI(), doubleSlash) { // see pathOf
		return otherWord
	}
	path := ctx.URI().PathOriginal()
	if resource := s.router.find(path); resource != nil {
		return resource.pattern
	}
	return otherWord
}

// otherWord stands in the log for unknown paths and methods, because their text comes from the client.
const otherWord = "other"

// methodOf returns the method of a request, for the log.
func methodOf(ctx *fasthttp.RequestCtx) string {
	if i := slices.Index(methods, string(ctx.Method())); i >= 0 {
		return methods[i]
	}
	return otherWord
}

// methods are the methods of HTTP.
var methods = []string{
	fasthttp.MethodGet, fasthttp.MethodPost, fasthttp.MethodPatch, fasthttp.MethodHead, fasthttp.MethodOptions,
	fasthttp.MethodDelete, fasthttp.MethodPut, fasthttp.MethodConnect, fasthttp.MethodTrace,
}

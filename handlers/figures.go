package handlers

import (
	"bytes"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/observe/figures"
)

// nameFigures gives each route its index in the metrics.
func (s *Server) nameFigures() {
	for _, resource := range s.router.resources {
		for i := range resource.routes {
			line := &resource.routes[i]
			line.figure = s.figures.Calls.Index(line.Method + " " + line.Pattern)
		}
	}
	for _, f := range failures { // also those that have not come yet, so that their rates begin with 0
		s.figures.Refusals.Index(codeOf(f.body))
	}
}

// count counts an answered request, once. The server that answers a declined request counts that one.
func (a *answer) count(ctx *fasthttp.RequestCtx) {
	if a.counted {
		return
	}
	a.counted = true
	took := time.Since(timeOf(ctx))
	a.server.countReply(&ctx.Response, a.line, took)
	a.countPieces(ctx.Response.StatusCode())
	a.log(ctx, took)
}

// countUnread counts the reply to a request that could not be read. Its duration is not known.
func (s *Server) countUnread(r *fasthttp.Response, peer netip.Addr) {
	s.countReply(r, nil, 0)
	s.logUnread(r, peer)
}

// countReply counts the reply to a request of a route, nil without a route.
func (s *Server) countReply(r *fasthttp.Response, line *counted, took time.Duration) {
	status, figure, hits := r.StatusCode(), figures.Other, 0
	if line != nil {
		figure, hits = line.figure, line.hits
	}
	s.figures.Calls.Count(figure, status, took)
	s.hitsByCall.Add(hits+classOf(status), 1)
	if status >= fasthttp.StatusBadRequest {
		s.figures.Refusals.Inc(s.figures.Refusals.Index(codeOf(r.Body())))
	}
}

// countOverLimit counts a call over a rate limit.
func (s *Server) countOverLimit(event []byte) {
	s.figures.LimitsRefused.Inc(s.figures.LimitsRefused.Index(event))
}

var codePrefix = []byte(`{"code":"`)

// codeOf returns the code in the body of an error reply.
func codeOf(body []byte) []byte {
	code, _ := bytes.CutPrefix(body, codePrefix)
	code, _, _ = bytes.Cut(code, quote)
	return code
}

var quote = []byte{'"'}

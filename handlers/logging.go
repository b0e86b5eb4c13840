package handlers

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// logFault logs that a request has failed. Its path is left out, because it may hold a cart ID.
func (s *Server) logFault(ctx *fasthttp.RequestCtx, what ...any) {
	slog.Error("a request failed", append(what, "method", methodOf(ctx), "route", s.routeOf(ctx),
		s.identity(ctx))...)
}

// identity names a request in a line of the log: by its ID, and its place in the caller's trace.
func (s *Server) identity(ctx *fasthttp.RequestCtx) slog.Attr {
	id := slog.String("request_id", string(s.identify(ctx)))
	if p := parentOf(ctx); p.trace != "" {
		return slog.Group("", id, slog.String("trace_id", p.trace), slog.String("span_id", p.span))
	}
	return id
}

// routeOf returns the pattern of a request's path, for the log.
func (s *Server) routeOf(ctx *fasthttp.RequestCtx) string {
	if bytes.HasPrefix(ctx.RequestURI(), doubleSlash) { // see pathOf
		return otherRoute
	}
	path := ctx.URI().PathOriginal()
	if resource := s.router.hot(path); resource != nil {
		return resource.pattern
	}
	if resource := s.router.find(strings.Split(string(path), "/")[1:]); resource != nil {
		return resource.pattern
	}
	return otherRoute
}

// otherRoute stands in the log for paths that are no URL of the service.
const otherRoute = "other"

// methodOf returns the method of a request, for the log.
func methodOf(ctx *fasthttp.RequestCtx) string {
	if i := slices.Index(methods, string(ctx.Method())); i >= 0 {
		return methods[i]
	}
	return "other"
}

// methods are those of HTTP.
var methods = []string{
	fasthttp.MethodGet, fasthttp.MethodPost, fasthttp.MethodPatch, fasthttp.MethodHead, fasthttp.MethodOptions,
	fasthttp.MethodDelete, fasthttp.MethodPut, fasthttp.MethodConnect, fasthttp.MethodTrace,
}

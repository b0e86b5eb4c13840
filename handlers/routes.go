// Package handlers speaks HTTP and JSON: it turns requests into calls of the sale and outcomes into
// replies. Every URL is in this file, and one file for each resource holds its handlers.
//
// To add an endpoint: write its handler in the file of its resource, and add a line to table below: method,
// pattern, who may call, handler. Matching, decoding of the path, 404, 405, Allow, OPTIONS, HEAD and the
// check of the caller come from the table. An error that the handler can answer with is a line in
// errors.go.
//
// A connection hands fasthttp whole requests, which internal/framing has accepted. The package holds no
// facts of the sale but the ready-made food list. The hot calls (login, foods, carts, add, order) do not
// allocate; what needs Redis waits for it, at most as long as redisx allows.
package handlers

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// table has every URL but those of the contest, which route matches by itself. Where two patterns match a
// path, the first one counts.
func (s *Server) table() []route {
	return []route{
		{"GET", "/admin/orders", s.rootOrService, s.listAllOrders},
		{"GET", "/healthz", s.anybody, s.alive},
		{"GET", "/readyz", s.anybody, s.ready},
	}
}

// serverMethods are the methods of the contest's URLs. With those of the table they answer OPTIONS *.
var serverMethods = []string{"GET", "PATCH", "POST"}

var (
	cartsPath   = []byte("/carts/")
	doubleSlash = []byte("//")
)

// route finds the handler of a request.
func (s *Server) route(ctx *fasthttp.RequestCtx) {
	// The path as it was sent: //admin/orders is not a way around a proxy's rule for /admin/orders.
	path := ctx.URI().PathOriginal()
	// Nor is //x/admin/orders: fasthttp takes x for the host.
	if bytes.HasPrefix(ctx.RequestURI(), doubleSlash) {
		reply(ctx, errNotFound)
		return
	}
	if bytes.IndexByte(path, '%') >= 0 {
		if path = unescape(ctx, path); path == nil {
			return
		}
	}
	switch string(path) { // the compiler does not copy the path here
	case "/login":
		s.only(ctx, fasthttp.MethodPost, s.login)
	case "/foods":
		s.only(ctx, fasthttp.MethodGet, s.listFoods)
	case "/carts":
		s.only(ctx, fasthttp.MethodPost, s.createCart)
	case "/orders":
		switch {
		case ctx.IsGet(), ctx.IsHead():
			s.listOrders(ctx)
		case ctx.IsPost():
			s.placeOrder(ctx)
		default:
			otherMethod(ctx, "GET, HEAD, OPTIONS, POST")
		}
	default:
		if id, found := bytes.CutPrefix(path, cartsPath); found && len(id) > 0 &&
			bytes.IndexByte(id, '/') < 0 {
			s.only(ctx, fasthttp.MethodPatch, s.addToCart)
		} else {
			s.router.serve(ctx, string(path))
		}
	}
}

// only serves a URL that has one method. HEAD is GET without the body, which fasthttp leaves out.
func (s *Server) only(ctx *fasthttp.RequestCtx, method string, handle func(*fasthttp.RequestCtx)) {
	switch {
	case string(ctx.Method()) == method, ctx.IsHead() && method == fasthttp.MethodGet:
		handle(ctx)
	case method == fasthttp.MethodGet:
		otherMethod(ctx, "GET, HEAD, OPTIONS")
	default:
		otherMethod(ctx, "OPTIONS, "+method)
	}
}

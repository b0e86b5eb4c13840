package handlers

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

var (
	cartsPath   = []byte("/carts/")
	doubleSlash = []byte("//")
)

// route shows every URL of the service.
func (s *Server) route(ctx *fasthttp.RequestCtx) {
	// The path as it was sent: //admin/orders is not a way around a proxy's rule for /admin/orders.
	path := ctx.URI().PathOriginal()
	if bytes.HasPrefix(ctx.RequestURI(), doubleSlash) { // nor is //x/admin/orders, of which fasthttp takes x for the host
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
	case "/admin/orders":
		s.only(ctx, fasthttp.MethodGet, s.listAllOrders)
	case "/healthz":
		s.only(ctx, fasthttp.MethodGet, s.alive)
	case "/readyz":
		s.only(ctx, fasthttp.MethodGet, s.ready)
	case "*": // the server itself
		otherMethod(ctx, "GET, HEAD, OPTIONS, PATCH, POST")
	default:
		if id, found := bytes.CutPrefix(path, cartsPath); found && len(id) > 0 && bytes.IndexByte(id, '/') < 0 {
			s.only(ctx, fasthttp.MethodPatch, s.addToCart)
		} else {
			reply(ctx, errNotFound)
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

// otherMethod answers OPTIONS with the methods of a URL, and refuses a method that is none of them.
func otherMethod(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	if ctx.IsOptions() {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	} else {
		reply(ctx, errMethodNotAllowed)
	}
}

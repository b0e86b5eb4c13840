// Package handlers speaks HTTP and JSON: it turns requests into calls of the sale and outcomes into
// replies. The URLs of the sale are in this file, and those of a room in the room's file. One file for each
// resource holds its handlers.
//
// To add an endpoint: write its handler in the file of its resource, and add a line to the table: method,
// pattern, who may call, how it works (hot, quick, slow; takes for bodies over 1 KB), handler. The router
// does the rest: matching, decoding of the path, 404, 405, Allow, OPTIONS, HEAD and the check of the caller.
// Map the handler's errors in errors.go, and describe the endpoint in openapi.yaml: a test compares both. A
// room is a function in a file of its own, see Room.
//
// Two servers read requests and handle them alike. The event loop (internal/serve/eventloop) reads most. It
// runs the hot and quick calls itself, and answers 404, 405 and OPTIONS. fasthttp's server
// (internal/serve/goroutines) reads all other calls, and all calls over TLS, with a goroutine for each
// connection. Both get whole requests that internal/serve/framing has accepted.
//
// The package keeps no facts of the sale but the last snapshot and the bodies made of it. Hot calls neither
// allocate nor wait: if they need Redis, they answer later (call.later).
package handlers

import "github.com/valyala/fasthttp"

// Route is one line of the table.
type Route struct {
	Method string
	// /threads/:id/posts/:n; a part that begins with a colon stands for any text without a slash
	Pattern string
	Access  access
	Work    work
	Handle  func(*fasthttp.RequestCtx, Call)
}

// work is where a handler runs, and the longest body that it takes. The zero value is slow.
type work struct {
	quick  bool // it does not wait: it runs on the event loop, with TLS on a goroutine
	public bool // its replies go without keepPrivate
	body   int  // bytes, with the lines of chunks; bodyBytesMax at least
}

var (
	hot   = work{quick: true, public: true} // the order path: it must not allocate either
	quick = work{quick: true}               // it must not wait
	slow  = work{}                          // it may wait: it runs on a goroutine
)

// takes is slow for bodies of up to this number of bytes: long bodies would hold up the event loop.
func takes(bytes int) work { return work{body: bytes} }

// saleRoutes are the calls of the sale. If two patterns match a path, the first one counts.
func (s *Server) saleRoutes() []Route {
	return []Route{
		{"POST", "/login", s.anybody, hot, s.login},
		{"GET", "/foods", s.user, hot, s.listFoods},
		{"POST", "/carts", s.user, hot, s.createCart},
		{"PATCH", "/carts/:id", s.user, hot, s.addToCart},
		{"POST", "/orders", s.user, hot, s.placeOrder},
		{"GET", "/orders", s.user, slow, s.listOrders},
		{"GET", "/sale", s.anybody, hot, s.showSale},
		{"PUT", "/admin/sale", s.operates, slow, s.changeSale},
		{"POST", "/admin/foods/:id/stock", s.operates, slow, s.changeStock},
		{"GET", "/admin/log", s.viewsOrService, slow, s.listLog},
		{"GET", "/admin/orders", s.listsOrders, slow, s.listAllOrders},
		{"GET", "/admin/sales", s.viewsOrService, slow, s.listSales},
		{"GET", "/admin/orders/:id", s.viewsOrService, slow, s.showOrder},
		{"GET", "/healthz", s.anybody, quick, s.alive},
		{"GET", "/readyz", s.anybody, quick, s.ready}, // a handler may leave a request to a goroutine
		{"GET", "/openapi.json", s.anybody, slow, s.describe},
		{"GET", "/docs", s.anybody, slow, s.showDocs},
	}
}

// Room joins a Server and returns its routes. The URLs of a room that has not joined get 404.
type Room func(*Server) []Route

// Add joins rooms to the server. It must be called before Serve.
func (s *Server) Add(rooms ...Room) {
	for _, join := range rooms {
		s.table = append(s.table, join(s)...)
	}
	s.router = newRouter(s.table)
	s.nameFigures()
	s.countTraffic()
}

// route runs the handler of a request, or leaves the request to a goroutine.
func (s *Server) route(ctx *fasthttp.RequestCtx, a *answer) {
	if path, ok := pathOf(ctx); ok {
		s.router.serve(ctx, a, path)
	}
}

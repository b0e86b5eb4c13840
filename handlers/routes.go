// Package handlers speaks HTTP and JSON: it turns requests into calls of the sale and outcomes into
// replies. Every URL is in this file, and one file for each resource holds its handlers.
//
// To add an endpoint: write its handler in the file of its resource, and add a line to table below: method,
// pattern, who may call, where it runs (takes is for bodies over 1 KB), handler. Matching, decoding of the
// path, 404, 405, Allow, OPTIONS, HEAD and the check of the caller come from the table. An error that the
// handler can answer with is a line in errors.go. Both are described in openapi.yaml, which a test compares
// with them.
//
// Requests come from two places, which do the same with them. An event loop (internal/serve/eventloop) reads
// most of them, and runs by itself what the table puts there: the hot calls (login, foods, carts, add,
// order, sale), health, and what needs no handler, such as 404, 405 and OPTIONS. All other calls, and all
// calls over TLS, are read by fasthttp's server, with a goroutine for each connection
// (internal/serve/goroutines). Both get whole requests, which internal/serve/framing has accepted.
//
// The package holds no facts of the sale but the last snapshot, and the bodies made of it. The hot calls do
// not allocate and do not wait: what needs Redis answers later (call.later).
package handlers

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// table has every URL. Where two patterns match a path, the first one counts. The URLs of a room that is off
// are not there.
func (s *Server) table() []route {
	table := []route{
		{"POST", "/login", s.anybody, onLoop, s.login},
		{"GET", "/foods", s.user, onLoop, s.listFoods},
		{"POST", "/carts", s.user, onLoop, s.createCart},
		{"PATCH", "/carts/:id", s.user, onLoop, s.addToCart},
		{"POST", "/orders", s.user, onLoop, s.placeOrder},
		{"GET", "/orders", s.user, onGoroutine, s.listOrders},
		{"GET", "/sale", s.anybody, onLoop, s.showSale},
		{"PUT", "/admin/sale", s.root, onGoroutine, s.changeSale},
		{"POST", "/admin/foods/:id/stock", s.root, onGoroutine, s.changeStock},
		{"GET", "/admin/log", s.rootOrService, onGoroutine, s.listLog},
		{"GET", "/admin/orders", s.listsOrders, onGoroutine, s.listAllOrders},
		{"GET", "/healthz", s.anybody, onLoop, s.alive},
		{"GET", "/readyz", s.anybody, onLoop, s.ready}, // if Redis was asked a moment ago
		{"GET", "/openapi.json", s.anybody, onGoroutine, s.describe},
		{"GET", "/docs", s.anybody, onGoroutine, s.showDocs},
	}
	if s.cfg.Live != nil {
		table = append(table, route{"GET", "/live", s.anybody, onGoroutine, s.watchLive})
	}
	if s.cfg.Repeats != nil {
		table = append(table, route{"POST", "/repeats", s.userOrService, takes(32 << 10), s.countText})
		if len(s.cfg.VK) > 0 { // the secret in the body tells who calls
			table = append(table, route{"POST", "/vk/callback", s.anybody, takes(vkBodyBytesMax), s.receiveVK})
		}
	}
	if s.cfg.Limits != nil {
		table = append(table,
			route{"POST", "/limits/check", s.whereLimits(s.userOrService), takes(4 << 10), s.checkLimits},
			route{"GET", "/limits/:event", s.whereLimits(s.userOrService), onGoroutine, s.peekLimits},
			route{"DELETE", "/limits/:event", s.whereLimits(s.rootOrService), onGoroutine, s.liftLimits})
	}
	if s.cfg.Blocklist != nil {
		table = append(table,
			route{"POST", "/blocklist/check", s.userOrService, takes(32 << 10), s.checkDocuments},
			route{"GET", "/blocklist", s.userOrService, onGoroutine, s.describeBlocklist})
	}
	if s.cfg.Traffic != nil {
		table = append(table,
			route{"POST", "/traffic/hit", s.rootOrService, takes(32 << 10), s.hitTraffic},
			route{"GET", "/traffic", s.rootOrService, onGoroutine, s.showTraffic},
			route{"DELETE", "/traffic", s.root, onGoroutine, s.deleteTraffic},
			route{"GET", "/traffic/keys", s.rootOrService, onGoroutine, s.listTrafficKeys},
			route{"GET", "/traffic/top", s.rootOrService, onGoroutine, s.showTopTraffic})
	}
	if s.cfg.Page != nil {
		table = append(table,
			route{"GET", "/", s.anybody, onGoroutine, s.showPage},
			route{"GET", "/web/:file", s.anybody, onGoroutine, s.showPageFile})
	}
	return table
}

var cartsPath = []byte("/carts/")

// hot returns the resource of a hot call, nil for any other path. Most requests end their search here.
func (r *router) hot(path []byte) *resource {
	switch string(path) { // the compiler does not copy the path here
	case "/login":
		return r.login
	case "/foods":
		return r.foods
	case "/carts":
		return r.carts
	case "/orders":
		return r.orders
	case "/sale":
		return r.sale
	}
	id, found := bytes.CutPrefix(path, cartsPath)
	if found && len(id) > 0 && bytes.IndexByte(id, '/') < 0 {
		return r.cart
	}
	return nil
}

// route finds the handler of a request and runs it, or leaves that to a goroutine.
func (s *Server) route(ctx *fasthttp.RequestCtx, a *answer) {
	path, ok := pathOf(ctx)
	if !ok {
		return
	}
	if resource := s.router.hot(path); resource != nil {
		resource.serve(ctx, call{path: path, answer: a})
	} else {
		s.router.serve(ctx, a, string(path))
	}
}

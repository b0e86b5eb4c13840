package handlers

import (
	"net"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/live"
	"flashsale/internal/serve/goroutines"
)

// liveCalls are the calls of the live view.
type liveCalls struct {
	*Server
	hub *live.Hub
}

// Live is the room of the live view.
func Live(hub *live.Hub) Room {
	return func(s *Server) []Route {
		return []Route{{"GET", "/live", s.anybody, slow, liveCalls{s, hub}.watch}}
	}
}

// watch makes a request's connection a stream of events. Anybody may watch; root and other programs see
// more. An invalid token is refused, so that a page notices that its token has expired.
func (r liveCalls) watch(ctx *fasthttp.RequestCtx, _ Call) {
	viewer := live.Viewer{From: r.clientAddress(ctx)}
	if !r.admitViewer(ctx, &viewer) {
		return
	}
	c, ok := ctx.Conn().(*goroutines.Conn)
	over := ok && c.HasMore() // the client has sent more than the request: that ends its stream
	if !ctx.IsHead() && !over && !(ok && r.hub.Reserve(viewer.From)) {
		reply(ctx, errUnavailable)
		return
	}
	header := &ctx.Response.Header
	header.SetContentType("text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would keep events until it has some kilobytes
	if ctx.IsHead() {
		return
	}
	header.SetConnectionClose() // where the stream ends
	if over {
		return
	}
	lastID, err := strconv.ParseInt(string(ctx.Request.Header.Peek("Last-Event-ID")), 10, 64)
	if err == nil {
		viewer.LastID = lastID
	}
	viewer.Head = header.AppendBytes(nil)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {
		viewer.Stream = live.NewStream(c.Take(), r.limiter)
		r.hub.Join(viewer)
	})
}

// admitViewer sets what the viewer may see, and until when: only operators, root and other programs see all.
// When it returns false, it has answered a request with an invalid token.
func (r liveCalls) admitViewer(ctx *fasthttp.RequestCtx, viewer *live.Viewer) bool {
	if viewer.Root = r.hasServiceToken(ctx); viewer.Root {
		return true
	}
	token := len(ctx.Request.Header.Peek("Access-Token"))+len(ctx.QueryArgs().Peek("access_token")) > 0
	if !token && !sendsServiceToken(ctx) {
		return true
	}
	if c, _ := r.callerOf(ctx); c.role != "" {
		viewer.Until, viewer.Root = c.expires, r.isAdminPlace(ctx)
		viewer.Ended = func() bool { return r.isOver(c) }
		return true
	}
	_, ok := r.user(ctx)
	if !ok {
		r.logRefusedService(ctx)
	}
	return ok
}

// SaleBody is the sale as viewers see it, nil while its state is not known.
func (s *Server) SaleBody() []byte {
	if body := s.sale.Load(); body != nil {
		return *body
	}
	return nil
}

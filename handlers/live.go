package handlers

import (
	"net"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/live"
)

// watchLive makes the connection of a request one that gets events, until it ends. Anybody may look; root
// and other programs see more. A token that is not valid is refused, so that a page notices its end.
func (s *Server) watchLive(ctx *fasthttp.RequestCtx, _ call) {
	root, ok := s.watchesAsRoot(ctx)
	if !ok {
		return
	}
	c, ok := ctx.Conn().(*framedConn)
	if !ctx.IsHead() && !(ok && s.cfg.Live.Reserve()) {
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
	lastID, err := strconv.ParseInt(string(ctx.Request.Header.Peek("Last-Event-ID")), 10, 64)
	if err != nil {
		lastID = 0
	}
	viewer := live.Viewer{Head: header.AppendBytes(nil), Root: root, LastID: lastID}
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {
		viewer.Stream = live.NewStream(c.Conn, s.limiter)
		c.gone = true // for fasthttp the connection ends here
		s.cfg.Live.Join(viewer)
	})
}

// watchesAsRoot reports whether the caller sees what only root and other programs may. Where the request has
// a token that is not valid, it has answered the request and ok is false.
func (s *Server) watchesAsRoot(ctx *fasthttp.RequestCtx) (root, ok bool) {
	if s.hasServiceToken(ctx) {
		return true, true
	}
	if len(ctx.Request.Header.Peek("Access-Token"))+len(ctx.QueryArgs().Peek("access_token")) == 0 {
		return false, true
	}
	user, ok := s.user(ctx)
	return user == rootUser, ok
}

// SaleBody is the sale as viewers see it, nil while its state is not known.
func (s *Server) SaleBody() []byte {
	if body := s.sale.Load(); body != nil {
		return *body
	}
	return nil
}

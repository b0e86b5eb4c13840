package handlers

import (
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

// pushCalls are the calls of the push service.
type pushCalls struct {
	*Server
	address, path string // where clients connect
	life          time.Duration
}

// Push is the room of the push service, which listens on an address and takes tickets of this age.
func Push(address, path string, life time.Duration) Room {
	return func(s *Server) []Route {
		r := pushCalls{s, address, path, life}
		return []Route{{"GET", "/push", s.user, slow, r.showPush}}
	}
}

// showPush answers where to connect for pushes, and the ticket to show there.
func (r pushCalls) showPush(ctx *fasthttp.RequestCtx, c Call) {
	b := append([]byte(nil), `{"url":`...)
	b = strconv.AppendQuote(b, r.url(ctx))
	b = append(b, `,"ticket":"`...)
	b = r.cfg.Keys.AppendTicket(b, c.user, timeOf(ctx).Add(r.life))
	b = append(b, `","expires_in":`...)
	b = strconv.AppendInt(b, int64(r.life/time.Second), 10)
	// After an outage all clients come back: each waits for a random time up to the longest one.
	replyBody(ctx, append(b, `,"reconnect":{"min_ms":500,"max_ms":20000}}`...))
}

// url is the address for this client: a server that listens everywhere is reached under the name that the
// client has used.
func (r pushCalls) url(ctx *fasthttp.RequestCtx) string {
	scheme := "ws://"
	if r.cfg.TLS != nil {
		scheme = "wss://"
	}
	host, port, err := net.SplitHostPort(r.address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		host = string(ctx.Host())
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	return scheme + net.JoinHostPort(host, port) + r.path
}

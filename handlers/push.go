package handlers

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// pushCalls are the calls of the push service.
type pushCalls struct {
	*Server
	at   PushPlace
	path string
	life time.Duration
}

// PushPlace is where the push service is.
type PushPlace struct {
	Address string // it listens there, host:port; "" for no push service
	URL     string // clients reach it there; "": at Address
}

// Push is the room of the push service, which serves a path and takes tickets of this age.
func Push(at PushPlace, path string, life time.Duration) Room {
	return func(s *Server) []Route {
		r := pushCalls{s, at, path, life}
		return []Route{{"GET", "/push", s.userKept, slow, r.showPush}}
	}
}

// showPush answers where to connect for pushes, and the ticket to show there.
func (r pushCalls) showPush(ctx *fasthttp.RequestCtx, c Call) {
	b := append([]byte(nil), `{"url":`...)
	b = strconv.AppendQuote(b, r.url(ctx))
	b = append(b, `,"ticket":"`...)
	b = r.cfg.Keys.AppendTicket(b, c.user, passedSession(ctx).id, timeOf(ctx).Add(r.life))
	b = append(b, `","expires_in":`...)
	b = strconv.AppendInt(b, int64(r.life/time.Second), 10)
	// After an outage all clients come back: each waits for a random time up to the longest one.
	replyBody(ctx, append(b, `,"reconnect":{"min_ms":500,"max_ms":20000}}`...))
}

// url is the address for this client.
func (r pushCalls) url(ctx *fasthttp.RequestCtx) string {
	if r.at.URL != "" {
		return r.at.URL
	}
	return r.pushOrigin(ctx, r.at) + r.path
}

// pushOrigin is where this client reaches the push service. A service without a URL that listens everywhere
// is reached under the name that the client has used. So is a service on this machine under the name
// localhost, because it takes the pages of its own host only.
func (s *Server) pushOrigin(ctx *fasthttp.RequestCtx, at PushPlace) string {
	if scheme, rest, found := strings.Cut(at.URL, "://"); found {
		host, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + host
	}
	scheme := "ws://"
	if s.cfg.TLS != nil {
		scheme = "wss://"
	}
	used := string(ctx.Host())
	if name, _, err := net.SplitHostPort(used); err == nil {
		used = name
	}
	host, port, err := net.SplitHostPort(at.Address)
	ip := net.ParseIP(host)
	if err == nil && (host == "" || ip.IsUnspecified() || ip.IsLoopback() && used == "localhost") {
		host = strings.Trim(used, "[]")
	}
	return scheme + net.JoinHostPort(host, port)
}

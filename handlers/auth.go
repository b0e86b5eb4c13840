package handlers

import (
	"log/slog"

	"github.com/valyala/fasthttp"

	"flashsale/tokens"
)

// user returns whose token the request carries, as query parameter or as header; either one valid is enough.
// Where neither is, the request is answered here.
func (s *Server) user(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	now := ctx.Time()
	query := ctx.QueryArgs().Peek("access_token")
	if len(query) == tokens.Length {
		if user, ok = s.cfg.Keys.Access(query, now); ok {
			return user, true
		}
	}
	header := ctx.Request.Header.Peek("Access-Token")
	if user, ok = s.cfg.Keys.Access(header, now); ok {
		return user, true
	}
	if len(query)+len(header) > 0 {
		s.tellRefusedToken(ctx)
	}
	reply(ctx, errInvalidToken)
	return 0, false
}

// tellRefusedToken logs that tokens are refused, at most once in logpace.Interval and without their text: they
// are forged or have expired, or another server of the sale signs with a secret that this one does not
// have.
func (s *Server) tellRefusedToken(ctx *fasthttp.RequestCtx) {
	if n := s.refusedTokens.Due(ctx.Time()); n > 0 {
		slog.Warn("access tokens are refused: forged, expired, or signed with a secret unknown here",
			"refused", n, "last_from", s.clientAddress(ctx))
	}
}

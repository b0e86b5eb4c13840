package handlers

import (
	"log/slog"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/tokens"
)

// login checks name and password and mints an access token. It asks nobody: users are in memory, tokens are
// signed.
func (s *Server) login(ctx *fasthttp.RequestCtx) {
	members := [2]member{{name: "username"}, {name: "password"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	name, ok1 := members[0].string()
	password, ok2 := members[1].string()
	if !ok1 || !ok2 {
		reply(ctx, errMalformedJSON)
		return
	}
	user, ok := s.cfg.Catalog.Authenticate(name, password)
	if !ok {
		if n := s.refusedLogins.Due(ctx.Time()); n > 0 { // without the name: people type passwords there
			slog.Warn("logins are refused: wrong name or password", "refused", n, "last_from", s.clientAddress(ctx))
		}
		reply(ctx, errUserAuth)
		return
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], `{"user_id":`...)
	b = strconv.AppendUint(b, uint64(user), 10)
	b = append(b, `,"username":`...)
	b = append(b, members[0].raw...)
	b = append(b, `,"access_token":"`...)
	b = s.cfg.Keys.AppendAccess(b, user, ctx.Time().Add(s.cfg.TokenTTL))
	replyBody(ctx, append(b, `"}`...))
}

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

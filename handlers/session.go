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
		if n := s.refusedLogins.due(ctx.Time()); n > 0 { // without the name: people type passwords there
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
	if token := ctx.QueryArgs().Peek("access_token"); len(token) == tokens.Length {
		if user, ok = s.cfg.Keys.Access(token, now); ok {
			return user, true
		}
	}
	if user, ok = s.cfg.Keys.Access(ctx.Request.Header.Peek("Access-Token"), now); ok {
		return user, true
	}
	reply(ctx, errInvalidToken)
	return 0, false
}

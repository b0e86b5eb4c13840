package handlers

import (
	"log/slog"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
)

// login checks name and password and mints an access token. It needs no Redis: users of the catalogue are
// in memory and tokens are signed. Other names go to the accounts, if there are any. After too many failed
// logins an address is refused before its body is read, and a name before its password is checked.
func (s *Server) login(ctx *fasthttp.RequestCtx, c Call) {
	if s.isRefused(ctx, limits.LoginFailed, limits.Who{}) {
		return
	}
	members := [2]member{{name: "username"}, {name: "password"}}
	if f := readContestBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	name, ok1 := members[0].string()
	password, ok2 := members[1].string()
	if !ok1 || !ok2 {
		reply(ctx, errMalformedJSON)
		return
	}
	who := limits.Who{Name: name}
	if s.isRefused(ctx, limits.LoginFailed, who) {
		return
	}
	user, document, ok := s.cfg.Catalog.Authenticate(name, password)
	if !ok {
		if s.mayHaveRegistered(name) {
			s.loginRegistered(ctx, c, name, password)
			return
		}
		s.refuseLogin(ctx, who)
		return
	}
	c.answer.user = user // for the access log
	if s.isListed(document) {
		reply(ctx, errDocumentInvalid)
		return
	}
	if s.limits != nil {
		s.limits.LoggedIn(user, s.clientAddress(ctx))
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], `{"user_id":`...)
	b = strconv.AppendUint(b, uint64(user), 10)
	b = append(b, `,"username":`...)
	b = members[0].appendJSON(b)
	b = append(b, `,"access_token":"`...)
	b = s.appendToken(b, user, timeOf(ctx))
	replyBody(ctx, append(b, `"}`...))
}

// refuseLogin answers a login with a wrong name or password.
func (s *Server) refuseLogin(ctx *fasthttp.RequestCtx, who limits.Who) {
	s.record(ctx, limits.LoginFailed, who, 1)
	if n := s.refusedLogins.Due(timeOf(ctx)); n > 0 { // without the name: people type passwords there
		slog.Warn("logins are refused: wrong name or password",
			"refused", n, "last_from", s.clientAddress(ctx))
	}
	reply(ctx, errUserAuth)
}

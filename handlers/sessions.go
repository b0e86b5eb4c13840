package handlers

import (
	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/sessions"
)

// sessionsCalls are the calls that end logins.
type sessionsCalls struct {
	*Server
	sessions *sessions.Sessions
}

// Sessions is the room of logins that end before their tokens expire. The check of tokens asks it, too.
func Sessions(ended *sessions.Sessions) Room {
	return func(s *Server) []Route {
		s.sessions = ended
		r := sessionsCalls{s, ended}
		return []Route{
			{"POST", "/logout", s.loggedIn, slow, r.logOut},
			{"DELETE", "/users/me/tokens", s.loggedIn, slow, r.endSessions},
		}
	}
}

// logOut ends the session of the caller's token, on all servers.
func (r sessionsCalls) logOut(ctx *fasthttp.RequestCtx, _ Call) {
	login := passedSession(ctx)
	r.end(ctx, login, func(h sessions.Holder) error { return r.sessions.End(h, login.id, login.expires) })
}

// endSessions ends all sessions of the caller, on all servers.
func (r sessionsCalls) endSessions(ctx *fasthttp.RequestCtx, _ Call) {
	r.end(ctx, passedSession(ctx), r.sessions.EndAll)
}

// end ends one or all sessions of the caller, as often as the rate of logouts allows.
func (r sessionsCalls) end(ctx *fasthttp.RequestCtx, login session, end func(sessions.Holder) error) {
	who := limits.Who{ID: login.user}
	if r.isRefused(ctx, limits.Logout, who) {
		return
	}
	r.record(ctx, limits.Logout, who, 1)
	if err := end(login.holder); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

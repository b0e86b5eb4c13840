package handlers

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/sessions"
	"flashsale/tokens"
)

const rootUser = 1

// access decides who may make a call; each route names an access. It returns the calling user, 0 if the
// caller is no user. When it returns false, it has answered the request.
type access func(*fasthttp.RequestCtx) (user uint32, ok bool)

// timeOf is the time at which a request came.
func timeOf(ctx *fasthttp.RequestCtx) time.Time {
	if t := ctx.Time(); !t.IsZero() {
		return t
	}
	return ctx.ConnTime() // see eventloop.Exchange
}

// anybody lets every request pass.
func (s *Server) anybody(*fasthttp.RequestCtx) (user uint32, ok bool) { return 0, true }

// user lets users pass. The access token comes as query parameter or as header; one valid token is enough.
func (s *Server) user(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	login, ok := s.userSession(ctx)
	return login.user, ok
}

// session is one login, as its access token tells it.
type session struct {
	user    uint32 // 0 of operators
	holder  sessions.Holder
	id      uint32
	expires int64 // Unix seconds
}

// userKept is user for a call that needs the session: passedSession has it.
func (s *Server) userKept(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	login, ok := s.userSession(ctx)
	if ok {
		ctx.SetUserValue(sessionKey, login)
	}
	return login.user, ok
}

// sessionKey is where a request keeps the session that its access has let pass.
const sessionKey = "session"

// passedSession returns the session of a call behind userKept or loggedIn. To read the token again could
// find that the session has ended meanwhile.
func passedSession(ctx *fasthttp.RequestCtx) session { return ctx.UserValue(sessionKey).(session) }

// userSession returns the session of a user; it answers the request of anybody else.
func (s *Server) userSession(ctx *fasthttp.RequestCtx) (session, bool) {
	login, sent := s.tokenOf(ctx)
	if login.user != 0 {
		return login, true
	}
	if x, _ := s.operatorOf(ctx); x != nil {
		reply(ctx, errNoUsersCall)
		return session{}, false
	}
	s.refuseToken(ctx, sent)
	return session{}, false
}

// refuseToken answers a request without a valid token.
func (s *Server) refuseToken(ctx *fasthttp.RequestCtx, sent bool) {
	if sent {
		s.logRefusedToken(ctx)
	}
	reply(ctx, errInvalidToken)
}

// tokenOf returns the session of a request's valid access token (of user 0 without one), and whether the
// request has sent any token.
func (s *Server) tokenOf(ctx *fasthttp.RequestCtx) (login session, sent bool) {
	now := timeOf(ctx)
	query, header := sentTokens(ctx)
	if len(query) == tokens.Length {
		if login, ok := s.sessionOf(query, now); ok {
			return login, true
		}
	}
	if login, ok := s.sessionOf(header, now); ok {
		return login, true
	}
	return session{}, len(query)+len(header) > 0
}

// sentTokens returns what a request has in the places of an access token.
func sentTokens(ctx *fasthttp.RequestCtx) (query, header []byte) {
	if hasQuery(ctx) { // most clients send the header
		query = ctx.QueryArgs().Peek("access_token")
	}
	return query, ctx.Request.Header.Peek("Access-Token")
}

// sessionOf returns the session of a valid access token.
func (s *Server) sessionOf(token []byte, now time.Time) (login session, ok bool) {
	login.user, login.id, login.expires, ok = s.cfg.Keys.Access(token, now)
	login.holder = sessions.User(login.user)
	return login, ok && !s.isEnded(login)
}

// appendToken appends an access token for a new session of the user.
func (s *Server) appendToken(b []byte, user uint32, now time.Time) []byte {
	return s.cfg.Keys.AppendAccess(b, user, rand.Uint32(), now.Add(s.cfg.TokenTTL))
}

// isEnded reports whether a session has ended before its token expires.
func (s *Server) isEnded(login session) bool {
	return s.sessions != nil && s.sessions.IsEnded(login.holder, login.id, login.expires)
}

// userOrService lets every user pass, and programs with the service token as user 0.
func (s *Server) userOrService(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.serviceOr(ctx, s.user)
}

// serviceOr lets programs with the service token pass, and callers that the other access lets pass.
func (s *Server) serviceOr(ctx *fasthttp.RequestCtx, other access) (user uint32, ok bool) {
	if s.hasServiceToken(ctx) {
		return 0, true
	}
	if user, ok = other(ctx); !ok {
		s.logRefusedService(ctx)
	}
	return user, ok
}

// hasServiceToken reports whether a request has the service token, as "Authorization: Bearer <token>".
func (s *Server) hasServiceToken(ctx *fasthttp.RequestCtx) bool {
	if s.cfg.ServiceToken == "" {
		return false
	}
	headers := ctx.Request.Header.PeekAll(fasthttp.HeaderAuthorization)
	if len(headers) != 1 { // of two headers a proxy may have checked the other one
		return false
	}
	token, bearer := bearerToken(headers[0])
	return sameSecret(token, s.cfg.ServiceToken) && bearer
}

// sameSecret compares hashes, so that the time depends neither on the lengths nor on how much of the given
// secret is right.
func sameSecret(given, wanted string) bool {
	hash, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(wanted))
	return subtle.ConstantTimeCompare(hash[:], want[:]) == 1
}

// sendsServiceToken reports whether a request has a service token, right or wrong. Passwords for a proxy do
// not count.
func sendsServiceToken(ctx *fasthttp.RequestCtx) bool {
	headers := ctx.Request.Header.PeekAll(fasthttp.HeaderAuthorization)
	return slices.ContainsFunc(headers, func(value []byte) bool {
		_, bearer := bearerToken(value)
		return bearer
	})
}

// bearerToken returns the token of an Authorization, and whether its scheme is Bearer.
func bearerToken(value []byte) (token string, bearer bool) {
	scheme, token, _ := strings.Cut(string(value), " ")
	return token, strings.EqualFold(scheme, "Bearer")
}

// logRefusedToken logs that tokens are refused, at most once in logpace.Interval and without their text.
// They are forged, expired or ended, or another server of the sale signs with a secret that is unknown here.
func (s *Server) logRefusedToken(ctx *fasthttp.RequestCtx) {
	if n := s.refusedTokens.Due(timeOf(ctx)); n > 0 {
		slog.Warn("access tokens are refused: forged, expired, ended, or signed with a secret unknown here",
			"refused", n, "last_from", s.clientAddress(ctx))
	}
}

// logRefusedService does the same for service tokens.
func (s *Server) logRefusedService(ctx *fasthttp.RequestCtx) {
	if len(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) == 0 {
		return
	}
	if n := s.refusedServices.Due(timeOf(ctx)); n > 0 {
		slog.Warn("service tokens are refused: -service-token is not set here, or is another one",
			"refused", n, "last_from", s.clientAddress(ctx))
	}
}

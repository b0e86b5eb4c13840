package handlers

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/tokens"
)

const rootUser = 1

// access decides who may make a call; a line of the table names one. It returns the user who calls, 0 for
// none. Where the caller may not, it has answered the request.
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

// user lets users pass: the request carries an access token as query parameter or as header. Either one
// valid is enough.
func (s *Server) user(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	user, _, ok = s.userUntil(ctx)
	return user, ok
}

// userUntil is user, and returns when the token expires too, in Unix seconds.
func (s *Server) userUntil(ctx *fasthttp.RequestCtx) (user uint32, expires int64, ok bool) {
	user, expires, sent := s.tokenOf(ctx)
	if user != 0 {
		return user, expires, true
	}
	if sent {
		s.logRefusedToken(ctx)
	}
	reply(ctx, errInvalidToken)
	return 0, 0, false
}

// tokenOf returns the user of a request's access token, 0 where none is valid, when it expires, and whether
// one was sent.
func (s *Server) tokenOf(ctx *fasthttp.RequestCtx) (user uint32, expires int64, sent bool) {
	now := timeOf(ctx)
	var query []byte
	if bytes.IndexByte(ctx.RequestURI(), '?') >= 0 { // most clients send the header
		query = ctx.QueryArgs().Peek("access_token")
	}
	if len(query) == tokens.Length {
		if user, expires, ok := s.cfg.Keys.Access(query, now); ok {
			return user, expires, true
		}
	}
	header := ctx.Request.Header.Peek("Access-Token")
	if user, expires, ok := s.cfg.Keys.Access(header, now); ok {
		return user, expires, true
	}
	return 0, 0, len(query)+len(header) > 0
}

// root lets user 1 pass, the only administrator.
func (s *Server) root(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.rootOr(ctx, errNotAllowed)
}

// rootOr lets root pass, and answers other users with a failure.
func (s *Server) rootOr(ctx *fasthttp.RequestCtx, f *failure) (user uint32, ok bool) {
	if user, ok = s.user(ctx); ok && user != rootUser {
		reply(ctx, f)
		return 0, false
	}
	return user, ok
}

// service lets other programs pass, which carry the service token.
func (s *Server) service(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	if s.hasServiceToken(ctx) {
		return 0, true
	}
	s.logRefusedService(ctx)
	reply(ctx, errInvalidToken)
	return 0, false
}

// rootOrService lets other programs pass, and root.
func (s *Server) rootOrService(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.serviceOr(ctx, s.root)
}

// listsOrders is rootOrService for the list of all orders: other users get 401 there, by the contract.
func (s *Server) listsOrders(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.serviceOr(ctx, func(ctx *fasthttp.RequestCtx) (uint32, bool) {
		return s.rootOr(ctx, errInvalidToken)
	})
}

// userOrService lets other programs pass, as user 0, and every user.
func (s *Server) userOrService(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
	return s.serviceOr(ctx, s.user)
}

// serviceOr lets other programs pass, and those whom another access lets pass.
func (s *Server) serviceOr(ctx *fasthttp.RequestCtx, other access) (user uint32, ok bool) {
	if s.hasServiceToken(ctx) {
		return 0, true
	}
	if user, ok = other(ctx); !ok {
		s.logRefusedService(ctx)
	}
	return user, ok
}

// hasServiceToken reports whether a request has the service token, as "Authorization: Bearer <token>". The
// tokens are hashed, so that the comparison takes the same time whatever their lengths and however much of
// them is right.
func (s *Server) hasServiceToken(ctx *fasthttp.RequestCtx) bool {
	if s.cfg.ServiceToken == "" {
		return false
	}
	headers := ctx.Request.Header.PeekAll(fasthttp.HeaderAuthorization)
	if len(headers) != 1 { // a proxy may have checked another one
		return false
	}
	token, bearer := bearerToken(headers[0])
	given, wanted := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.cfg.ServiceToken))
	return subtle.ConstantTimeCompare(given[:], wanted[:]) == 1 && bearer
}

// sendsServiceToken reports whether a request has a service token, be it the right one or not. Passwords for
// a proxy are none.
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

// logRefusedToken logs that tokens are refused, at most once in logpace.Interval and without their text:
// they are forged or have expired, or another server of the sale signs with a secret that this one does not
// have.
func (s *Server) logRefusedToken(ctx *fasthttp.RequestCtx) {
	if n := s.refusedTokens.Due(timeOf(ctx)); n > 0 {
		slog.Warn("access tokens are refused: forged, expired, or signed with a secret unknown here",
			"refused", n, "last_from", s.clientAddress(ctx))
	}
}

// logRefusedService does the same for other programs.
func (s *Server) logRefusedService(ctx *fasthttp.RequestCtx) {
	if len(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) == 0 {
		return
	}
	if n := s.refusedServices.Due(timeOf(ctx)); n > 0 {
		slog.Warn("service tokens are refused: -service-token is not set here, or is another one",
			"refused", n, "last_from", s.clientAddress(ctx))
	}
}

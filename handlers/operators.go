package handlers

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/credentials"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/operators"
)

// operatorTTL is how long the token of an operator is valid at most.
const operatorTTL = 12 * time.Hour

// operatorsCalls are the calls of operators about themselves.
type operatorsCalls struct {
	*Server
	operators *operators.Operators
	hashing   *turns // buyers who log in do not take their places
}

// Operators is the room of the people who run the sale. The check of all calls that run it asks the room,
// too.
func Operators(o *operators.Operators) Room {
	return func(s *Server) []Route {
		s.operators = o
		r := operatorsCalls{s, o, new(turns)}
		return []Route{{"POST", "/admin/login", s.anybody, takes(accountBodyMax), r.logIn}}
	}
}

// logIn checks name, password and code, and mints an access token. Failed logins count as those of users do,
// under a name of their own; a wrong code does not: the room bounds them.
func (r operatorsCalls) logIn(ctx *fasthttp.RequestCtx, _ Call) {
	if !r.mayLogIn(ctx) {
		return
	}
	members := [3]member{{name: "name"}, {name: "password"}, {name: "code"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	name, ok1 := members[0].string()
	password, ok2 := members[1].string()
	code, ok3 := members[2].string()
	if !ok1 || !ok2 || !ok3 && members[2].kind != 0 {
		reply(ctx, errMalformedJSON)
		return
	}
	who := limits.Who{Name: []byte("operator/" + credentials.Fold(string(name)))}
	if r.isRefused(ctx, limits.LoginFailed, who) {
		return
	}
	var x *operators.Operator
	err := r.hashing.run(networkOf(r.clientAddress(ctx)), func() (err error) {
		x, err = r.operators.LogIn(string(name), password, string(code))
		return err
	})
	if err != nil {
		r.refuseOperator(ctx, string(name), who, err)
		return
	}
	r.welcome(ctx, x)
}

// mayLogIn reports whether operators may log in from where a request comes; it has answered if they may not.
func (s *Server) mayLogIn(ctx *fasthttp.RequestCtx) bool {
	if !s.isAdminPlace(ctx) {
		reply(ctx, errOtherPlace)
		return false
	}
	return !s.isRefused(ctx, limits.LoginFailed, limits.Who{})
}

// welcome answers an operator who has logged in with an access token.
func (s *Server) welcome(ctx *fasthttp.RequestCtx, x *operators.Operator) {
	slog.Info("an operator has logged in", "operator", x.Name, "role", x.Role, "from", s.clientAddress(ctx),
		"route", s.routeOf(ctx), s.identity(ctx))
	expires := timeOf(ctx).Add(min(s.cfg.TokenTTL, operatorTTL)).Truncate(time.Second)
	token := s.cfg.Keys.AppendOperator(nil, x.Holder(), rand.Uint32(), expires)
	body, _ := json.Marshal(struct { // texts can always be written
		Name    string         `json:"name"`
		Role    operators.Role `json:"role"`
		Token   string         `json:"access_token"`
		Expires string         `json:"expires_at"`
	}{x.Name, x.Role, string(token), stamp(expires)})
	replyRaw(ctx, body)
}

// refuseOperator answers a login that fails. Names that there are not are not logged: people type passwords
// there.
func (r operatorsCalls) refuseOperator(ctx *fasthttp.RequestCtx, name string, who limits.Who, err error) {
	tooMany := (*operators.TooManyCodesError)(nil)
	switch {
	case errors.Is(err, operators.ErrCodeNeeded): // no failure yet
		reply(ctx, errCodeNeeded)
		return
	case errors.As(err, &tooMany):
		replyTooMany(ctx, tooMany.Wait)
	default:
		if errors.Is(err, credentials.ErrWrongPassword) {
			r.record(ctx, limits.LoginFailed, who, 1)
		}
		r.replyOutcome(ctx, err)
	}
	known := ""
	if x := r.operators.Named(name); x != nil {
		known = x.Name
	}
	r.logRefusedLogin(ctx, known, err)
}

// logRefusedLogin logs that logins of operators are refused, with the last one.
func (s *Server) logRefusedLogin(ctx *fasthttp.RequestCtx, name string, err error) {
	if n := s.refusedOperators.Due(timeOf(ctx)); n > 0 {
		slog.Warn("logins of operators are refused", "refused", n, "operator", name, "error", err,
			"last_from", s.clientAddress(ctx), s.identity(ctx))
	}
}

package handlers

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/oidc"
	"flashsale/internal/rooms/operators"
)

const oidcBodyMax = 8 << 10 // codes of some providers have 2 KB

// oidcCalls are the calls of operators who log in at an OpenID provider.
type oidcCalls struct {
	*Server
	provider *oidc.OIDC
	turns    *turns
}

// OIDC is the room of logins at an OpenID provider. It needs the room of the operators.
func OIDC(provider *oidc.OIDC) Room {
	return func(s *Server) []Route {
		r := oidcCalls{s, provider, new(turns)}
		return []Route{
			{"GET", "/admin/oidc", s.anybody, slow, r.begin},
			{"POST", "/admin/oidc", s.anybody, takes(oidcBodyMax), r.finish},
		}
	}
}

// begin answers where at the provider the browser logs in.
func (r oidcCalls) begin(ctx *fasthttp.RequestCtx, _ Call) {
	if !r.mayLogIn(ctx) {
		return
	}
	var told struct {
		URL string `json:"url"`
	}
	challenge := string(ctx.QueryArgs().Peek("challenge"))
	err := r.turns.run(networkOf(r.clientAddress(ctx)), func() (err error) {
		told.URL, err = r.provider.Begin(challenge)
		return err
	})
	if err != nil {
		r.refuse(ctx, err)
		return
	}
	body, _ := json.Marshal(told) // a text can always be written
	replyRaw(ctx, body)
}

// finish logs the operator in who comes back from the provider.
func (r oidcCalls) finish(ctx *fasthttp.RequestCtx, _ Call) {
	if !r.mayLogIn(ctx) {
		return
	}
	members := [3]member{{name: "code"}, {name: "state"}, {name: "verifier"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	var sent [3]string
	for i := range members {
		text, ok := members[i].string()
		if !ok {
			reply(ctx, errMalformedJSON)
			return
		}
		sent[i] = string(text)
	}
	var x *operators.Operator
	err := r.turns.run(networkOf(r.clientAddress(ctx)), func() error {
		name, err := r.provider.Finish(sent[0], sent[1], sent[2])
		if err != nil {
			return err
		}
		// Exactly this name: another one that looks alike may belong to somebody else at the provider.
		if x = r.operators.Named(name); x == nil || x.Name != name {
			return fmt.Errorf("%w: %.48q", operators.ErrNobody, name)
		}
		return nil
	})
	if err != nil {
		r.refuse(ctx, err)
		return
	}
	r.welcome(ctx, x)
}

// refuse answers a login that fails. It counts like a wrong password, unless the provider is away.
func (r oidcCalls) refuse(ctx *fasthttp.RequestCtx, err error) {
	if errors.Is(err, oidc.ErrRefused) || errors.Is(err, operators.ErrNobody) {
		r.record(ctx, limits.LoginFailed, limits.Who{}, 1)
	}
	r.replyOutcome(ctx, err)
	if !errors.Is(err, oidc.ErrBadChallenge) {
		r.logRefusedLogin(ctx, "", err)
	}
}

package handlers

import (
	"crypto/rand"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/accounts"
)

// What operators do with the accounts of people who have registered.

// registeredBody is a registered user as an operator sees him.
type registeredBody struct {
	User    uint32  `json:"user_id"`
	Name    string  `json:"username"`
	Email   string  `json:"email"` // "" for none
	Created string  `json:"created_at"`
	Closed  *string `json:"closed_at"` // null while the account is open
}

func bodyOfRegistered(u accounts.Registered) registeredBody {
	body := registeredBody{u.ID, u.Name, u.Email, stamp(u.Created), nil}
	if !u.Closed.IsZero() {
		closed := stamp(u.Closed)
		body.Closed = &closed
	}
	return body
}

// listRegistered sends a page of the registered users by id, or the one with a name.
func (r accountsCalls) listRegistered(ctx *fasthttp.RequestCtx, _ Call) {
	after, ok1 := numberOf(ctx, "after", 0, 1<<32-1, 0)
	limit, ok2 := numberOf(ctx, "limit", 1, accounts.ListMax, accounts.ListMax)
	if !ok1 || !ok2 {
		reply(ctx, errBadPage)
		return
	}
	var list []accounts.Registered
	var next uint32
	var err error
	if name := param(ctx, "name"); name != "" {
		list, err = r.accounts.Search(name)
	} else {
		list, next, err = r.accounts.List(uint32(after), int(limit))
	}
	body := struct {
		Users []registeredBody `json:"users"`
		Next  uint32           `json:"next"` // after= of the next page, 0 behind the last
	}{[]registeredBody{}, next}
	for _, u := range list {
		body.Users = append(body.Users, bodyOfRegistered(u))
	}
	r.replyJSON(ctx, body, err)
}

// resetPassword sets the password of a user who has lost it. For null it makes one, which no other call
// shows again.
func (r accountsCalls) resetPassword(ctx *fasthttp.RequestCtx, c Call) {
	members := [1]member{{name: "password"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	password, ok := members[0].string()
	made := string(members[0].raw) == "null"
	if !made && !ok || members[0].replaced {
		reply(ctx, errMalformedJSON)
		return
	}
	if made {
		password = []byte(rand.Text())
	}
	user, err := r.accounts.Resolve(c.param("user"))
	if err == nil {
		err = r.hash(ctx, func() error { return r.accounts.Reset(user.ID, password) })
	}
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	if made {
		replyBody(ctx, []byte(`{"password":"`+string(password)+`"}`))
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// closeAccount closes the account of a user for good.
func (r accountsCalls) closeAccount(ctx *fasthttp.RequestCtx, c Call) {
	user, err := r.accounts.Resolve(c.param("user"))
	if err == nil {
		err = r.accounts.Close(user.ID)
	}
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

package handlers

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"flashsale/internal/credentials"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/limits"
)

// accountBodyMax holds a name, a password and an address of which each byte is escaped.
const accountBodyMax = 4 << 10

// namesMax is how many names one call asks for.
const namesMax = 100

// accountsCalls are the calls of people who register, and of their contacts.
type accountsCalls struct {
	*Server
	accounts *accounts.Accounts
}

// Accounts is the room of people who register, and of contacts. The login asks it, too.
func Accounts(a *accounts.Accounts) Room {
	return func(s *Server) []Route {
		s.accounts = a
		r := accountsCalls{s, a}
		user := s.chats(s.user)
		return []Route{
			{"POST", "/users", s.anybody, takes(accountBodyMax), r.register},
			{"GET", "/users", user, slow, r.listNames},
			{"PUT", "/users/me/password", user, takes(accountBodyMax), r.setPassword},
			{"GET", "/contacts", user, slow, r.listContacts},
			{"GET", "/contacts/:user", user, slow, r.showContact},
			{"PUT", "/contacts/:user", user, slow, r.putContact},
			{"DELETE", "/contacts/:user", user, slow, r.deleteContact},
			{"GET", "/admin/users", s.administers, slow, r.listRegistered},
			{"PUT", "/admin/users/:user/password", s.administers, takes(accountBodyMax), r.resetPassword},
			{"DELETE", "/admin/users/:user", s.administers, slow, r.closeAccount},
		}
	}
}

// register makes an account. Like the login, an address with too many tries is refused before its body is
// read, and a name before its password is hashed.
func (r accountsCalls) register(ctx *fasthttp.RequestCtx, c Call) {
	if r.isRefused(ctx, limits.Register, limits.Who{}) {
		return
	}
	members := [3]member{{name: "name"}, {name: "password"}, {name: "email"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	name, ok1 := members[0].string()
	password, ok2 := members[1].string()
	email, ok3 := members[2].string()
	if !ok1 || !ok2 || !ok3 && members[2].kind != 0 || members[0].replaced || members[1].replaced {
		reply(ctx, errMalformedJSON)
		return
	}
	who := limits.Who{Name: []byte(credentials.Fold(string(name)))}
	if r.isRefused(ctx, limits.Register, who) {
		return
	}
	r.record(ctx, limits.Register, who, 1)
	var user accounts.User
	err := r.hash(ctx, func() (err error) {
		user, err = r.accounts.Register(string(name), password, string(email))
		return err
	})
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	c.answer.user = user.ID
	r.replyUser(ctx, user)
	ctx.SetStatusCode(fasthttp.StatusCreated)
}

// replyUser answers with a user and a new access token.
func (s *Server) replyUser(ctx *fasthttp.RequestCtx, user accounts.User) {
	name, _ := json.Marshal(user.Name) // a string can always be written
	b := strconv.AppendUint([]byte(`{"user_id":`), uint64(user.ID), 10)
	b = append(append(b, `,"username":`...), name...)
	b = append(b, `,"access_token":"`...)
	b = s.appendToken(b, user.ID, timeOf(ctx))
	replyRaw(ctx, append(b, `"}`...))
}

// mayHaveRegistered reports whether a name that could not log in may belong to an account.
func (s *Server) mayHaveRegistered(name []byte) bool {
	if s.accounts == nil {
		return false
	}
	_, found := s.cfg.Catalog.UserOf(name)
	return !found
}

// loginRegistered goes on with a login under a name that the catalogue does not have. The event loop leaves
// the whole request to a goroutine, because this waits.
func (s *Server) loginRegistered(ctx *fasthttp.RequestCtx, c Call, name, password []byte) {
	if c.answer.readByLoop() {
		c.answer.exchange.Decline()
		return
	}
	who := limits.Who{Name: []byte(credentials.Fold(string(name)))} // whatever its case: one name
	if s.isRefused(ctx, limits.LoginFailed, who) {
		return
	}
	var user accounts.User
	err := s.hash(ctx, func() (err error) {
		user, err = s.accounts.Authenticate(string(name), password)
		return err
	})
	switch {
	case errors.Is(err, credentials.ErrWrongPassword):
		s.refuseLogin(ctx, who)
	case err != nil:
		s.replyOutcome(ctx, err)
	default:
		c.answer.user = user.ID
		s.replyUser(ctx, user)
	}
}

// setPassword changes the caller's password and ends his tokens.
func (r accountsCalls) setPassword(ctx *fasthttp.RequestCtx, c Call) {
	who := limits.Who{ID: c.user}
	members := [2]member{{name: "old"}, {name: "new"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	old, ok1 := members[0].string()
	fresh, ok2 := members[1].string()
	if !ok1 || !ok2 || members[1].replaced {
		reply(ctx, errMalformedJSON)
		return
	}
	if name, err := r.nameOf(c.user); err == nil { // a stolen token must not try passwords faster than a login
		who = limits.Who{Name: []byte(credentials.Fold(name))}
	}
	if r.isRefused(ctx, limits.LoginFailed, who) {
		return
	}
	err := r.hash(ctx, func() error { return r.accounts.SetPassword(c.user, old, fresh) })
	switch {
	case errors.Is(err, credentials.ErrWrongPassword):
		r.refuseLogin(ctx, who)
	case err != nil:
		r.replyOutcome(ctx, err)
	default:
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	}
}

// listNames sends the names of users, in the order of their ids in the call.
func (r accountsCalls) listNames(ctx *fasthttp.RequestCtx, _ Call) {
	var users []uint32
	for text := range strings.SplitSeq(param(ctx, "ids"), ",") {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil || len(users) == namesMax {
			reply(ctx, errBadRequest)
			return
		}
		users = append(users, uint32(id))
	}
	names, err := r.accounts.Names(users)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	type named struct {
		User uint32 `json:"user_id"`
		Name string `json:"username"`
	}
	body := struct {
		Users []named `json:"users"`
	}{[]named{}}
	for _, user := range users {
		if name, found := names[user]; found {
			body.Users = append(body.Users, named{user, name})
		}
	}
	r.replyJSON(ctx, body, nil)
}

// nameOf is the name of a user.
func (r accountsCalls) nameOf(user uint32) (string, error) {
	names, err := r.accounts.Names([]uint32{user})
	if err != nil {
		return "", err
	}
	return names[user], nil
}

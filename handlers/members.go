package handlers

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/threads"
)

// listMembers sends some members of a thread.
func (r threadCalls) listMembers(ctx *fasthttp.RequestCtx, c Call) {
	cursor, ok1 := numberOf(ctx, "cursor", 0, 1<<64-1, 0)
	limit, ok2 := numberOf(ctx, "limit", 1, threads.PageMax, threads.PageMax)
	if !ok1 || !ok2 {
		reply(ctx, errBadPage)
		return
	}
	found, next, err := r.Threads.Members(c.param("id"), c.user, cursor, int(limit))
	if err != nil {
		r.fail(ctx, err)
		return
	}
	type memberBody struct {
		User uint32       `json:"user_id"`
		Role threads.Role `json:"role"`
	}
	body := struct {
		Members []memberBody `json:"members"`
		Next    string       `json:"next"` // cursor= of the next page, "" at the end; it has 64 bits
	}{Members: []memberBody{}}
	for _, m := range found {
		body.Members = append(body.Members, memberBody(m))
	}
	if next != 0 {
		body.Next = strconv.FormatUint(next, 10)
	}
	r.replyJSON(ctx, body, nil)
}

// addMember makes a user a member of a group. The body, {"role":"owner"}, may be missing.
func (r threadCalls) addMember(ctx *fasthttp.RequestCtx, c Call) {
	if r.isRefused(ctx, limits.Invite, limits.Who{ID: c.user}) {
		return
	}
	role := threads.Member
	if body := ctx.PostBody(); len(body) > 0 {
		members := [1]member{{name: "role"}}
		if f := readBody(body, members[:]); f != nil {
			reply(ctx, f)
			return
		}
		var ok bool
		if role, ok = members[0].role(); !ok {
			reply(ctx, errMalformedJSON)
			return
		}
	}
	if user, ok := r.userOfPath(ctx, c); ok {
		r.record(ctx, limits.Invite, limits.Who{ID: c.user}, 1)
		r.replyDone(ctx, r.Threads.Add(c.param("id"), c.user, user, role))
	}
}

// addMembers makes users members of a group. It leaves those out who have blocked the caller, or whom the
// caller has blocked, and answers who they are. After an error some of the others are members.
func (r threadCalls) addMembers(ctx *fasthttp.RequestCtx, c Call) {
	if r.isRefused(ctx, limits.Invite, limits.Who{ID: c.user}) {
		return
	}
	members := [2]member{{name: "users"}, {name: "role"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	texts, isList := members[0].users()
	role, isRole := members[1].role()
	if members[1].kind == 0 {
		role, isRole = threads.Member, true
	}
	if !isList || !isRole {
		reply(ctx, errMalformedJSON)
		return
	}
	users, ok := r.invited(ctx, c, texts)
	if !ok {
		return
	}
	body := struct {
		Blocked []uint32 `json:"blocked"`
	}{[]uint32{}}
	for _, user := range users {
		switch err := r.Threads.Add(c.param("id"), c.user, user, role); {
		case errors.Is(err, threads.ErrBlocked):
			body.Blocked = append(body.Blocked, user)
		case err != nil:
			r.fail(ctx, err)
			return
		}
	}
	r.replyJSON(ctx, body, nil)
}

// invited finds the users whom the caller invites, and counts them; false if it has answered.
func (r threadCalls) invited(ctx *fasthttp.RequestCtx, c Call, texts []string) (users []uint32, ok bool) {
	if len(texts) > threads.ParticipantsMax {
		reply(ctx, errBadThread)
		return nil, false
	}
	r.record(ctx, limits.Invite, limits.Who{ID: c.user}, max(len(texts), 1))
	users, err := r.Find(texts...)
	if err != nil {
		r.fail(ctx, err)
	}
	return users, err == nil
}

// users reads an array of users: numbers are ids, strings are as in a path.
func (m *member) users() (texts []string, ok bool) {
	var list []json.RawMessage
	if m.kind == 0 || json.Unmarshal(m.raw, &list) != nil || list == nil {
		return nil, false
	}
	texts = make([]string, len(list))
	for i, item := range list {
		if json.Unmarshal(item, &texts[i]) == nil && item[0] == '"' {
			continue
		}
		if _, err := strconv.ParseUint(string(item), 10, 32); err != nil {
			return nil, false
		}
		texts[i] = string(item)
	}
	return texts, true
}

// role reads the role of a member.
func (m *member) role() (role threads.Role, ok bool) {
	text, _ := m.string()
	role = threads.Role(text)
	return role, role == threads.Owner || role == threads.Member
}

// removeMember takes a user out of a group; the caller leaves.
func (r threadCalls) removeMember(ctx *fasthttp.RequestCtx, c Call) {
	user, ok := r.userOfPath(ctx, c)
	if !ok {
		return
	}
	err := r.Threads.Remove(c.param("id"), c.user, user)
	if err == nil && r.Removed != nil {
		err = r.Removed(c.param("id"))
	}
	r.replyDone(ctx, err)
}

// userOfPath is the user whom the path names by id, by name, or as me; false if it has answered.
func (r threadCalls) userOfPath(ctx *fasthttp.RequestCtx, c Call) (user uint32, ok bool) {
	text := c.param("user")
	if text == "me" {
		return c.user, true
	}
	users, err := r.Find(text)
	if err != nil {
		r.fail(ctx, err)
		return 0, false
	}
	return users[0], true
}

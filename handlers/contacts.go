package handlers

import (
	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/accounts"
)

// contactsPage is how many contacts one reply lists if the caller does not say, and at most.
const contactsPage = 100

// contactBody is a contact as it is sent.
type contactBody struct {
	User     uint32 `json:"user_id"`
	Name     string `json:"username"`
	Blocked  bool   `json:"blocked"`
	Nickname string `json:"nickname"`
}

// listContacts sends a page of the caller's contacts, by id.
func (r accountsCalls) listContacts(ctx *fasthttp.RequestCtx, c Call) {
	after, ok1 := numberOf(ctx, "after", 0, 1<<32-1, 0)
	limit, ok2 := numberOf(ctx, "limit", 1, contactsPage, contactsPage)
	if !ok1 || !ok2 {
		reply(ctx, errBadPage)
		return
	}
	list, err := r.accounts.Contacts(c.user)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	for len(list) > 0 && uint64(list[0].User) <= after {
		list = list[1:]
	}
	var body struct {
		Contacts []contactBody `json:"contacts"`
		Next     uint32        `json:"next"` // 0 behind the last page
	}
	if uint64(len(list)) > limit {
		list = list[:limit]
		body.Next = list[limit-1].User
	}
	users := make([]uint32, len(list))
	for i, contact := range list {
		users[i] = contact.User
	}
	names, err := r.accounts.Names(users)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	body.Contacts = []contactBody{}
	for _, contact := range list {
		body.Contacts = append(body.Contacts, bodyOf(contact, names[contact.User]))
	}
	r.replyJSON(ctx, body, nil)
}

func bodyOf(c accounts.Contact, name string) contactBody {
	return contactBody{c.User, name, c.Blocked, c.Nickname}
}

// contact finds the user whom the path names; false if it has answered.
func (r accountsCalls) contact(ctx *fasthttp.RequestCtx, c Call) (user accounts.User, ok bool) {
	user, err := r.accounts.Resolve(c.param("user"))
	if err != nil {
		r.replyOutcome(ctx, err)
	}
	return user, err == nil
}

func (r accountsCalls) showContact(ctx *fasthttp.RequestCtx, c Call) {
	user, ok := r.contact(ctx, c)
	if !ok {
		return
	}
	contact, err := r.accounts.Contact(c.user, user.ID)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	r.replyJSON(ctx, bodyOf(contact, user.Name), nil)
}

// putContact adds a contact or changes it. A field that the body does not have stays as it is.
func (r accountsCalls) putContact(ctx *fasthttp.RequestCtx, c Call) {
	members := [2]member{{name: "blocked"}, {name: "nickname"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	blocked, isSwitch := members[0].boolean()
	nickname, isText := members[1].string()
	var change accounts.ContactChange
	if members[0].kind != 0 {
		change.Blocked = &blocked
	}
	if text := string(nickname); members[1].kind != 0 {
		change.Nickname = &text
	}
	if change == (accounts.ContactChange{}) || change.Blocked != nil && !isSwitch ||
		change.Nickname != nil && (!isText || members[1].replaced) {
		reply(ctx, errMalformedJSON)
		return
	}
	user, ok := r.contact(ctx, c)
	if !ok {
		return
	}
	contact, err := r.accounts.PutContact(c.user, user.ID, change)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	r.replyJSON(ctx, bodyOf(contact, user.Name), nil)
}

func (r accountsCalls) deleteContact(ctx *fasthttp.RequestCtx, c Call) {
	user, ok := r.contact(ctx, c)
	if !ok {
		return
	}
	if err := r.accounts.DeleteContact(c.user, user.ID); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const namesMax = 100 // in one call

// nameOf is the name by which the person knows a user.
func (t *terminal) nameOf(user uint32) string {
	if user == t.session.user {
		return "you"
	}
	t.learn(user)
	if name := t.names[user]; name != "" {
		return name
	}
	return fmt.Sprint("user ", user)
}

// learn asks for the names of users that are not known, once.
func (t *terminal) learn(users ...uint32) {
	var lacking []uint32
	for _, user := range users {
		if _, asked := t.names[user]; !asked && user != t.session.user {
			t.names[user] = ""
			lacking = append(lacking, user)
		}
	}
	for ids := range slices.Chunk(lacking, namesMax) {
		var list []string
		for _, id := range ids {
			list = append(list, strconv.FormatUint(uint64(id), 10))
		}
		var found struct{ Users []contact }
		if t.fails(t.call("GET", "/users?ids="+strings.Join(list, ","), "", &found)) {
			for _, id := range ids {
				delete(t.names, id) // they are asked for again
			}
			return
		}
		for _, user := range found.Users {
			t.names[user.User] = user.Name
		}
	}
}

// learnOf asks for the names of all who are in threads.
func (t *terminal) learnOf(list []thread) {
	var users []uint32
	for i := range list {
		users = append(users, list[i].Participants...)
	}
	t.learn(users...)
}

// find returns the id of a user. A name becomes a contact.
func (t *terminal) find(name string) (uint32, error) {
	if id, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(id), nil
	}
	var c contact
	path := "/contacts/" + url.PathEscape(name)
	err := t.call("GET", path, "", &c)
	if isRefused(err, "CONTACT_NOT_FOUND") {
		err = t.call("PUT", path, `{"blocked":false,"nickname":""}`, &c)
	}
	t.names[c.User] = c.title()
	return c.User, err
}

// contact is a contact of the person.
type contact struct {
	User     uint32 `json:"user_id"`
	Name     string `json:"username"`
	Nickname string `json:"nickname"`
}

func (c *contact) title() string {
	if c.Nickname != "" {
		return c.Nickname
	}
	return c.Name
}

// readContacts learns the names of the contacts.
func (t *terminal) readContacts() {
	for after := uint32(0); ; {
		var page struct {
			Contacts []contact
			Next     uint32
		}
		if t.fails(t.call("GET", fmt.Sprint("/contacts?after=", after), "", &page)) {
			return
		}
		for _, c := range page.Contacts {
			t.names[c.User] = c.title()
		}
		if after = page.Next; after == 0 {
			return
		}
	}
}

// showContacts shows who is online.
func (t *terminal) showContacts() {
	var status struct {
		Contacts []struct {
			User   uint32 `json:"user_id"`
			Online bool
			Seen   *time.Time `json:"last_seen"`
		}
	}
	if t.fails(t.call("POST", "/presence", "", &status)) {
		return
	}
	if len(status.Contacts) == 0 {
		t.say("No contacts yet: /with NAME makes one.")
	}
	for _, c := range status.Contacts {
		switch {
		case c.Online:
			t.say("  %s is online", t.nameOf(c.User))
		case c.Seen == nil:
			t.say("  %s is away", t.nameOf(c.User))
		default:
			t.say("  %s was here %s", t.nameOf(c.User), c.Seen.Local().Format("Jan 2 15:04"))
		}
	}
}

// block blocks a user, or ends that.
func (t *terminal) block(name string, blocked bool) {
	body, told := fmt.Sprintf(`{"blocked":%v}`, blocked), "may write to you again"
	if blocked {
		told = "is blocked: neither of you writes to the other"
	}
	if name == "" {
		t.say("! /block and /unblock need a name")
	} else if !t.fails(t.call("PUT", "/contacts/"+url.PathEscape(name), body, nil)) {
		t.say("  %s %s", name, told)
	}
}

// showMembers shows who is in the open group.
func (t *terminal) showMembers() {
	type member struct {
		User uint32 `json:"user_id"`
		Role string
	}
	for cursor := "0"; cursor != ""; {
		var page struct {
			Members []member
			Next    string
		}
		if t.fails(t.call("GET", "/threads/"+t.open.ID+"/members?cursor="+cursor, "", &page)) {
			return
		}
		users := make([]uint32, len(page.Members))
		for i, m := range page.Members {
			users[i] = m.User
		}
		t.learn(users...)
		for _, m := range page.Members {
			t.say("  %s, %s", t.nameOf(m.User), m.Role)
		}
		cursor = page.Next
	}
}

// changeMember adds a user to the open group, removes one, or makes one an owner.
func (t *terminal) changeMember(word, name string) {
	if name == "" {
		t.say("! %s needs a name", word)
		return
	}
	method, body, told := "PUT", "", "is a member"
	switch word {
	case "/remove":
		method, told = "DELETE", "is no member any more"
	case "/owner":
		body, told = `{"role":"owner"}`, "is an owner"
	}
	if !t.fails(t.call(method, "/threads/"+t.open.ID+"/members/"+url.PathEscape(name), body, nil)) {
		t.say("  %s %s", name, told)
	}
}

// leave leaves the open group.
func (t *terminal) leave() {
	if !t.fails(t.call("DELETE", "/threads/"+t.open.ID+"/members/me", "", nil)) {
		t.say("--- You have left %s", t.title(&t.open))
		t.forget()
	}
}

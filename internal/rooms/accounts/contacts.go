package accounts

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"flashsale/internal/credentials"
	"flashsale/redisx/pipeline"
)

const (
	contactsMax = 1000
	nicknameMax = 64 // characters
)

// Contact is an entry in a user's list of contacts.
type Contact struct {
	User      uint32
	Blocked   bool   // by the owner of the list
	Nickname  string // that the owner gave, "" for none
	BlockedBy bool   // the contact has blocked the owner; only Contacts knows it
}

// ContactChange changes a contact. What is nil stays; a new contact is not blocked and has no nickname.
type ContactChange struct {
	Blocked  *bool
	Nickname *string
}

// contactOf reads a contact as Redis has it.
func contactOf(user uint32, value string) Contact {
	return Contact{User: user, Blocked: strings.HasPrefix(value, "1"), Nickname: value[min(1, len(value)):]}
}

// Contacts returns the contacts of a user by id. The list is in one piece: at most 1000.
func (a *Accounts) Contacts(user uint32) (list []Contact, err error) {
	part, contacts := userKey("contacts", user)
	_, blockers := userKey("blockers", user)
	var rows []string
	if err := a.do(part, contactsScript.Call(&rows, []string{contacts, blockers})); err != nil {
		return nil, err
	}
	for row := range slices.Chunk(rows, 3) {
		if id, err := strconv.ParseUint(row[0], 10, 32); err == nil {
			c := contactOf(uint32(id), row[1])
			c.BlockedBy = row[2] == "1"
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Contact) int { return cmp.Compare(a.User, b.User) })
	return list, nil
}

// Contact returns an entry. Error: ErrNoContact.
func (a *Accounts) Contact(owner, user uint32) (Contact, error) {
	part, key := userKey("contacts", owner)
	var value string
	if err := a.do(part, pipeline.Command(&value, "HGET", key, idText(user))); err != nil {
		return Contact{}, err
	}
	if value == "" {
		return Contact{}, ErrNoContact
	}
	return contactOf(user, value), nil
}

// PutContact adds a user to the contacts or changes the contact, and returns it. It may be repeated. A block
// begins before the list shows it, and ends after the list shows that it has ended. When both come at the
// same moment, it ends in the one that the list shows; in doubt the block stands. Errors: ErrBadContact,
// ErrTooManyContacts.
func (a *Accounts) PutContact(owner, user uint32, change ContactChange) (Contact, error) {
	blocked, nickname := "", ""
	if change.Nickname != nil {
		nickname = "=" + *change.Nickname
	}
	if user == owner || utf8.RuneCountInString(nickname) > nicknameMax+1 ||
		strings.ContainsFunc(nickname, credentials.IsHidden) {
		return Contact{}, ErrBadContact
	}
	if change.Blocked != nil {
		blocked = "0"
		if *change.Blocked {
			blocked = "1"
			if err := a.setBlock("SADD", owner, user); err != nil {
				return Contact{}, err
			}
		}
	}
	part, key := userKey("contacts", owner)
	var value string
	err := a.do(part, putContactScript.Call(&value, []string{key}, idText(user), blocked, nickname,
		strconv.Itoa(contactsMax)))
	switch {
	case err != nil:
		return Contact{}, err
	case value == "": // too many
		return Contact{}, cmp.Or(a.endBlock(owner, user), ErrTooManyContacts)
	case blocked == "1": // again: another call may have ended it in between
		err = a.setBlock("SADD", owner, user)
	case blocked == "0":
		err = a.endBlock(owner, user)
	}
	return contactOf(user, value), err
}

// DeleteContact takes a user off the list, and a block with it. It may be repeated.
func (a *Accounts) DeleteContact(owner, user uint32) error {
	part, key := userKey("contacts", owner)
	if err := a.do(part, pipeline.Command(new(int64), "HDEL", key, idText(user))); err != nil {
		return err
	}
	return a.endBlock(owner, user)
}

// endBlock ends a block, unless the list shows one by then.
func (a *Accounts) endBlock(owner, user uint32) error {
	if err := a.setBlock("SREM", owner, user); err != nil {
		return err
	}
	c, err := a.Contact(owner, user)
	switch {
	case errors.Is(err, ErrNoContact), err == nil && !c.Blocked:
		return nil
	case err != nil:
		return err
	}
	return a.setBlock("SADD", owner, user)
}

// setBlock begins (SADD) or ends (SREM) a block.
func (a *Accounts) setBlock(command string, by, user uint32) error {
	part, key := userKey("blockers", user)
	return a.do(part, pipeline.Command(new(int64), command, key, idText(by)))
}

// EitherBlocks reports whether a user has blocked one of the others, or one of them the user.
func (a *Accounts) EitherBlocks(user uint32, others []uint32) (bool, error) {
	if len(others) == 0 {
		return false, nil
	}
	part, contacts := userKey("contacts", user)
	_, blockers := userKey("blockers", user)
	own, by := []string{"HMGET", contacts}, []string{"SMISMEMBER", blockers}
	for _, other := range others {
		own, by = append(own, idText(other)), append(by, idText(other))
	}
	var values []string
	var blocked []int64
	if err := a.do(part, pipeline.Command(&values, own...).Command(&blocked, by...)); err != nil {
		return false, err
	}
	has := slices.ContainsFunc(values, func(value string) bool { return contactOf(0, value).Blocked })
	return has || slices.Contains(blocked, 1), nil
}

package threads

import (
	"fmt"
	"strconv"

	"flashsale/redisx/pipeline"
)

// GroupMember is a member of a thread.
type GroupMember struct {
	User uint32
	Role Role
}

// Members returns members of a thread in no order: those of one step of a walk, about limit. The walk begins
// with cursor 0 and ends when next is 0. A user who is a member during the whole walk is returned at least
// once. Errors: ErrNoThread, ErrNotMember.
func (t *Threads) Members(thread string, by uint32, cursor uint64, limit int) (list []GroupMember,
	next uint64, err error) {
	if kind := kindOf(thread); kind == "" {
		return nil, 0, ErrNoThread
	} else if kind == Room {
		return nil, 0, ErrNoGroup
	}
	v, step := view{id: thread}, scanned{}
	x := pipeline.NewCall()
	v.ask(x, by)
	step.ask(x, thread, cursor, limit)
	if err := t.of(thread).Do(x); err != nil {
		return nil, 0, err
	}
	if _, err := v.thread(by); err != nil {
		return nil, 0, err
	}
	return step.members()
}

// scanned is the reply of a step of HSCAN over the members.
type scanned struct {
	reply []any
}

func (s *scanned) ask(x *pipeline.Call, thread string, cursor uint64, limit int) {
	x.Command(&s.reply, "HSCAN", threadKey(thread)+":members", strconv.FormatUint(cursor, 10), "COUNT",
		strconv.Itoa(limit))
}

func (s *scanned) members() (list []GroupMember, next uint64, err error) {
	if len(s.reply) != 2 {
		return nil, 0, fmt.Errorf("%w: HSCAN returned %d values", pipeline.ErrUnavailable, len(s.reply))
	}
	if next, err = strconv.ParseUint(textOf(s.reply[0]), 10, 64); err != nil {
		return nil, 0, fmt.Errorf("%w: HSCAN: %w", pipeline.ErrUnavailable, err)
	}
	pairs, _ := s.reply[1].([]any)
	for i := 0; i+1 < len(pairs); i += 2 {
		user, err := userOf(textOf(pairs[i]))
		if m, ok := memberOf(textOf(pairs[i+1])); ok && err == nil {
			list = append(list, GroupMember{user, m.role})
		}
	}
	return list, next, nil
}

// textOf is a text in a reply of any kind.
func textOf(value any) string {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}

// Add makes a user a member of a group, or gives a member this role. Only owners may.
// Errors: ErrNoThread, ErrNotMember, ErrNotOwner, ErrLastOwner, ErrNoGroup, ErrNoUser, ErrBlocked, ErrFull,
// ErrBusy.
func (t *Threads) Add(thread string, by, user uint32, role Role) error {
	if kindOf(thread) == "" {
		return ErrNoThread
	}
	if err := t.mayMeet(by, user); err != nil {
		return err
	}
	letter := memberLetter
	if role == Owner {
		letter = ownerLetter
	}
	return t.run(addScript, thread, []string{"", "members", "log", "state"}, thread, idText(by), idText(user),
		letter, strconv.Itoa(t.cfg.Fanout), strconv.Itoa(MembersMax), t.cfg.now())
}

// Remove takes a member out of a group. Owners may remove everybody, and everybody may leave (user is by).
// When the last owner leaves, another member becomes an owner; with the last member the group ends. It is no
// error if the user is no member. Errors: ErrNoThread, ErrNotMember, ErrNotOwner, ErrNoGroup, ErrBusy.
func (t *Threads) Remove(thread string, by, user uint32) error {
	if kindOf(thread) == "" {
		return ErrNoThread
	}
	return t.run(removeScript, thread, []string{"", "members", "messages", "log", "state", "trim"}, thread,
		idText(by), idText(user), t.cfg.now())
}

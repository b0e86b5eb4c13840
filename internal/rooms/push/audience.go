package push

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	joinsKept = 5 * time.Minute // the keeper of the threads writes a new member's list after the log
	joinsMax  = 10_000
)

// audience is who is connected here, and to which groups they belong. It is in memory only.
type audience struct {
	of  func(user uint32) ([]string, error)
	now func() time.Time

	mu      sync.Mutex
	users   map[uint32]*hearer
	members map[string]map[uint32]struct{} // connected members of each group
	joins   []join                         // the last ones, for users who connect now
}

// hearer is a connected user.
type hearer struct {
	devices int
	groups  map[string]struct{}
}

// join is that a user joined or left a group.
type join struct {
	user   uint32
	group  string
	joined bool
	at     time.Time
}

// enter notes a device of a user. first reports whether it is the first one here.
func (a *audience) enter(user uint32) (first bool, err error) {
	a.mu.Lock()
	if l := a.users[user]; l != nil {
		l.devices++
		a.mu.Unlock()
		return false, nil
	}
	a.users[user] = &hearer{devices: 1, groups: map[string]struct{}{}}
	a.mu.Unlock()
	groups, err := a.of(user) // what the log brings meanwhile is entered too
	if err != nil {
		a.leave(user)
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, group := range groups {
		a.put(user, group, true)
	}
	for _, j := range a.joins {
		if j.user == user {
			a.put(user, j.group, j.joined)
		}
	}
	return true, nil
}

// leave notes the end of a device. last reports whether it was the last one here.
func (a *audience) leave(user uint32) (last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.users[user]
	if l == nil {
		return false
	}
	if l.devices--; l.devices > 0 {
		return false
	}
	for group := range l.groups {
		a.put(user, group, false)
	}
	delete(a.users, user)
	return true
}

// change notes that a user joined or left a group.
func (a *audience) change(user uint32, group string, joined bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for len(a.joins) > 0 && (len(a.joins) >= joinsMax || now.Sub(a.joins[0].at) > joinsKept) {
		a.joins = a.joins[1:]
	}
	a.joins = append(a.joins, join{user, group, joined, now})
	a.put(user, group, joined)
}

func (a *audience) put(user uint32, group string, joined bool) {
	l := a.users[user]
	if l == nil {
		return
	}
	if joined {
		l.groups[group] = struct{}{}
		if a.members[group] == nil {
			a.members[group] = map[uint32]struct{}{}
		}
		a.members[group][user] = struct{}{}
		return
	}
	delete(l.groups, group)
	delete(a.members[group], user)
	if len(a.members[group]) == 0 {
		delete(a.members, group)
	}
}

// hearers returns the connected members of a thread.
func (a *audience) hearers(thread string) (list []uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one, other, ok := pair(thread); ok {
		for _, user := range [...]uint32{one, other} {
			if a.users[user] != nil {
				list = append(list, user)
			}
		}
		return list
	}
	for user := range a.members[thread] {
		list = append(list, user)
	}
	return list
}

// connected returns all users who are connected here.
func (a *audience) connected() []uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]uint32, 0, len(a.users))
	for user := range a.users {
		list = append(list, user)
	}
	return list
}

// pair returns the two users of a thread of two, whose id has them: u3-9.
func pair(thread string) (one, other uint32, ok bool) {
	rest, found := strings.CutPrefix(thread, "u")
	first, second, both := strings.Cut(rest, "-")
	if !found || !both {
		return 0, 0, false
	}
	a, err := strconv.ParseUint(first, 10, 32)
	if err != nil {
		return 0, 0, false
	}
	b, err := strconv.ParseUint(second, 10, 32)
	return uint32(a), uint32(b), err == nil
}

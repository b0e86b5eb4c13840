package threads

import (
	"slices"
	"strconv"

	"flashsale/redisx/pipeline"
)

// Start describes a thread to start.
type Start struct {
	Participants []uint32 // besides the user who starts it
	Group        bool     // a group even with fewer than two of them
	History      bool     // of a group: new members see the messages from before
	Key          string   // of a group: a user starts one group with a key, however often; "" for a new one
}

// Start starts a thread. A thread of two is found if it exists, also when both start it at once.
// Errors: ErrBadStart, ErrNoUser, ErrBlocked, ErrStarts, ErrStartsRate, ErrBusy; ErrNotMember if the
// user has left the group of this key.
func (t *Threads) Start(by uint32, s Start) (Thread, error) {
	others := slices.Clone(s.Participants)
	slices.Sort(others)
	others = slices.DeleteFunc(slices.Compact(others), func(user uint32) bool { return user == by })
	isPair := !s.Group && len(others) == 1
	if by == 0 || slices.Contains(others, 0) || len(others) > ParticipantsMax || len(s.Key) > ClientIDMax ||
		!s.Group && len(others) == 0 || isPair && (s.History || s.Key != "") {
		return Thread{}, ErrBadStart
	}
	id, kind := groupID(by, s.Key), Group
	if isPair {
		id, kind = pairID(by, others[0]), Pair
	}
	if isPair || s.Key != "" { // then it may exist
		if found, err := t.Get(id, by); err != ErrNoThread {
			return found, err
		}
	}
	if err := t.mayStart(id, by, others); err != nil {
		return Thread{}, err
	}
	if err := t.start(id, kind, by, s.History, append([]uint32{by}, others...)); err != nil {
		return Thread{}, err
	}
	return t.Get(id, by)
}

// mayStart checks that a thread may be started with these users, and notes the start.
func (t *Threads) mayStart(id string, by uint32, others []uint32) error {
	if err := t.mayMeet(by, others...); err != nil {
		return err
	}
	var code int64
	err := t.redis.Part(userPart(by)).Do(reserveScript.Call(&code, []string{userKey(by) + ":made"}, id,
		strconv.Itoa(startsMax), strconv.Itoa(hourlyMax), t.cfg.now()))
	switch {
	case err != nil || code == isDone:
		return err
	case code == tooMany:
		return ErrStarts
	case code == tooManyHour:
		return ErrStartsRate
	}
	return pipeline.UnknownCode("reserve.lua", code)
}

// mayMeet checks that others are users, and that none of them and by have blocked each other.
func (t *Threads) mayMeet(by uint32, others ...uint32) error {
	if t.cfg.Exist != nil {
		if all, err := t.cfg.Exist(others); err != nil {
			return err
		} else if !all {
			return ErrNoUser
		}
	}
	if t.cfg.Blocked == nil {
		return nil
	}
	blocked, err := t.cfg.Blocked(by, others)
	if err == nil && blocked {
		err = ErrBlocked
	}
	return err
}

// start makes a thread, unless it exists.
func (t *Threads) start(id string, kind Kind, starter uint32, history bool, members []uint32) error {
	args := []string{id, string(kind), idText(starter), bit(history), strconv.Itoa(t.cfg.Fanout), t.cfg.now()}
	for _, user := range members {
		args = append(args, idText(user))
	}
	var code int64
	err := t.of(id).Do(startScript.Call(&code, keysOf(id, "", "members", "log", "state"), args...))
	if err != nil || code == isThere {
		return err
	}
	return outcome(code)
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

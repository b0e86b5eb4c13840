package threads

import (
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// follow makes the lists follow the entries of a log that come after a position, at most tailEntries of
// them, and keeps the lease.
func (k *Keeper) follow(part int, after int64) (l lease, err error) {
	var found []radix.StreamEntry
	err = k.do(part, pipeline.Command(&found, "XRANGE", partKey(part, "log"),
		strconv.FormatInt(after+1, 10)+"-0", "+", "COUNT", strconv.Itoa(tailEntries)))
	if err != nil || len(found) == 0 {
		return l, err
	}
	var entries []Entry
	for _, entry := range found {
		entries = append(entries, entryOf(part, entry))
	}
	if entries[0].Event == Grown {
		err = k.grow(part, entries[0])
		entries = entries[:1]
	} else {
		entries = beforeGrown(entries)
		err = k.followAll(part, entries)
	}
	if err != nil {
		return l, err
	}
	return k.hold(part, strconv.FormatInt(entries[len(entries)-1].Position, 10))
}

func beforeGrown(entries []Entry) []Entry {
	for i, e := range entries {
		if e.Event == Grown {
			return entries[:i]
		}
	}
	return entries
}

// followAll makes the lists follow entries.
func (k *Keeper) followAll(part int, entries []Entry) error {
	members, err := k.members(part, entries)
	if err != nil {
		return err
	}
	var steps [pipeline.Parts]steps
	add := func(user uint32, e Entry, what string) { steps[userPart(user)].add(user, e, what) }
	for _, e := range entries {
		switch e.Event {
		case Stored:
			for _, user := range members[e.Thread] { // none of a large group
				add(user, e, listChanged)
			}
		case Joined:
			if e.Large {
				add(e.User, e, listLarge)
			} else {
				add(e.User, e, listChanged)
			}
		case Left:
			add(e.User, e, listLeft)
		case Ended:
			add(e.User, e, listEnded)
		}
	}
	last := entries[len(entries)-1].Position
	for to := range steps {
		if len(steps[to].list) > 0 {
			if err := k.apply(part, to, &steps[to], last); err != nil {
				return err
			}
		}
	}
	return nil
}

// members reads the members of the threads of which messages were stored. A group that is large by now has
// none.
func (k *Keeper) members(part int, entries []Entry) (map[string][]uint32, error) {
	members := map[string][]uint32{}
	large := map[string]*string{}
	x := pipeline.NewCall()
	for _, e := range entries {
		if e.Event != Stored || e.Large {
			continue
		}
		if one, other, ok := pairOf(e.Thread); ok {
			members[e.Thread] = []uint32{one, other}
		} else if kindOf(e.Thread) == Group && large[e.Thread] == nil {
			large[e.Thread] = new(string)
			x.Command(large[e.Thread], "HGET", threadKey(e.Thread), "large")
		}
	}
	if len(large) == 0 {
		x.Free()
		return members, nil
	}
	if err := k.do(part, x); err != nil {
		return nil, err
	}
	texts := map[string]*[]string{}
	x = pipeline.NewCall()
	for thread, is := range large {
		if *is == "" {
			texts[thread] = new([]string)
			x.Command(texts[thread], "HKEYS", threadKey(thread)+":members")
		}
	}
	if len(texts) == 0 {
		x.Free()
		return members, nil
	}
	if err := k.do(part, x); err != nil {
		return nil, err
	}
	for thread, list := range texts {
		for _, text := range *list {
			if user, err := userOf(text); err == nil {
				members[thread] = append(members[thread], user)
			}
		}
	}
	return members, nil
}

// grow puts a group among the large ones of its members.
func (k *Keeper) grow(part int, e Entry) error {
	for cursor, done := uint64(0), false; !done; done = cursor == 0 {
		var step scanned
		x := pipeline.NewCall()
		step.ask(x, e.Thread, cursor, keeperSteps)
		if err := k.do(part, x); err != nil {
			return err
		}
		members, next, err := step.members()
		if err != nil {
			return err
		}
		cursor = next
		var steps [pipeline.Parts]steps
		for _, m := range members {
			steps[userPart(m.User)].add(m.User, e, listLarge)
		}
		for to := range steps {
			if err := k.apply(part, to, &steps[to], 0); err != nil {
				return err
			}
		}
	}
	for to := range pipeline.Parts { // only now: another page may have users of the same part
		if err := k.apply(part, to, &steps{}, e.Position); err != nil {
			return err
		}
	}
	return nil
}

// What follow.lua does with a thread of a user.
const (
	listChanged = "changed"
	listLarge   = "large"
	listLeft    = "left"
	listEnded   = "ended"
)

// steps are changes to the lists of users of one part, in order.
type steps struct {
	list []listStep
	last map[userThread]int // of the thread of a user, in list
}

type userThread struct {
	user   uint32
	thread string
}

type listStep struct {
	userThread
	position int64 // of its entry
	what     string
}

// add adds a change. Of changes in a row to one thread the last one counts.
func (s *steps) add(user uint32, e Entry, what string) {
	if s.last == nil {
		s.last = map[userThread]int{}
	}
	of := userThread{user, e.Thread}
	if i, ok := s.last[of]; ok && what == listChanged && s.list[i].what == listChanged {
		s.list[i].what = "" // nothing
	}
	s.last[of] = len(s.list)
	s.list = append(s.list, listStep{of, e.Position, what})
}

// apply changes the lists of users of a part as the log of a part says, up to a position; 0: more steps
// come.
func (k *Keeper) apply(from, to int, s *steps, upto int64) error {
	for rest := s.list; ; {
		now := rest[:min(len(rest), keeperSteps)]
		rest = rest[len(now):]
		position := ""
		if len(rest) == 0 && upto != 0 {
			position = strconv.FormatInt(upto, 10)
		}
		if len(now) > 0 || position != "" {
			keys, args := k.followArgs(from, to, now, position)
			if err := k.do(to, followScript.Call(new(int64), keys, args...)); err != nil {
				return err
			}
		}
		if len(rest) == 0 {
			return nil
		}
	}
}

func (k *Keeper) followArgs(from, to int, list []listStep, upto string) (keys, args []string) {
	keys = []string{followedKey(to)}
	args = []string{strconv.Itoa(from), upto, strconv.Itoa(listMax), strconv.Itoa(largeMax), k.cfg.now()}
	users := map[uint32]int{}
	for _, step := range list {
		if step.what == "" {
			continue
		}
		i, ok := users[step.user]
		if !ok {
			i = len(users)
			users[step.user] = i
			key := userKey(step.user)
			keys = append(keys, key, key+":large", key+":made")
		}
		args = append(args, strconv.FormatInt(step.position, 10), strconv.Itoa(i), step.what, step.thread)
	}
	return keys, args
}

package threads

import (
	"context"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/redisx/pipeline"
)

const keeperSteps = 1000 // of one run of follow.lua

// follow makes the lists follow what comes next in the logs. It waits for that, but not longer than wait.
// busy means that there is more.
func (w *ward) follow(ctx context.Context, wait time.Duration) (busy bool, err error) {
	found, err := w.logs.read(ctx, w.held, &w.from, keeperEntries, wait)
	if err != nil {
		return false, err
	}
	upto := w.from
	var all []Entry
	for _, entries := range found {
		part, count := entries[0].Part, len(entries)
		if entries[0].Event == Grown {
			if err := w.grow(entries[0]); err != nil {
				return false, err
			}
			entries = entries[:1]
		} else {
			entries = beforeGrown(entries)
			all = append(all, entries...)
		}
		upto[part] = entries[len(entries)-1].Position
		busy = busy || len(entries) < count || count == keeperEntries
	}
	if err := w.followAll(all, &upto); err != nil {
		return false, err
	}
	w.from = upto
	return busy, nil
}

func beforeGrown(entries []Entry) []Entry {
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Event == Grown }); i >= 0 {
		return entries[:i]
	}
	return entries
}

// followAll makes the lists follow entries, which are all of their logs up to these positions.
func (k *Keeper) followAll(entries []Entry, upto *Positions) error {
	members, err := k.members(entries)
	if err != nil {
		return err
	}
	var p plan
	for _, e := range entries {
		switch e.Event {
		case Stored:
			for _, user := range members[e.Thread] { // none of a large group
				p.add(user, e, listChanged, upto[e.Part])
			}
		case Joined:
			if e.Large {
				p.add(e.User, e, listLarge, upto[e.Part])
			} else {
				p.add(e.User, e, listChanged, upto[e.Part])
			}
		case Left:
			p.add(e.User, e, listLeft, upto[e.Part])
		case Ended:
			p.add(e.User, e, listEnded, upto[e.Part])
		}
	}
	return k.apply(&p)
}

// members reads the members of the threads of which messages were stored. A group that is large by now has
// none.
func (k *Keeper) members(entries []Entry) (map[string][]uint32, error) {
	members := map[string][]uint32{}
	large := map[string]*string{}
	calls := k.redis.Calls()
	for _, e := range entries {
		if e.Event != Stored || e.Large {
			continue
		}
		if one, other, ok := pairOf(e.Thread); ok {
			members[e.Thread] = []uint32{one, other}
		} else if kindOf(e.Thread) == Group && large[e.Thread] == nil {
			large[e.Thread] = new(string)
			calls.Of(e.Part).Command(large[e.Thread], "HGET", threadKey(e.Thread), "large")
		}
	}
	if err := k.read(calls); err != nil {
		return nil, err
	}
	texts := map[string]*[]string{}
	calls = k.redis.Calls()
	for thread, is := range large {
		if *is == "" {
			texts[thread] = new([]string)
			calls.Of(pipeline.PartOf(thread)).Command(texts[thread], "HKEYS", threadKey(thread)+":members")
		}
	}
	if err := k.read(calls); err != nil {
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
func (k *Keeper) grow(e Entry) error {
	for cursor, done := uint64(0), false; !done; done = cursor == 0 {
		var step scanned
		x := pipeline.NewCall()
		step.ask(x, e.Thread, cursor, keeperSteps)
		if err := k.do(e.Part, x); err != nil {
			return err
		}
		members, next, err := step.members()
		if err != nil {
			return err
		}
		cursor = next
		var p plan
		for _, m := range members {
			p.add(m.User, e, listLarge, 0)
		}
		if err := k.apply(&p); err != nil {
			return err
		}
	}
	var p plan
	for to := range p { // only now: another page may have users of the same part
		p.of(to, e.Part, e.Position)
	}
	return k.apply(&p)
}

// What follow.lua does with a thread of a user.
const (
	listChanged = "changed"
	listLarge   = "large"
	listLeft    = "left"
	listEnded   = "ended"
)

// plan is what is to be done with the lists of each part: the steps by log.
type plan [pipeline.Parts][]*steps

// steps are changes to the lists of users of one part, in the order of a log.
type steps struct {
	log  int   // its part
	upto int64 // the lists follow the log up to here afterwards; 0: more steps come
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

// of returns the steps for the lists of a part that come from a log.
func (p *plan) of(to, log int, upto int64) *steps {
	for _, s := range p[to] {
		if s.log == log {
			return s
		}
	}
	s := &steps{log: log, upto: upto, last: map[userThread]int{}}
	p[to] = append(p[to], s)
	return s
}

// add adds a change. Of changes in a row to one thread the last one counts.
func (p *plan) add(user uint32, e Entry, what string, upto int64) {
	s := p.of(userPart(user), e.Part, upto)
	of := userThread{user, e.Thread}
	if i, ok := s.last[of]; ok && what == listChanged && s.list[i].what == listChanged {
		s.list[i].what = "" // nothing
	}
	s.last[of] = len(s.list)
	s.list = append(s.list, listStep{of, e.Position, what})
}

// apply changes the lists, those of all parts at the same time.
func (k *Keeper) apply(p *plan) error {
	for more := true; more; {
		more = false
		var all errgroup.Group
		for to := range p {
			if len(p[to]) > 0 {
				more = true
				keys, args := k.nextRun(to, p)
				k.together(&all, to, followScript.Call(new(int64), keys, args...))
			}
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// nextRun takes the steps of one run of follow.lua out of the plan of a part.
func (k *Keeper) nextRun(to int, p *plan) (keys, args []string) {
	keys = []string{followedKey(to)}
	args = []string{strconv.Itoa(listMax), strconv.Itoa(largeMax), k.cfg.now()}
	users := map[uint32]int{}
	for room := keeperSteps; room > 0 && len(p[to]) > 0; {
		s := p[to][0]
		list := s.list[:min(len(s.list), room)]
		s.list = s.list[len(list):]
		room -= len(list)
		upto := ""
		if len(s.list) == 0 {
			p[to] = p[to][1:]
			if s.upto > 0 {
				upto = strconv.FormatInt(s.upto, 10)
			}
		}
		list = slices.DeleteFunc(list, func(step listStep) bool { return step.what == "" })
		args = append(args, strconv.Itoa(s.log), upto, strconv.Itoa(len(list)))
		for _, step := range list {
			i, ok := users[step.user]
			if !ok {
				i = len(users)
				users[step.user] = i
				key := userKey(step.user)
				keys = append(keys, key, key+":large", key+":made")
			}
			args = append(args, strconv.FormatInt(step.position, 10), strconv.Itoa(i), step.what, step.thread)
		}
	}
	return keys, args
}

package threads

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// Page asks for a part of a list.
type Page struct {
	Before int64  // only what is before it; 0 for no bound
	After  *int64 // only what is after it; nil for no bound
	Limit  int    // at most; 0 for PageMax
}

func (p *Page) limit() int {
	if p.Limit <= 0 {
		return PageMax
	}
	return min(p.Limit, PageMax)
}

// Listing is a page of a user's threads, the newest change first. A message is a change, and so is becoming
// a member.
type Listing struct {
	Threads []Thread
	Next    int64 // Before of the next page; 0 at the end
	// Changed is the After with which a client that polls sees every later change.
	Changed int64
}

// skewMax is how far the clocks of the masters may differ for those who poll large groups.
const skewMax = time.Minute

// List returns the threads of a user by the moment of their last change, the newest first. With After a
// large group that had a message within skewMax before, or that the user has joined last, may come again. A
// user's list has the listMax threads that changed last, and the largeMax newest large groups.
func (t *Threads) List(user uint32, p Page) (Listing, error) {
	after := int64(0)
	if p.After != nil {
		after = *p.After
	}
	entries, large, err := t.readList(user, p.Before, after, p.limit())
	if err != nil {
		return Listing{}, err
	}
	list := Listing{Changed: after}
	if len(entries) > 0 {
		list.Changed = max(after, entries[0].cursor)
	}
	if p.Before > 0 { // an older page
		list.Changed = after
	}
	more := len(entries) > p.limit()
	if more {
		entries = entries[:p.limit()]
	}
	least := after // below this one the page does not go
	if more {
		least = entries[len(entries)-1].cursor - 1
	}
	found, err := t.views(user, append(entries, large...))
	if err != nil {
		return Listing{}, err
	}
	for i, thread := range found {
		if thread.ID == "" { // the user is no longer a member, or the group is gone
			continue
		}
		if i < len(entries) {
			thread.Cursor, thread.Updated = entries[i].cursor, time.UnixMicro(entries[i].cursor)
		} else {
			joined := large[i-len(entries)].joined
			old := p.After != nil && thread.Cursor <= after-skewMax.Microseconds() && joined <= after
			if old || p.Before > 0 && thread.Cursor >= p.Before || more && thread.Cursor <= least {
				continue
			}
		}
		list.Threads = append(list.Threads, thread)
	}
	slices.SortStableFunc(list.Threads, func(a, b Thread) int { return cmp.Compare(b.Cursor, a.Cursor) })
	if more {
		list.Next = least + 1
	}
	if limit := p.limit(); len(list.Threads) > limit {
		for limit < len(list.Threads) && list.Threads[limit].Cursor == list.Threads[limit-1].Cursor {
			limit++ // one moment is on one page
		}
		if limit < len(list.Threads) {
			list.Next = list.Threads[limit-1].Cursor
		}
		list.Threads = list.Threads[:limit]
	}
	return list, nil
}

// listed is an entry of a user's list.
type listed struct {
	id     string
	cursor int64 // 0 for a large group
	joined int64 // of a large group: when the list got it, perhaps long after its last message
}

// readList reads limit+1 entries of a user's list, newest first, and the user's large groups. The groups are
// read last: a group that is not among them joins after all of these entries.
func (t *Threads) readList(user uint32, before, after int64, limit int) (entries, large []listed,
	err error) {
	highest := "+inf"
	if before > 0 {
		highest = "(" + strconv.FormatInt(before, 10)
	}
	var list, groups []string
	key := userKey(user)
	x := pipeline.Command(&list, "ZREVRANGEBYSCORE", key, highest, "("+strconv.FormatInt(after, 10),
		"WITHSCORES", "LIMIT", "0", strconv.Itoa(limit+1))
	x.Command(&groups, "ZREVRANGE", key+":large", "0", "-1", "WITHSCORES")
	if err := t.redis.Part(userPart(user)).Do(x); err != nil {
		return nil, nil, err
	}
	for i := 0; i+1 < len(list); i += 2 {
		entries = append(entries, listed{id: list[i], cursor: score(list[i+1])})
	}
	for i := 0; i+1 < len(groups); i += 2 {
		large = append(large, listed{id: groups[i], joined: score(groups[i+1])})
	}
	return entries, large, nil
}

// score reads a moment of a sorted set. The in-memory engine writes 1.8e+15.
func score(text string) int64 {
	n, _ := strconv.ParseFloat(text, 64)
	return int64(n)
}

// views reads what a user sees of threads, with one call for each Redis. A thread of which the user is no
// member is zero.
func (t *Threads) views(user uint32, list []listed) ([]Thread, error) {
	views := make([]view, len(list))
	calls := t.redis.Calls()
	for i, entry := range list {
		views[i].id = entry.id
		views[i].ask(calls.Of(pipeline.PartOf(entry.id)), user)
	}
	if err := calls.Do(); err != nil {
		return nil, err
	}
	found := make([]Thread, len(list))
	for i := range views {
		if thread, err := views[i].thread(user); err == nil {
			found[i] = thread
		}
	}
	return found, nil
}

// Listed returns the ids of all threads of a user's list, without the large groups.
func (t *Threads) Listed(user uint32) (ids []string, err error) {
	err = t.redis.Part(userPart(user)).Do(pipeline.Command(&ids, "ZRANGE", userKey(user), "0", "-1"))
	return ids, err
}

package handlers

import (
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/threads"
)

// Conversation is what the calls of the conversations need.
type Conversation struct {
	Threads *threads.Threads
	Find    func(texts ...string) (users []uint32, err error) // see accounts.Find
	// Repeated reports whether a user has sent the same text too often; nil: no text is.
	Repeated func(user uint32, text string) (bool, error)
	Pace     time.Duration // slow mode of the room, 0 for none
	// Removed waits until nothing more is pushed to a member who was removed; nil: nothing is pushed.
	Removed func(thread string) error
}

// threadCalls are the calls of the conversations.
type threadCalls struct {
	*Server
	Conversation
}

// Threads is the room of the conversations.
func Threads(c Conversation) Room {
	return func(s *Server) []Route {
		r := threadCalls{s, c}
		user, anybody := s.chats(s.user), s.chats(s.anybody)
		return []Route{
			{"POST", "/threads", user, takes(longestBodyMax), r.start},
			{"GET", "/threads", user, slow, r.list},
			{"GET", "/threads/:id", user, slow, r.show},
			{"PATCH", "/threads/:id", user, slow, r.change},
			{"GET", "/threads/:id/members", user, slow, r.listMembers},
			{"PUT", "/threads/:id/members", user, takes(longestBodyMax), r.addMembers},
			{"PUT", "/threads/:id/members/:user", user, slow, r.addMember},
			{"DELETE", "/threads/:id/members/:user", user, slow, r.removeMember},
			{"POST", "/threads/:id/messages", s.user, takes(longestBodyMax), r.post},
			{"GET", "/threads/:id/messages", user, slow, r.listMessages},
			{"GET", "/rooms/sale", anybody, slow, r.showRoom},
			{"POST", "/rooms/sale/messages", s.user, takes(longestBodyMax), r.postInRoom},
			{"GET", "/rooms/sale/messages", anybody, slow, r.listRoom},
			{"DELETE", "/rooms/sale/messages/:message", s.operates, slow, r.eraseMessage},
			{"PUT", "/rooms/sale/pin", s.operates, slow, r.pinMessage},
			{"DELETE", "/rooms/sale/pin", s.operates, slow, r.unpinMessage},
			{"PUT", "/rooms/sale/muted/:user", s.operates, slow, r.muteUser},
			{"DELETE", "/rooms/sale/muted/:user", s.operates, slow, r.unmuteUser},
		}
	}
}

// threadBody is a thread as its owner sees it.
type threadBody struct {
	ID           string       `json:"thread_id"`
	Kind         threads.Kind `json:"kind"`
	Owner        uint32       `json:"owner_id"`
	Role         threads.Role `json:"role"`
	Participants []uint32     `json:"participants"`
	Members      int64        `json:"members"`
	Muted        bool         `json:"is_muted"`
	Nickname     string       `json:"nickname"`
	Unread       int64        `json:"unread"`
	Read         int64        `json:"read"`
	Last         int64        `json:"last"`
	History      bool         `json:"history"`
	Created      string       `json:"created_at"`
	Updated      string       `json:"updated_at"`
}

func bodyOfThread(t *threads.Thread) threadBody {
	return threadBody{t.ID, t.Kind, t.Owner, t.Role, t.Participants, t.Members, t.Muted, t.Nickname, t.Unread,
		t.Read, t.Last, t.History, stamp(t.Created), stamp(t.Updated)}
}

func stamp(t time.Time) string { return t.UTC().Format(milliseconds) }

// replyThread answers with a thread, or with the failure.
func (r threadCalls) replyThread(ctx *fasthttp.RequestCtx, t threads.Thread, err error) {
	if err != nil {
		r.fail(ctx, err)
		return
	}
	r.replyJSON(ctx, bodyOfThread(&t), nil)
}

// fail answers with the failure of an error.
func (r threadCalls) fail(ctx *fasthttp.RequestCtx, err error) {
	r.replyOutcome(ctx, err)
	if slow := (*threads.PaceError)(nil); errors.As(err, &slow) {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(wholeSeconds(slow.Wait), 10))
	}
}

// start starts a thread, or finds it.
func (r threadCalls) start(ctx *fasthttp.RequestCtx, c Call) {
	if r.isRefused(ctx, limits.Invite, limits.Who{ID: c.user}) {
		return
	}
	members := [4]member{{name: "participants"}, {name: "group"}, {name: "history"}, {name: "key"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	texts, isList := members[0].users()
	group, isGroup := members[1].boolean()
	history, hasHistory := members[2].boolean()
	key, isKey := members[3].string()
	if !isList || !isGroup && members[1].kind != 0 || !hasHistory && members[2].kind != 0 ||
		!isKey && members[3].kind != 0 {
		reply(ctx, errMalformedJSON)
		return
	}
	users, ok := r.invited(ctx, c, texts)
	if !ok {
		return
	}
	t, err := r.Threads.Start(c.user,
		threads.Start{Participants: users, Group: group, History: history, Key: string(key)})
	r.replyThread(ctx, t, err)
}

// list sends a page of the caller's threads.
func (r threadCalls) list(ctx *fasthttp.RequestCtx, c Call) {
	p, ok := pageOf(ctx)
	if !ok {
		reply(ctx, errBadPage)
		return
	}
	found, err := r.Threads.List(c.user, p)
	if err != nil {
		r.fail(ctx, err)
		return
	}
	body := struct {
		Threads []threadBody `json:"threads"`
		Next    int64        `json:"next"`    // before= of the next page, 0 at the end
		Changed int64        `json:"changed"` // after= of the next poll
	}{[]threadBody{}, found.Next, found.Changed}
	for i := range found.Threads {
		body.Threads = append(body.Threads, bodyOfThread(&found.Threads[i]))
	}
	r.replyJSON(ctx, body, nil)
}

// pageOf reads before, after and limit of the query.
func pageOf(ctx *fasthttp.RequestCtx) (p threads.Page, ok bool) {
	const most = 1<<53 - 1
	before, ok1 := numberOf(ctx, "before", 0, most, 0)
	after, ok2 := numberOf(ctx, "after", 0, most, 0)
	limit, ok3 := numberOf(ctx, "limit", 1, threads.PageMax, 20)
	p = threads.Page{Before: int64(before), Limit: int(limit)}
	if ctx.QueryArgs().Has("after") {
		p.After = new(int64)
		*p.After = int64(after)
	}
	return p, ok1 && ok2 && ok3
}

// show sends a thread.
func (r threadCalls) show(ctx *fasthttp.RequestCtx, c Call) {
	t, err := r.Threads.Get(c.param("id"), c.user)
	if err == nil && t.Kind == threads.Room {
		err = threads.ErrNoGroup // it has no owner
	}
	r.replyThread(ctx, t, err)
}

// change changes the caller's view of a thread.
func (r threadCalls) change(ctx *fasthttp.RequestCtx, c Call) {
	members := [3]member{{name: "is_muted"}, {name: "nickname"}, {name: "read"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	var change threads.Change
	muted, isMuted := members[0].boolean()
	nickname, isName := members[1].string()
	read, isRead := members[2].integer()
	if members[0].kind != 0 {
		change.Muted = &muted
	}
	if text := string(nickname); members[1].kind != 0 {
		change.Nickname = &text
	}
	if members[2].kind != 0 {
		change.Read = &read
	}
	if change == (threads.Change{}) || change.Muted != nil && !isMuted ||
		change.Nickname != nil && (!isName || members[1].replaced) || change.Read != nil && !isRead {
		reply(ctx, errMalformedJSON)
		return
	}
	t, err := r.Threads.Change(c.param("id"), c.user, change)
	r.replyThread(ctx, t, err)
}

// replyDone answers 204, or with the failure.
func (r threadCalls) replyDone(ctx *fasthttp.RequestCtx, err error) {
	if err != nil {
		r.fail(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

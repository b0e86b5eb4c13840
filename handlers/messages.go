package handlers

import (
	"math"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/threads"
)

// messageBody is a message.
type messageBody struct {
	ID      int64  `json:"id"`
	Thread  string `json:"thread_id"`
	User    uint32 `json:"user_id"`
	Content string `json:"content"`
	Created string `json:"created_at"`
}

// bodyOfMessage is the body of a message; of one that was removed only its position is left.
func bodyOfMessage(m *threads.Message) any {
	if m.Removed {
		return struct {
			ID      int64  `json:"id"`
			Thread  string `json:"thread_id"`
			Removed bool   `json:"removed"`
		}{m.ID, m.Thread, true}
	}
	return messageBody{m.ID, m.Thread, m.User, m.Content, stamp(m.Created)}
}

// room is the thread of the sale's room.
func (r threadCalls) room() string { return threads.RoomID(r.cfg.Sale.ID()) }

func (r threadCalls) post(ctx *fasthttp.RequestCtx, c Call)       { r.postTo(ctx, c.user, c.param("id")) }
func (r threadCalls) postInRoom(ctx *fasthttp.RequestCtx, c Call) { r.postTo(ctx, c.user, r.room()) }

// postTo stores a message.
func (r threadCalls) postTo(ctx *fasthttp.RequestCtx, user uint32, thread string) {
	who := limits.Who{ID: user}
	if r.isRefused(ctx, limits.Message, who) {
		return
	}
	members := [2]member{{name: "content"}, {name: "id"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	content, isText := members[0].string()
	id, isID := members[1].string()
	if !isText || members[0].replaced || members[1].kind != 0 && (!isID || members[1].replaced) {
		reply(ctx, errMalformedJSON)
		return
	}
	r.record(ctx, limits.Message, who, 1)
	if r.Repeated != nil && len(content) <= threads.ContentMax {
		if often, err := r.Repeated(user, string(content)); err == nil && often { // that room may be away
			reply(ctx, errRepeated)
			return
		}
	}
	m, err := r.Threads.Post(thread, user, string(id), string(content))
	if err != nil {
		r.fail(ctx, err)
		return
	}
	r.replyJSON(ctx, bodyOfMessage(&m), nil)
}

func (r threadCalls) listMessages(ctx *fasthttp.RequestCtx, c Call) {
	r.listOf(ctx, c.user, c.param("id"))
}
func (r threadCalls) listRoom(ctx *fasthttp.RequestCtx, c Call) { r.listOf(ctx, c.user, r.room()) }

// listOf sends messages of a thread, in the order of their ids.
func (r threadCalls) listOf(ctx *fasthttp.RequestCtx, user uint32, thread string) {
	p, ok := pageOf(ctx)
	if !ok {
		reply(ctx, errBadPage)
		return
	}
	found, last, err := r.Threads.Messages(thread, user, p)
	if err != nil {
		r.fail(ctx, err)
		return
	}
	body := struct {
		Messages []any `json:"messages"`
		Last     int64 `json:"last"` // id of the newest message
	}{[]any{}, last}
	for i := range found {
		body.Messages = append(body.Messages, bodyOfMessage(&found[i]))
	}
	r.replyJSON(ctx, body, nil)
}

// showRoom describes the room of the sale.
func (r threadCalls) showRoom(ctx *fasthttp.RequestCtx, _ Call) {
	t, err := r.Threads.ShowRoom(r.cfg.Sale.ID())
	if err != nil {
		r.fail(ctx, err)
		return
	}
	body := struct {
		ID      string `json:"thread_id"`
		Last    int64  `json:"last"`
		Pinned  any    `json:"pinned"`
		Pace    int64  `json:"pace_seconds"` // between two messages of a user
		Created string `json:"created_at"`
		Updated string `json:"updated_at"`
	}{ID: t.ID, Last: t.Last, Pace: int64(r.Pace / time.Second), Created: stamp(t.Created),
		Updated: stamp(t.Updated)}
	if t.Pinned != nil {
		body.Pinned = bodyOfMessage(t.Pinned)
	}
	r.replyJSON(ctx, body, nil)
}

// eraseMessage takes the content of a message away.
func (r threadCalls) eraseMessage(ctx *fasthttp.RequestCtx, c Call) {
	id, err := strconv.ParseInt(c.param("message"), 10, 64)
	if err != nil {
		reply(ctx, errNoMessage)
		return
	}
	r.replyDone(ctx, r.Threads.Erase(r.room(), id))
}

func (r threadCalls) pinMessage(ctx *fasthttp.RequestCtx, _ Call) {
	id, ok := r.numberIn(ctx, "id")
	switch {
	case !ok:
	case id == 0:
		reply(ctx, errNoMessage)
	default:
		r.replyDone(ctx, r.Threads.Pin(r.room(), id))
	}
}

func (r threadCalls) unpinMessage(ctx *fasthttp.RequestCtx, _ Call) {
	r.replyDone(ctx, r.Threads.Pin(r.room(), 0))
}

// muteUser keeps a user from writing in the room for some seconds.
func (r threadCalls) muteUser(ctx *fasthttp.RequestCtx, c Call) {
	seconds, ok := r.numberIn(ctx, "seconds")
	if !ok {
		return
	}
	if seconds < 1 || seconds > math.MaxInt32 {
		reply(ctx, errBadThread)
		return
	}
	if user, ok := r.userOfPath(ctx, c); ok {
		r.replyDone(ctx, r.Threads.Mute(r.room(), user, time.Duration(seconds)*time.Second))
	}
}

func (r threadCalls) unmuteUser(ctx *fasthttp.RequestCtx, c Call) {
	if user, ok := r.userOfPath(ctx, c); ok {
		r.replyDone(ctx, r.Threads.Mute(r.room(), user, 0))
	}
}

// numberIn reads the only member of a body; false if it has answered.
func (r threadCalls) numberIn(ctx *fasthttp.RequestCtx, name string) (n int64, ok bool) {
	members := [1]member{{name: name}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return 0, false
	}
	if n, ok = members[0].integer(); !ok {
		reply(ctx, errMalformedJSON)
	}
	return n, ok
}

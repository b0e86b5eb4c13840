package handlers

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/presence"
)

// presenceCalls are the calls of the room of who is online.
type presenceCalls struct {
	*Server
	room *presence.Presence
}

// Presence is the room of who is online.
func Presence(room *presence.Presence) Room {
	return func(s *Server) []Route {
		r := presenceCalls{s, room}
		return []Route{
			{"POST", "/presence", s.chats(s.user), slow, r.beat},
			{"PUT", "/presence", s.chats(s.user), slow, r.change},
		}
	}
}

// beat takes a heartbeat and answers with the status of the user's contacts.
func (r presenceCalls) beat(ctx *fasthttp.RequestCtx, c Call) {
	visible, contacts, err := r.room.Heartbeat(c.user)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	const contactBytes = 70
	b := make([]byte, 0, scratchBytes+contactBytes*len(contacts))
	replyRaw(ctx, AppendPresence(b, visible, contacts))
}

// AppendPresence appends the answer to a heartbeat as JSON.
func AppendPresence(b []byte, visible bool, contacts []presence.Status) []byte {
	b = append(b, `{"visible":`...)
	b = strconv.AppendBool(b, visible)
	b = append(b, `,"contacts":[`...)
	for i, c := range contacts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"user_id":`...)
		b = strconv.AppendUint(b, uint64(c.User), 10)
		if c.Unknown {
			b = append(b, `,"online":null,"last_seen":null}`...)
			continue
		}
		b = append(b, `,"online":`...)
		b = strconv.AppendBool(b, c.Online)
		b = append(b, `,"last_seen":`...)
		if c.Seen.IsZero() {
			b = append(b, `null}`...)
			continue
		}
		b = append(b, '"')
		b = c.Seen.UTC().AppendFormat(b, time.RFC3339)
		b = append(b, `"}`...)
	}
	return append(b, `]}`...)
}

// change takes the user's wish whether others may see that the user is online.
func (r presenceCalls) change(ctx *fasthttp.RequestCtx, c Call) {
	members := [1]member{{name: "visible"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	visible := string(members[0].raw) == "true"
	if !visible && string(members[0].raw) != "false" {
		reply(ctx, errMalformedJSON)
		return
	}
	if err := r.room.SetVisible(c.user, visible); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

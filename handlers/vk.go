package handlers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/repeats"
)

// VKGroup is a VK group that the bot answers for. Its events come through VK's Callback API.
type VKGroup struct {
	ID           int64  // 0 for any group
	Confirmation string // the reply that proves to VK that the group uses this server
	Secret       string // in each event of VK
}

// vkGroup returns the group that an event names, nil for an unknown one.
func (r *repeatsCalls) vkGroup(id int64) *VKGroup {
	for i := range r.groups {
		if g := &r.groups[i]; g.ID == id || g.ID == 0 {
			return g
		}
	}
	return nil
}

// receiveVK takes an event of VK. VK repeats an event until it gets "ok", so the answer is "ok" only when
// the event's work is done or safe in Redis. Until the secret is checked, the body is only skimmed.
func (r *repeatsCalls) receiveVK(ctx *fasthttp.RequestCtx, _ Call) {
	body := ctx.PostBody()
	if len(body) == 0 {
		reply(ctx, errEmptyRequest)
		return
	}
	event, ok := readVKEvent(body)
	if !ok {
		reply(ctx, errMalformedJSON)
		return
	}
	group := r.vkGroup(event.group)
	switch {
	case group == nil || !sameSecret(event.secret, group.Secret):
		r.logRefusedVK(ctx, event.group)
		reply(ctx, errWrongSecret)
	case !json.Valid(body):
		reply(ctx, errMalformedJSON)
	case event.kind == "confirmation":
		replyText(ctx, group.Confirmation)
	case event.kind == "message_new":
		r.receiveMessage(ctx, group, &event)
	default:
		replyText(ctx, "ok")
	}
}

// receiveMessage counts a message and queues the reply. The group's own messages and notes of a chat get no
// reply. A message that cannot be read gets "ok" too: VK would repeat it unchanged.
func (r *repeatsCalls) receiveMessage(ctx *fasthttp.RequestCtx, group *VKGroup, event *vkEvent) {
	message, ok := event.message()
	if !ok {
		if n := r.unreadVK.Due(timeOf(ctx)); n > 0 {
			slog.Warn("messages to the bot cannot be read: they have no peer_id, or a field of another type",
				"messages", n, "last_event", cut(event.id))
		}
		replyText(ctx, "ok")
		return
	}
	if message.own {
		replyText(ctx, "ok")
		return
	}
	sender := limits.Who{VK: cmp.Or(message.from, message.peer)} // not the address, which is one of VK
	if r.isRefused(ctx, limits.Message, sender) {
		return
	}
	err := r.counter.Receive(repeats.Message{Group: group.ID, Event: message.event, Peer: message.peer,
		Text: message.text})
	switch {
	case errors.Is(err, repeats.ErrQueueFull):
		if n := r.fullQueue.Due(timeOf(ctx)); n > 0 {
			slog.Warn("messages to the bot get 503: -vk-queue replies wait already", "refused", n,
				"last_group", group.ID)
		}
		reply(ctx, errUnavailable)
		return
	case errors.Is(err, repeats.ErrNoReply):
		if n := r.droppedReplies.Due(timeOf(ctx)); n > 0 {
			slog.Warn("messages to the bot are counted and get no reply: VK refuses the token of the group, and "+
				"enough replies wait", "messages", n, "last_group", group.ID)
		}
	case errors.Is(err, repeats.ErrNotRecorded):
		r.logNotRecorded(ctx)
	case err != nil:
		r.replyOutcome(ctx, err)
		return
	case message.text != "":
		r.figures.RepeatsCounted.Inc()
	}
	r.record(ctx, limits.Message, sender, 1)
	replyText(ctx, "ok")
}

// logRefusedVK logs that events carry a wrong secret.
func (r *repeatsCalls) logRefusedVK(ctx *fasthttp.RequestCtx, group int64) {
	if n := r.refusedVK.Due(timeOf(ctx)); n > 0 {
		slog.Warn("events of VK are refused: forged, of an unknown group, or -vk-secret (-vk-groups) "+
			"lacks the secret of the group", "refused", n, "last_group", group, "last_from", r.clientAddress(ctx))
	}
}

// vkEvent is an event of the Callback API.
type vkEvent struct {
	kind, secret string
	id           string // old versions of the API send none
	group        int64
	object       []byte // JSON, nil for none
}

// readVKEvent reads the fields of an event from JSON that may still be invalid.
func readVKEvent(body []byte) (e vkEvent, ok bool) {
	m := [...]member{{name: "type"}, {name: "event_id"}, {name: "group_id"}, {name: "secret"}, {name: "object"}}
	if !skim(body, m[:]) {
		return e, false
	}
	for i := range m[:4] {
		if len(m[i].raw) > vkFieldMax {
			return e, false
		}
	}
	var all checks
	e.kind, e.id, e.group, e.secret = all.text(&m[0]), all.text(&m[1]), all.number(&m[2]), all.text(&m[3])
	e.object = m[4].raw
	return e, !all.wrong
}

// vkMessage is what the bot needs of a message.
type vkMessage struct {
	event      string // identity of its event
	peer, from int64  // the conversation, the sender
	text       string
	own        bool // no person wrote it: the group has sent it, or it notes a change of a chat
}

// message returns the message of the event. Before version 5.103 of the API the object is the message; since
// then the object contains it. An event without an identity gets one made of the message's fields.
func (e *vkEvent) message() (m vkMessage, ok bool) {
	inner := [...]member{{name: "message"}}
	object := e.object
	if !skim(object, inner[:]) {
		return m, false
	}
	if !inner[0].missing() {
		object = inner[0].raw
	}
	f := [...]member{{name: "id"}, {name: "conversation_message_id"}, {name: "date"}, {name: "peer_id"},
		{name: "from_id"}, {name: "out"}, {name: "text"}, {name: "action"},
		{name: "user_id"}, {name: "body"}} // the last two before version 5.80
	if !skim(object, f[:]) {
		return m, false
	}
	var all checks
	id, number, date := all.number(&f[0]), all.number(&f[1]), all.number(&f[2])
	user := all.number(&f[8])
	m.peer, m.from = cmp.Or(all.number(&f[3]), user), cmp.Or(all.number(&f[4]), user)
	m.own = all.number(&f[5]) != 0 || !f[7].missing()
	m.text = cmp.Or(all.text(&f[6]), all.text(&f[9]))
	m.event = e.id
	if m.event == "" {
		m.event = fmt.Sprintf("message %d (%d) to %d in %d from %d at %d: %s", id, number, e.group, m.peer,
			m.from, date, m.text)
	}
	return m, !all.wrong && m.peer != 0
}

// checks collects whether members have the right types; members may be missing.
type checks struct{ wrong bool }

func (c *checks) text(m *member) string {
	c.read(m)
	text, ok := m.string()
	c.wrong = c.wrong || !ok && !m.missing()
	return string(text)
}

func (c *checks) number(m *member) int64 {
	c.read(m)
	n, ok := m.integer()
	c.wrong = c.wrong || !ok && !m.missing()
	return n
}

// read reads a member of JSON that may be invalid.
func (c *checks) read(m *member) {
	if len(m.raw) > 0 && m.raw[0] == '"' && !json.Valid(m.raw) {
		c.wrong = true
		return
	}
	m.read()
}

// missing reports whether the member is not there, or null.
func (m *member) missing() bool { return m.raw == nil || string(m.raw) == "null" }

const (
	vkMembersMax = 256     // of an object; VK sends about twenty
	vkFieldMax   = 1 << 10 // bytes of a field read before the secret is checked; VK sends some dozen
)

// skim finds members of a JSON object that may be invalid elsewhere. It looks at each byte once, at any
// depth of nesting, and copies nothing. VK escapes no names.
func skim(object []byte, members []member) bool {
	s := scanner{rest: object}
	if !s.next('{') {
		return false
	}
	n := 0
	for more := !s.next('}'); more; more = s.next(',') {
		name := s.value()
		if n++; n > vkMembersMax || len(name) < len(`""`) || name[0] != '"' || !s.next(':') {
			return false
		}
		raw := s.value()
		if len(raw) == 0 {
			return false
		}
		for i := range members {
			if string(name[1:len(name)-1]) == members[i].name {
				members[i].raw = raw
			}
		}
	}
	return true
}

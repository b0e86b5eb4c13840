package handlers

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/valyala/fasthttp"

	"flashsale/internal/limits"
	"flashsale/internal/repeats"
)

// VKGroup is the group of VK that a bot answers for. Its events come by VK's Callback API.
type VKGroup struct {
	Confirmation string // the answer to VK's question whether this server is the group's
	Secret       string // which each event of VK carries
}

// vkEvent is an event of the Callback API.
type vkEvent struct {
	Type   string          `json:"type"`
	Event  string          `json:"event_id"` // old versions of the API send none
	Group  int64           `json:"group_id"`
	Secret string          `json:"secret"`
	Object json.RawMessage `json:"object"`

	sender int64 // of the message, see message
}

// vkMessage is the object of message_new: before version 5.103 the message, since then with it inside.
type vkMessage struct {
	ID     int64  `json:"id"` // 0 in a chat
	Number int64  `json:"conversation_message_id"`
	Date   int64  `json:"date"`
	Peer   int64  `json:"peer_id"`
	From   int64  `json:"from_id"`
	User   int64  `json:"user_id"` // before version 5.80: the sender
	Text   string `json:"text"`
	Body   string `json:"body"` // before version 5.80
	Out    int    `json:"out"`  // 1: the group has sent it

	Message *vkMessage `json:"message"`
}

// receiveVK takes an event of VK. VK sends an event again until it gets "ok", so that is the answer only
// when the event's work is done or safe in Redis.
func (s *Server) receiveVK(ctx *fasthttp.RequestCtx, _ call) {
	var event vkEvent
	body := ctx.PostBody()
	switch {
	case len(body) == 0:
		reply(ctx, errEmptyRequest)
	case json.Unmarshal(body, &event) != nil:
		reply(ctx, errMalformedJSON)
	case !s.isVK(event.Secret):
		s.logRefusedVK(ctx)
		reply(ctx, errWrongSecret)
	case event.Type == "confirmation":
		replyText(ctx, s.cfg.VK.Confirmation)
	case event.Type == "message_new":
		s.receiveMessage(ctx, &event)
	default:
		replyText(ctx, "ok")
	}
}

// isVK compares hashes, so that the comparison takes the same time however much of a secret is right.
func (s *Server) isVK(secret string) bool {
	given, wanted := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(s.cfg.VK.Secret))
	return subtle.ConstantTimeCompare(given[:], wanted[:]) == 1
}

// receiveMessage counts a message and queues the reply. A message without a text, such as a picture, gets
// none. One that cannot be read gets "ok" too: it would be no better when VK sends it again.
func (s *Server) receiveMessage(ctx *fasthttp.RequestCtx, event *vkEvent) {
	message, ok := event.message()
	if !ok {
		if n := s.unreadVK.Due(timeOf(ctx)); n > 0 {
			slog.Warn("messages to the bot cannot be read: they have no peer_id, or a field of another type",
				"messages", n, "last_event", event.Event)
		}
		replyText(ctx, "ok")
		return
	}
	sender := limits.Who{VK: event.sender}
	if message.Text != "" {
		if s.isRefused(ctx, limits.Message, sender) {
			return
		}
		switch err := s.cfg.Repeats.Receive(message); {
		case errors.Is(err, repeats.ErrQueueFull):
			if n := s.fullQueue.Due(timeOf(ctx)); n > 0 {
				slog.Warn("messages to the bot get 503: -vk-queue replies wait already", "refused", n)
			}
			reply(ctx, errUnavailable)
			return
		case err != nil:
			s.replyOutcome(ctx, err)
			return
		}
		s.record(ctx, limits.Message, sender)
		s.figures.RepeatsCounted.Inc()
	}
	replyText(ctx, "ok")
}

// message returns the message in an event; without a text where there is nothing to count. An event without
// an identity gets one of all that tells its message from others.
func (e *vkEvent) message() (m repeats.Message, ok bool) {
	var object vkMessage
	if len(e.Object) == 0 || json.Unmarshal(e.Object, &object) != nil {
		return m, false
	}
	if object.Message != nil {
		object = *object.Message
	}
	e.sender = cmp.Or(object.From, object.User)
	m = repeats.Message{Event: e.Event, Peer: cmp.Or(object.Peer, object.User),
		Text: cmp.Or(object.Text, object.Body)}
	if m.Event == "" {
		m.Event = fmt.Sprintf("message %d (%d) to %d in %d from %d at %d: %s", object.ID, object.Number, e.Group,
			m.Peer, e.sender, object.Date, m.Text)
	}
	if object.Out != 0 {
		m.Text = ""
	}
	return m, m.Peer != 0
}

// logRefusedVK logs that events carry a wrong secret.
func (s *Server) logRefusedVK(ctx *fasthttp.RequestCtx) {
	if n := s.refusedVK.Due(timeOf(ctx)); n > 0 {
		slog.Warn("events of VK are refused: forged, or -vk-secret is not the secret of the group", "refused", n,
			"last_from", s.clientAddress(ctx))
	}
}

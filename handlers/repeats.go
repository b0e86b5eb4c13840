package handlers

import (
	"errors"
	"log/slog"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/logpace"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/repeats"
)

// repeatsCalls are the calls of the room of repeated messages and of its VK bot.
type repeatsCalls struct {
	*Server
	counter *repeats.Counter
	groups  []VKGroup // of the bot

	refusedVK, unreadVK, fullQueue, droppedReplies, notRecorded logpace.Pace
}

// Repeats is the room of repeated messages. With VK groups it also answers the messages to them.
func Repeats(counter *repeats.Counter, groups []VKGroup) Room {
	return func(s *Server) []Route {
		r := &repeatsCalls{Server: s, counter: counter, groups: groups}
		routes := []Route{{"POST", "/repeats", s.userOrService, takes(32 << 10), r.countText}}
		if len(groups) > 0 { // the secret in the body authenticates VK
			routes = append(routes, Route{"POST", "/vk/callback", s.anybody, takes(vkBodyBytesMax), r.receiveVK})
		}
		return routes
	}
}

// countText answers how often a text was received in the window before, and records it once more.
func (r *repeatsCalls) countText(ctx *fasthttp.RequestCtx, c Call) {
	who := limits.Who{ID: c.user}
	if c.user != 0 && r.isRefused(ctx, limits.Message, who) { // 0: a program, which sends for many
		return
	}
	members := [1]member{{name: "text"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	text, ok := members[0].string()
	if !ok || members[0].replaced { // texts that differ must not become the same
		reply(ctx, errMalformedJSON)
		return
	}
	if c.user != 0 {
		r.record(ctx, limits.Message, who, 1)
	}
	count, err := r.counter.Count(string(text))
	switch {
	case errors.Is(err, repeats.ErrNotRecorded):
		r.logNotRecorded(ctx)
	case err != nil:
		r.replyOutcome(ctx, err)
		return
	default:
		r.figures.RepeatsCounted.Inc()
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], `{"count":`...)
	b = strconv.AppendInt(b, count, 10)
	replyBody(ctx, append(b, '}'))
}

// logNotRecorded logs that a text was answered but not recorded.
func (r *repeatsCalls) logNotRecorded(ctx *fasthttp.RequestCtx) {
	r.figures.RepeatsNotRecorded.Inc()
	if n := r.notRecorded.Due(timeOf(ctx)); n > 0 {
		slog.Warn("texts are answered and not recorded: the counts fill -repeats-memory; raise it, or lower the "+
			"rates of message (-limits)", "texts", n)
	}
}

package handlers

import (
	"errors"
	"log/slog"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/repeats"
)

// countText answers how often a text was received in the window before, and records it once more.
func (s *Server) countText(ctx *fasthttp.RequestCtx, c call) {
	who := limits.Who{ID: c.user}
	if c.user != 0 && s.isRefused(ctx, limits.Message, who) { // 0: a program, which sends for many
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
		s.record(ctx, limits.Message, who)
	}
	count, err := s.cfg.Repeats.Count(string(text))
	switch {
	case errors.Is(err, repeats.ErrNotRecorded):
		s.logNotRecorded(ctx)
	case err != nil:
		s.replyOutcome(ctx, err)
		return
	default:
		s.figures.RepeatsCounted.Inc()
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], `{"count":`...)
	b = strconv.AppendInt(b, count, 10)
	replyBody(ctx, append(b, '}'))
}

// logNotRecorded notes a text that was answered and not recorded.
func (s *Server) logNotRecorded(ctx *fasthttp.RequestCtx) {
	s.figures.RepeatsNotRecorded.Inc()
	if n := s.fullRepeats.Due(timeOf(ctx)); n > 0 {
		slog.Warn("texts are answered and not recorded: the counts fill -repeats-memory; raise it, or lower the "+
			"rates of message (-limits)", "texts", n)
	}
}

package handlers

import (
	"context"
	"encoding/json"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/events"
)

const (
	eventsUsual = 100 // events of an answer
	waitersOwn  = 16  // calls of one caller that wait for events at once
	waitersMax  = 128 // calls of all callers
)

// eventsCalls are the calls about what happens to orders and to the sale.
type eventsCalls struct {
	*Server
	reader   *events.Reader
	webhooks *events.Webhooks
	waiting  readers
}

// Events is the room of events; webhooks is nil where there are none.
func Events(reader *events.Reader, webhooks *events.Webhooks) Room {
	return func(s *Server) []Route {
		r := &eventsCalls{Server: s, reader: reader, webhooks: webhooks,
			waiting: readers{allMax: waitersMax, ownMax: waitersOwn}}
		list := []Route{{"GET", "/events", s.viewsOrService, slow, r.list}}
		if webhooks == nil {
			return list
		}
		return append(list,
			Route{"GET", "/admin/webhooks", s.viewsOrService, slow, r.listWebhooks},
			Route{"GET", "/admin/webhooks/:name/dead", s.viewsOrService, slow, r.listDead},
			Route{"POST", "/admin/webhooks/:name/dead/:id", s.operates, slow, r.resend},
			Route{"POST", "/admin/webhooks/:name/on", s.operates, slow, r.switchOn},
		)
	}
}

// list answers with the events behind a cursor, and waits for one where there are none.
func (r *eventsCalls) list(ctx *fasthttp.RequestCtx, _ Call) {
	wait, ok := numberOf(ctx, "wait", 0, uint64(events.WaitMax/time.Second), 0)
	limit, ok2 := numberOf(ctx, "limit", 1, events.LimitMax, eventsUsual)
	if !ok || !ok2 {
		reply(ctx, errBadPage)
		return
	}
	if wait > 0 {
		who := actorOf(ctx)
		if !r.waiting.enter(who) {
			reply(ctx, errTooManyRequests)
			return
		}
		defer r.waiting.leave(who)
	}
	page, err := r.reader.Read(param(ctx, "after"), time.Duration(wait)*time.Second, int(limit))
	body := struct {
		Events []json.RawMessage `json:"events"`
		Next   string            `json:"next"`
	}{[]json.RawMessage{}, page.Next}
	for _, e := range page.Events {
		body.Events = append(body.Events, e.Body)
	}
	r.replyJSON(ctx, body, err)
}

// webhook is a receiver as operators see it.
type webhook struct {
	events.State
	Seconds float64 `json:"behind_seconds"` // the age of the oldest event that it has not got
}

func (r *eventsCalls) listWebhooks(ctx *fasthttp.RequestCtx, _ Call) {
	states, err := r.webhooks.List()
	list := []webhook{}
	for _, state := range states {
		w := webhook{State: state}
		if !state.Oldest.IsZero() {
			w.Seconds = max(0, timeOf(ctx).Sub(state.Oldest).Round(time.Millisecond).Seconds())
		}
		list = append(list, w)
	}
	r.replyJSON(ctx, list, err)
}

func (r *eventsCalls) listDead(ctx *fasthttp.RequestCtx, c Call) {
	letters, err := r.webhooks.Dead(c.param("name"))
	r.replyJSON(ctx, append([]json.RawMessage{}, letters...), err)
}

// resend sends a dead letter once more, while the caller waits.
func (r *eventsCalls) resend(ctx *fasthttp.RequestCtx, c Call) {
	r.replyDone(ctx, r.webhooks.Resend(context.Background(), c.param("name"), c.param("id")))
}

func (r *eventsCalls) switchOn(ctx *fasthttp.RequestCtx, c Call) {
	r.replyDone(ctx, r.webhooks.SwitchOn(c.param("name")))
}

// replyDone answers 204, or with the failure of an error.
func (s *Server) replyDone(ctx *fasthttp.RequestCtx, err error) {
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

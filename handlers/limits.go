package handlers

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/operators"
)

// limitsCalls are the calls of the rate limits.
type limitsCalls struct {
	*Server
	limiter *limits.Limiter
}

// Limits is the room of the rate limits: the sale's own calls ask it, too.
func Limits(l *limits.Limiter) Room {
	return func(s *Server) []Route {
		s.limits = l
		r := limitsCalls{s, l}
		return []Route{
			{"POST", "/limits/check", r.whereOn(s.anyOrService(operators.Operates)), takes(4 << 10), r.check},
			{"GET", "/limits/:event", r.whereOn(s.anyOrService(operators.Viewer)), slow, r.peek},
			{"DELETE", "/limits/:event", r.whereOn(s.operatesOrService), slow, r.lift},
		}
	}
}

// whereOn is another access while the rate limits are on, else a 404; SIGHUP may switch them.
func (r limitsCalls) whereOn(other access) access {
	return func(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
		if r.limiter.Off() {
			reply(ctx, errNotFound)
			return 0, false
		}
		return other(ctx)
	}
}

// isRefused reports whether a rate limit refuses a call, as far as this process knows at once, and answers
// the call then. Handlers ask before they read the body: refused calls must cost little.
func (s *Server) isRefused(ctx *fasthttp.RequestCtx, event limits.Event, who limits.Who) bool {
	if s.limits == nil {
		return false
	}
	now := timeOf(ctx)
	if who.VK == 0 && s.limits.ByAddress(event, who, now) { // a message of VK comes from an address of VK
		who.Address = s.clientAddress(ctx)
	}
	d, refused := s.limits.Refused(event, who, now)
	if refused {
		s.replyRefused(ctx, event, who, d)
	}
	return refused
}

// replyRefused answers a call that a rate limit refuses.
func (s *Server) replyRefused(
	ctx *fasthttp.RequestCtx, event limits.Event, who limits.Who, d limits.Decision,
) {
	switch {
	case d.Remaining == limits.Unknown:
		reply(ctx, errUnavailable)
	case who.VK != 0: // VK would send it again
		replyText(ctx, "ok")
		s.logLimited(ctx, event, who, d)
	default:
		replyTooMany(ctx, d.RetryAfter)
		setRateLimit(ctx, limits.Name(event), d)
		s.logLimited(ctx, event, who, d)
	}
	s.countOverLimit([]byte(limits.Name(event)))
}

// chats is another access for the calls of the conversation, as often as the rates of chat let them pass.
func (s *Server) chats(other access) access {
	return func(ctx *fasthttp.RequestCtx) (user uint32, ok bool) {
		user, ok = other(ctx)
		if !ok || s.limits == nil {
			return user, ok
		}
		who := limits.Who{ID: user, Address: s.clientAddress(ctx)}
		d, refused := s.limits.Take(limits.Chat, who, timeOf(ctx))
		if refused {
			s.replyRefused(ctx, limits.Chat, who, d)
		}
		return user, !refused
	}
}

// logLimited logs that a rate limit refuses calls, and details of the last call. Of a name it logs only the
// user's ID: people type passwords there.
func (s *Server) logLimited(
	ctx *fasthttp.RequestCtx, event limits.Event, who limits.Who, d limits.Decision,
) {
	n := s.limited.Due(timeOf(ctx))
	if n == 0 {
		return
	}
	if len(who.Name) > 0 {
		who.ID, _ = s.cfg.Catalog.UserOf(who.Name)
	}
	slog.Warn("calls are refused by a rate limit", "refused", n, "last_event", limits.Name(event),
		"last_by", d.Feature, "last_user", who.ID, "last_vk", who.VK,
		"last_from", s.clientAddress(ctx), "retry_after", d.RetryAfter.Round(time.Second))
}

// record counts an event for its rate limits, some times, without waiting.
func (s *Server) record(ctx *fasthttp.RequestCtx, event limits.Event, who limits.Who, times int) {
	if s.limits == nil {
		return
	}
	if limited, byAddress := s.limits.Limits(event); !limited {
		return
	} else if byAddress && who.VK == 0 {
		who.Address = s.clientAddress(ctx)
	}
	s.limits.Record(event, who, times)
}

// check decides on a call of another program and counts it.
func (r limitsCalls) check(ctx *fasthttp.RequestCtx, c Call) {
	members := [3]member{{name: "event"}, {name: "features"}, {name: "cost"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	event, ok := members[0].string()
	features, isObject := members[1].texts()
	cost, f := costOf(members[2])
	switch {
	case !ok || !isObject || f != nil:
		reply(ctx, errMalformedJSON)
		return
	case !r.mayAsk(ctx, c.user, string(event), features, cost):
		reply(ctx, errNotAllowed)
		return
	}
	d, err := r.limiter.Check(string(event), features, cost)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	if d.Allowed || cost == 0 {
		replyDecision(ctx, string(event), d)
		return
	}
	r.countOverLimit(event)
	replyTooMany(ctx, d.RetryAfter)
	setRateLimit(ctx, string(event), d)
}

// costOf reads a cost; it is 1 if the member is missing.
func costOf(m member) (int64, *failure) {
	if m.kind == 0 {
		return 1, nil
	}
	cost, ok := m.integer()
	if !ok || cost < 0 || cost > limits.RateMax {
		return 0, errMalformedJSON
	}
	return cost, nil
}

// texts reads a JSON object of strings.
func (m *member) texts() (texts map[string]string, ok bool) {
	var values map[string]*string
	if m.kind != 'x' || m.raw[0] != '{' || json.Unmarshal(m.raw, &values) != nil {
		return nil, false
	}
	texts = map[string]string{}
	for name, value := range values {
		if value == nil {
			return nil, false
		}
		texts[name] = *value
	}
	return texts, true
}

// mayAsk reports whether the caller may ask about an event. Users may ask about themselves only, or they
// could use up the rates of others: not about an address, which others share, and not about events that this
// server counts itself.
func (r limitsCalls) mayAsk(ctx *fasthttp.RequestCtx, user uint32, event string, features map[string]string,
	cost int64) bool {
	if user == 0 || actorOf(ctx) != "" {
		return true
	}
	if cost > 0 && limits.IsOwn(event) {
		return false
	}
	for name, value := range features {
		allowed := false
		switch name {
		case "user": // a failed login counts names, and a name may look like an id
			allowed = event != limits.Name(limits.LoginFailed) && value == strconv.FormatUint(uint64(user), 10)
		case "ip":
			address, err := netip.ParseAddr(value)
			allowed = cost == 0 && err == nil && address == r.clientAddress(ctx)
		}
		if !allowed {
			return false
		}
	}
	return true
}

// featuresOf reads the features of a query.
func featuresOf(ctx *fasthttp.RequestCtx) map[string]string {
	features := map[string]string{}
	for _, name := range limits.Features {
		if ctx.QueryArgs().Has(name) {
			features[name] = string(ctx.QueryArgs().Peek(name))
		}
	}
	return features
}

// peek reports whether a call would be admitted now, without counting it.
func (r limitsCalls) peek(ctx *fasthttp.RequestCtx, c Call) {
	features := featuresOf(ctx)
	if !r.mayAsk(ctx, c.user, c.param("event"), features, 0) {
		reply(ctx, errNotAllowed)
		return
	}
	d, err := r.limiter.Check(c.param("event"), features, 0)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	replyDecision(ctx, c.param("event"), d)
}

// lift resets the counts, so that the next call is admitted.
func (r limitsCalls) lift(ctx *fasthttp.RequestCtx, c Call) {
	if err := r.limiter.Lift(c.param("event"), featuresOf(ctx)); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// replyDecision answers with a decision, times in whole seconds. The answer is only "allowed" if no rate can
// refuse, or if Redis does not answer and the rule is open.
func replyDecision(ctx *fasthttp.RequestCtx, event string, d limits.Decision) {
	if d.Rate.Calls == 0 {
		replyBody(ctx, []byte(`{"allowed":true}`))
		return
	}
	setRateLimit(ctx, event, d)
	replyBody(ctx, fmt.Appendf(nil,
		`{"allowed":%v,"limit":%d,"window":%d,"remaining":%d,"retry_after":%d,"reset":%d}`,
		d.Allowed, d.Rate.Calls, wholeSeconds(d.Rate.Window), d.Remaining, wholeSeconds(d.RetryAfter),
		wholeSeconds(d.Reset)))
}

// replyTooMany tells a caller to wait.
func replyTooMany(ctx *fasthttp.RequestCtx, wait time.Duration) {
	reply(ctx, errTooManyRequests)
	var scratch [20]byte
	ctx.Response.Header.SetBytesV(fasthttp.HeaderRetryAfter,
		strconv.AppendInt(scratch[:0], wholeSeconds(wait), 10))
}

// setRateLimit sets the headers of the IETF (draft-ietf-httpapi-ratelimit-headers). The policy is named
// after the rule, such as "order by user"; q is its limit, w the window, r the calls left, t the seconds
// until all calls are there again.
func setRateLimit(ctx *fasthttp.RequestCtx, event string, d limits.Decision) {
	if d.Rate.Calls == 0 {
		return
	}
	ctx.Response.Header.Set("RateLimit-Policy",
		fmt.Sprintf(`"%s by %s";q=%d;w=%d`, event, d.Feature, d.Rate.Calls, wholeSeconds(d.Rate.Window)))
	ctx.Response.Header.Set("RateLimit",
		fmt.Sprintf(`"%s by %s";r=%d;t=%d`, event, d.Feature, d.Remaining, wholeSeconds(d.Reset)))
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

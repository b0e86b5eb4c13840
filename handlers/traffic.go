package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/traffic"
	"flashsale/redisx"
)

const (
	TopLast    = "1h" // default period of the most-hit keys
	TopKeys    = 10
	keysOfPage = 100 // keys in one page of the list

	// Prefixes of the keys that the server itself counts.
	callPrefix = "call:"
	foodPrefix = "food:"
)

// classes are the status classes of counted calls.
var classes = []string{"2xx", "4xx", "5xx"}

// classOf returns the index of a status in classes.
func classOf(status int) int {
	switch {
	case status < 400:
		return 0
	case status < 500:
		return 1
	}
	return 2
}

// trafficCalls are the calls of the statistics.
type trafficCalls struct {
	*Server
	room *traffic.Traffic
}

// Traffic is the room of the statistics: it also counts the calls and the pieces of this server.
func Traffic(room *traffic.Traffic) Room {
	return func(s *Server) []Route {
		s.traffic = room
		r := trafficCalls{s, room}
		return []Route{
			{"POST", "/traffic/hit", s.operatesOrService, takes(32 << 10), r.hit},
			{"GET", "/traffic", s.viewsOrService, slow, r.show},
			{"DELETE", "/traffic", s.administers, slow, r.delete},
			{"GET", "/traffic/keys", s.viewsOrService, slow, r.listKeys},
			{"GET", "/traffic/top", s.viewsOrService, slow, r.showTop},
		}
	}
}

// countTraffic makes the counters of the server's own keys: for requests without a route, for each route,
// and for each food.
func (s *Server) countTraffic() {
	if s.traffic == nil {
		return
	}
	calls := callKeys(nil, "other")
	var added, sold []string
	for _, resource := range s.router.resources {
		for i := range resource.routes {
			line := &resource.routes[i]
			line.hits = len(calls)
			calls = callKeys(calls, line.Method+" "+line.Pattern)
		}
	}
	for _, food := range s.cfg.Catalog.Foods() {
		name := foodPrefix + strconv.FormatInt(food.ID, 10)
		added, sold = append(added, name+":added"), append(sold, name+":sold")
	}
	s.hitsByCall, s.hitsByFood = s.traffic.Counters(calls), s.traffic.Counters(added)
	s.traffic.SoldKeys(sold)
}

// callKeys appends the keys of a call, one for each class of status.
func callKeys(keys []string, call string) []string {
	for _, class := range classes {
		keys = append(keys, callPrefix+call+":"+class)
	}
	return keys
}

// countPieces counts pieces that were added to a cart. It does not allocate.
func (a *answer) countPieces(status int) {
	if s := a.server; a.pieces > 0 && status == fasthttp.StatusNoContent {
		s.hitsByFood.Add(int(a.food-1), a.pieces)
	}
}

// countSold counts sold pieces: all pieces there have been less the pieces left.
func (s *Server) countSold(found *redisx.Snapshot) {
	if s.traffic == nil {
		return
	}
	sold := make([]int64, len(found.Left))
	for i, food := range s.cfg.Catalog.Foods() {
		sold[i] = food.Stock + found.Restocked[i] - found.Left[i]
	}
	s.traffic.Sold(sold)
}

// hit counts hits of other programs: one, or a list of them under "hits".
func (r trafficCalls) hit(ctx *fasthttp.RequestCtx, _ Call) {
	members := append(hitMembers(), member{name: "hits"})
	if f := readBody(ctx.PostBody(), members); f != nil {
		reply(ctx, f)
		return
	}
	var hits []traffic.Hit
	f := errMalformedJSON
	if list := members[len(members)-1]; list.kind == 0 {
		hits, f = readHit(hits, members)
	} else if list.kind == 'x' && members[0].kind+members[1].kind+members[2].kind == 0 { // no hit beside it
		hits, f = readHits(list.raw)
	}
	if f != nil {
		reply(ctx, f)
		return
	}
	if err := r.room.Count(hits); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// hitMembers are the members of a hit.
func hitMembers() []member { return []member{{name: "key"}, {name: "n"}, {name: "at"}} }

// readHits reads a list of hits.
func readHits(raw []byte) (hits []traffic.Hit, f *failure) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, errMalformedJSON
	}
	for _, text := range list {
		members := hitMembers()
		if f := readBody(text, members); f != nil {
			return nil, f
		}
		if hits, f = readHit(hits, members); f != nil {
			return nil, f
		}
	}
	return hits, nil
}

// readHit appends the hit of these members. Without "n" it counts once, without "at" (Unix seconds) now.
func readHit(hits []traffic.Hit, members []member) ([]traffic.Hit, *failure) {
	key, ok := members[0].string()
	if !ok || members[0].replaced { // keys that differ must not become the same
		return nil, errMalformedJSON
	}
	hit := traffic.Hit{Key: string(key), N: 1}
	if strings.HasPrefix(hit.Key, callPrefix) || strings.HasPrefix(hit.Key, foodPrefix) {
		return nil, errBadKey
	}
	if members[1].kind != 0 {
		if hit.N, ok = members[1].integer(); !ok {
			return nil, errMalformedJSON
		}
	}
	if members[2].kind != 0 {
		seconds, ok := members[2].integer()
		switch {
		case !ok:
			return nil, errMalformedJSON
		case seconds < 0: // the zero time would mean now
			return nil, errBadRange
		}
		hit.At = time.Unix(seconds, 0)
	}
	return append(hits, hit), nil
}

// show answers with the curve of a key.
func (r trafficCalls) show(ctx *fasthttp.RequestCtx, _ Call) {
	q, err := r.room.ParseQuery(func(name string) string { return param(ctx, name) })
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	curve, err := r.room.Query(q)
	r.replyJSON(ctx, curve, err)
}

// showTop answers with the most-hit keys.
func (r trafficCalls) showTop(ctx *fasthttp.RequestCtx, _ Call) {
	text, n := param(ctx, "last"), TopKeys
	if text == "" {
		text = TopLast
	}
	last, err := traffic.ParseSpan(text)
	if keys := param(ctx, "n"); err == nil && keys != "" {
		n, err = strconv.Atoi(keys)
	}
	if err != nil {
		r.replyOutcome(ctx, fmt.Errorf("%w: %w", traffic.ErrBadRange, err))
		return
	}
	top, err := r.room.Top(last, n)
	r.replyJSON(ctx, top, err)
}

// listKeys answers with a page of keys.
func (r trafficCalls) listKeys(ctx *fasthttp.RequestCtx, _ Call) {
	after, n := int64(0), keysOfPage
	var err, second error
	if text := param(ctx, "after"); text != "" {
		after, err = strconv.ParseInt(text, 10, 64)
	}
	if text := param(ctx, "n"); text != "" {
		n, second = strconv.Atoi(text)
	}
	if err = errors.Join(err, second); err != nil {
		r.replyOutcome(ctx, fmt.Errorf("%w: %w", traffic.ErrBadRange, err))
		return
	}
	list, err := r.room.Keys(after, n)
	r.replyJSON(ctx, list, err)
}

// delete deletes a key with its hits.
func (r trafficCalls) delete(ctx *fasthttp.RequestCtx, _ Call) {
	err := traffic.ErrBadKey
	if key := param(ctx, "key"); key != "" {
		err = r.room.Delete(key)
	}
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// replyJSON answers with a value, or with the failure of an error.
func (s *Server) replyJSON(ctx *fasthttp.RequestCtx, value any, err error) {
	var text []byte
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	replyRaw(ctx, text)
}

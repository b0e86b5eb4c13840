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
	topLast    = "1h" // where a request for the most-hit keys does not tell
	topKeys    = 10
	keysOfPage = 100 // of the list of keys

	// Keys with these prefixes are counted by the server itself.
	callPrefix = "call:"
	foodPrefix = "food:"
)

// classes are the classes of status that calls are counted by.
var classes = []string{"2xx", "4xx", "5xx"}

// classOf is the place of a status among the classes.
func classOf(status int) int {
	switch {
	case status < 400:
		return 0
	case status < 500:
		return 1
	}
	return 2
}

// countTraffic makes the counters of the server's own keys: for requests that no line of the table is for,
// then for each line of the table, and for each food.
func (s *Server) countTraffic() {
	if s.cfg.Traffic == nil {
		return
	}
	calls := callKeys(nil, "other")
	var added, sold []string
	for _, resource := range s.router.resources {
		for i := range resource.routes {
			line := &resource.routes[i]
			line.hits = len(calls)
			calls = callKeys(calls, line.method+" "+line.pattern)
		}
	}
	for _, food := range s.cfg.Catalog.Foods() {
		name := foodPrefix + strconv.FormatInt(food.ID, 10)
		added, sold = append(added, name+":added"), append(sold, name+":sold")
	}
	s.hitsByCall, s.hitsByFood = s.cfg.Traffic.Counters(calls), s.cfg.Traffic.Counters(added)
	s.cfg.Traffic.SoldKeys(sold)
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

// countSold counts what was sold, by what was there and what is left.
func (s *Server) countSold(found *redisx.Snapshot) {
	if s.cfg.Traffic == nil {
		return
	}
	sold := make([]int64, len(found.Left))
	for i, food := range s.cfg.Catalog.Foods() {
		sold[i] = food.Stock + found.Restocked[i] - found.Left[i]
	}
	s.cfg.Traffic.Sold(sold)
}

// hitTraffic counts hits of other programs: one, or a list of them under "hits".
func (s *Server) hitTraffic(ctx *fasthttp.RequestCtx, _ call) {
	members := append(hitMembers(), member{name: "hits"})
	if f := readBody(ctx.PostBody(), members); f != nil {
		reply(ctx, f)
		return
	}
	var hits []traffic.Hit
	f := errMalformedJSON
	if list := members[len(members)-1]; list.kind == 0 {
		hits, f = readHit(hits, members)
	} else if list.kind == 'x' && members[0].kind == 0 { // a key beside the list is a mistake
		hits, f = readHits(list.raw)
	}
	if f != nil {
		reply(ctx, f)
		return
	}
	if err := s.cfg.Traffic.Count(hits); err != nil {
		s.replyOutcome(ctx, err)
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

// readHit appends the hit of these members. Without "n" it is one hit, without "at" (Unix seconds) one of
// now.
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
		case seconds < 0: // the zero time, far before, would mean now
			return nil, errBadRange
		}
		hit.At = time.Unix(seconds, 0)
	}
	return append(hits, hit), nil
}

// param returns a parameter of the query, "" where there is none.
func param(ctx *fasthttp.RequestCtx, name string) string { return string(ctx.QueryArgs().Peek(name)) }

// showTraffic answers with the curve of a key.
func (s *Server) showTraffic(ctx *fasthttp.RequestCtx, _ call) {
	q, err := s.cfg.Traffic.ParseQuery(func(name string) string { return param(ctx, name) })
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	curve, err := s.cfg.Traffic.Query(q)
	s.replyJSON(ctx, curve, err)
}

// showTopTraffic answers with the most-hit keys.
func (s *Server) showTopTraffic(ctx *fasthttp.RequestCtx, _ call) {
	text, n := param(ctx, "last"), topKeys
	if text == "" {
		text = topLast
	}
	last, err := traffic.ParseSpan(text)
	if keys := param(ctx, "n"); err == nil && keys != "" {
		n, err = strconv.Atoi(keys)
	}
	if err != nil {
		s.replyOutcome(ctx, fmt.Errorf("%w: %w", traffic.ErrBadRange, err))
		return
	}
	top, err := s.cfg.Traffic.Top(last, n)
	s.replyJSON(ctx, top, err)
}

// listTrafficKeys answers with some of the keys.
func (s *Server) listTrafficKeys(ctx *fasthttp.RequestCtx, _ call) {
	after, n := int64(0), keysOfPage
	var err, second error
	if text := param(ctx, "after"); text != "" {
		after, err = strconv.ParseInt(text, 10, 64)
	}
	if text := param(ctx, "n"); text != "" {
		n, second = strconv.Atoi(text)
	}
	if err = errors.Join(err, second); err != nil {
		s.replyOutcome(ctx, fmt.Errorf("%w: %w", traffic.ErrBadRange, err))
		return
	}
	list, err := s.cfg.Traffic.Keys(after, n)
	s.replyJSON(ctx, list, err)
}

// deleteTraffic deletes a key with its hits.
func (s *Server) deleteTraffic(ctx *fasthttp.RequestCtx, _ call) {
	err := traffic.ErrBadKey
	if key := param(ctx, "key"); key != "" {
		err = s.cfg.Traffic.Delete(key)
	}
	if err != nil {
		s.replyOutcome(ctx, err)
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

package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"flashsale/redisx"
)

// milliseconds is RFC 3339 in UTC, to the millisecond.
const milliseconds = "2006-01-02T15:04:05.000Z"

// yearMax is the last year that RFC 3339 can write.
const yearMax = 9999

// Publish takes a snapshot of the sale and makes the bodies of GET /sale and GET /foods. Only one goroutine
// may call it.
func (s *Server) Publish(found redisx.Snapshot) {
	body := s.appendSale(nil, &found)
	s.sale.Store(&body)
	if s.foods.Load() != nil && slices.Equal(found.Left, s.last.Left) &&
		slices.Equal(found.Restocked, s.last.Restocked) &&
		slices.EqualFunc(found.SoldOut, s.last.SoldOut, time.Time.Equal) {
		return // the list of foods would be the same
	}
	s.last = found
	s.countSold(&found)
	s.publishFoods(&found)
}

// PublishGone notes that Redis does not hold the sale: its state is unknown. The foods stay as they were.
func (s *Server) PublishGone() { s.sale.Store(nil) }

// Pieces returns the pieces of food 1, 2, 3, ... over the whole sale: at the opening and added since.
func (s *Server) Pieces(found *redisx.Snapshot) []int64 {
	pieces := make([]int64, len(found.Restocked))
	for i, food := range s.cfg.Catalog.Foods() {
		pieces[i] = food.Stock + found.Restocked[i]
	}
	return pieces
}

// showSale sends the ready-made body.
func (s *Server) showSale(ctx *fasthttp.RequestCtx, _ Call) {
	if body := s.sale.Load(); body != nil {
		replyRaw(ctx, *body)
	} else {
		reply(ctx, errUnavailable)
	}
}

// appendSale appends a snapshot as JSON.
func (s *Server) appendSale(dst []byte, found *redisx.Snapshot) []byte {
	left, held, sold := int64(0), int64(0), int64(0)
	for i, food := range s.cfg.Catalog.Foods() {
		left += found.Left[i]
		held += found.HeldOf(i)
		sold += food.Stock + found.Restocked[i] - found.Left[i] - found.HeldOf(i)
	}
	dst = append(append(dst, `{"id":"`...), s.cfg.Sale.ID()...)
	dst = append(append(dst, `","state":"`...), found.State...)
	dst = appendTime(append(dst, `","now":`...), found.Now)
	dst = appendTime(append(dst, `,"opens_at":`...), found.OpensAt)
	dst = appendTime(append(dst, `,"closes_at":`...), found.ClosesAt)
	dst = strconv.AppendInt(append(dst, `,"pieces_left":`...), left, 10)
	dst = strconv.AppendInt(append(dst, `,"pieces_sold":`...), sold, 10)
	dst = strconv.AppendInt(append(dst, `,"orders":`...), found.Orders, 10)
	if at, all := found.SoldOutAt(); all {
		dst = appendTime(append(dst, `,"sold_out_at":`...), at)
	}
	if hold := s.cfg.Sale.Hold(); hold > 0 {
		dst = strconv.AppendInt(append(dst, `,"hold_seconds":`...), int64(hold/time.Second), 10)
		dst = strconv.AppendInt(append(dst, `,"pieces_held":`...), held, 10)
		if !found.Due.IsZero() {
			dst = appendTime(append(dst, `,"next_release_at":`...), found.Due)
		}
	}
	if away := found.Slices.Away + found.Slices.Lost; away > 0 {
		dst = strconv.AppendInt(append(dst, `,"slices_away":`...), int64(away), 10)
	}
	if behind := found.Slices.Behind; behind > 0 {
		dst = strconv.AppendInt(append(dst, `,"slices_behind":`...), int64(behind), 10)
	}
	return append(dst, '}')
}

// appendTime appends a time as a JSON string, null for the zero time.
func appendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	return append(t.UTC().AppendFormat(append(dst, '"'), milliseconds), '"')
}

// changeSale changes the state and the times of the sale. A call with an id changes only that sale.
func (s *Server) changeSale(ctx *fasthttp.RequestCtx, _ Call) {
	members := [4]member{{name: "state"}, {name: "opens_at"}, {name: "closes_at"}, {name: "id"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	change, f := readChange([3]member(members[:3]))
	if f == nil {
		f = s.checkID(&members[3])
	}
	if f != nil {
		reply(ctx, f)
		return
	}
	change.By = actorOf(ctx)
	if now, err := s.cfg.Sale.Change(change); err != nil {
		if errors.Is(err, redisx.ErrStateConflict) && isOpeningOver(change, now) {
			reply(ctx, errOpensInPast)
			return
		}
		s.replyOutcome(ctx, err)
		return
	}
	found, err := s.cfg.Sale.Snapshot()
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	replyRaw(ctx, s.appendSale(nil, &found))
}

// isOpeningOver reports whether a refused change was to open the sale by itself at a time that is over.
func isOpeningOver(c redisx.Change, now redisx.Current) bool {
	schedules := c.State == "" || c.State == redisx.StateScheduled
	return schedules && c.OpensAt != nil && !c.OpensAt.IsZero() && !c.OpensAt.After(now.Now)
}

// checkID compares the id in a body, if there is one, with the id of the sale.
func (s *Server) checkID(id *member) *failure {
	if id.kind == 0 {
		return nil
	}
	text, ok := id.string()
	switch {
	case !ok:
		return errMalformedJSON
	case string(text) != s.cfg.Sale.ID():
		return errStateConflict
	}
	return nil
}

// readChange reads the wanted change, which has at least one of the members.
func readChange(members [3]member) (c redisx.Change, f *failure) {
	if members[0].kind+members[1].kind+members[2].kind == 0 {
		return c, errMalformedJSON
	}
	if state := &members[0]; state.kind != 0 {
		text, ok := state.string()
		if !ok {
			return c, errMalformedJSON
		}
		if c.State = redisx.State(text); !slices.Contains(redisx.States, c.State) {
			return c, errBadState
		}
	}
	if c.OpensAt, f = members[1].time(); f != nil {
		return c, f
	}
	c.ClosesAt, f = members[2].time()
	return c, f
}

// time reads a time: nil where the member is missing, the zero time for null.
func (m *member) time() (*time.Time, *failure) {
	switch {
	case m.kind == 0:
		return nil, nil
	case string(m.raw) == "null":
		return &time.Time{}, nil
	}
	text, ok := m.string()
	if !ok {
		return nil, errMalformedJSON
	}
	t, err := time.Parse(time.RFC3339, string(text))
	t = redisx.WholeMillisecond(t)
	if err != nil || t.UnixMilli() <= 0 || t.UTC().Year() > yearMax {
		return nil, errBadTimes
	}
	return &t, nil
}

// listLog streams every change of the sale's state, times and stock, the oldest first.
func (s *Server) listLog(ctx *fasthttp.RequestCtx, c Call) {
	scan := s.cfg.Sale.ScanLog()
	s.streamList(ctx, c, jsonList("log"), func(l *list) error {
		page, err := scan.Next(context.Background())
		for i := range page {
			l.begin()
			l.text = s.appendLogEntry(l.text, &page[i])
		}
		return err
	})
}

// appendLogEntry appends an entry as JSON.
func (s *Server) appendLogEntry(dst []byte, e *redisx.LogEntry) []byte {
	dst = appendTime(append(dst, `{"at":`...), e.At)
	by, _ := json.Marshal(e.By) // a string can always be written
	dst = append(append(dst, `,"by":`...), by...)
	dst = append(append(append(dst, `,"what":"`...), e.What...), '"')
	switch e.What {
	case redisx.LogOpened:
		dst = strconv.AppendInt(append(dst, `,"pieces":`...), e.Pieces, 10)
		dst = appendTimes(append(dst, ','), e.TimesAfter)
	case redisx.LogState:
		dst = append(append(dst, `,"before":"`...), e.StateBefore...)
		dst = append(append(append(dst, `","after":"`...), e.StateAfter...), '"')
	case redisx.LogTimes:
		dst = append(appendTimes(append(dst, `,"before":{`...), e.TimesBefore), '}')
		dst = append(appendTimes(append(dst, `,"after":{`...), e.TimesAfter), '}')
	case redisx.LogStock:
		dst = strconv.AppendInt(append(dst, `,"food_id":`...), e.Food, 10)
		dst = strconv.AppendInt(append(dst, `,"add":`...), e.Add, 10)
		dst = strconv.AppendInt(append(dst, `,"before":`...), e.StockBefore, 10)
		dst = strconv.AppendInt(append(dst, `,"after":`...), e.StockAfter, 10)
	case redisx.LogOrder:
		dst = s.appendOrderID(append(dst, `,"order_id":`...), e.User, e.Number)
		dst = append(appendItemList(append(dst, `,"before":[`...), e.ItemsBefore), ']')
		dst = append(appendItemList(append(dst, `,"after":[`...), e.ItemsAfter), ']')
		reason, _ := json.Marshal(e.Reason) // a string can always be written
		dst = append(append(dst, `,"reason":`...), reason...)
	}
	return append(dst, '}')
}

// appendTimes appends the two members of times.
func appendTimes(dst []byte, t redisx.Times) []byte {
	dst = appendTime(append(dst, `"opens_at":`...), t.OpensAt)
	return appendTime(append(dst, `,"closes_at":`...), t.ClosesAt)
}

const idempotencyKeyMax = 255 // characters

// changeStock adds pieces to the stock of a food, or takes back unsold pieces.
func (s *Server) changeStock(ctx *fasthttp.RequestCtx, c Call) {
	members := [1]member{{name: "add"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	add, ok := members[0].integer()
	switch {
	case !ok:
		reply(ctx, errMalformedJSON)
		return
	case add == 0 || add > redisx.RestockMax || add < -redisx.RestockMax:
		reply(ctx, errBadAdd)
		return
	}
	foods := s.cfg.Catalog.Foods()
	id := c.param("id")
	food, err := strconv.ParseInt(id, 10, 64)
	if err != nil || food < 1 || food > int64(len(foods)) || strconv.FormatInt(food, 10) != id { // no "01"
		reply(ctx, errFoodNotFound)
		return
	}
	key, f := idempotencyKey(ctx)
	if f != nil {
		reply(ctx, f)
		return
	}
	food, left, err := s.cfg.Sale.Restock(redisx.Restock{By: actorOf(ctx), Food: food, Add: add,
		Key: string(key)})
	switch {
	case errors.Is(err, redisx.ErrOutOfStock):
		reply(ctx, tooFewLeft(left, -add))
		return
	case err != nil:
		s.replyOutcome(ctx, err)
		return
	}
	replyRaw(ctx, appendFood(nil, food, foods[food-1].Price, left))
}

// tooFewLeft is the failure for taking back more pieces than are left.
func tooFewLeft(left, wanted int64) *failure {
	return inBoth(409, "TOO_FEW_LEFT", fmt.Sprintf("只剩 %d 件，不能收回 %d 件", left, wanted),
		fmt.Sprintf("%d pieces are left: %d cannot be taken back.", left, wanted))
}

// idempotencyKey returns the key of a request, empty for none. Two keys fail: either could count.
func idempotencyKey(ctx *fasthttp.RequestCtx) (key []byte, f *failure) {
	switch keys := ctx.Request.Header.PeekAll("Idempotency-Key"); len(keys) {
	case 0:
		return nil, nil
	case 1:
		key = keys[0]
	default:
		return nil, errBadRequest
	}
	if len(key) > idempotencyKeyMax && utf8.RuneCount(key) > idempotencyKeyMax {
		return nil, errBadIdempotencyKey
	}
	return key, nil
}

package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
)

// Types are the types of events.
var Types = []string{"order.placed", "order.held", "order.paying", "order.paid", "order.released",
	"order.corrected", "order.refund_due", "order.refunded", "stock.added", "sale.opened", "sale.state",
	"sale.times", "sale.sold_out"}

// Event is a change that others hear of.
type Event struct {
	ID    string // the same for each receiver and each try
	Type  string
	Order string // its id, "" for the sale's own events
	At    time.Time
	Body  []byte // {"id":...,"type":...,"timestamp":...,"data":{...}}
}

// milliseconds is RFC 3339 in UTC, to the millisecond.
const milliseconds = "2006-01-02T15:04:05.000Z"

// read makes an Event of an entry. One without a type is nobody's concern.
func (s *stream) read(entry radix.StreamEntry) (e Event, err error) {
	e = Event{ID: s.sale + "-" + s.name + "-" + entry.ID.String(),
		At: time.UnixMilli(int64(entry.ID.Time)).UTC()}
	data := map[string]any{"sale": s.sale}
	if s.name == logName {
		err = e.ofSale(entry, data)
	} else {
		err = e.ofOrder(s.sale, entry, data)
	}
	if err != nil {
		return e, fmt.Errorf("entry %s of %s: %w", entry.ID, s.key, err)
	}
	e.Body, err = json.Marshal(struct {
		ID        string         `json:"id"`
		Type      string         `json:"type"`
		Timestamp string         `json:"timestamp"`
		Data      map[string]any `json:"data"`
	}{e.ID, e.Type, e.At.Format(milliseconds), data})
	return e, err
}

// ofSale fills in an entry of the log.
func (e *Event) ofSale(entry radix.StreamEntry, data map[string]any) error {
	found, err := redisx.ParseLogEntry(entry)
	if err != nil {
		return err
	}
	e.Type = "sale." + found.What
	data["by"] = found.By
	switch found.What {
	case redisx.LogOpened:
		data["pieces"] = found.Pieces
		putTimes(data, found.TimesAfter)
	case redisx.LogState:
		data["before"], data["after"] = found.StateBefore, found.StateAfter
	case redisx.LogTimes:
		data["before"], data["after"] = putTimes(map[string]any{}, found.TimesBefore),
			putTimes(map[string]any{}, found.TimesAfter)
	case redisx.LogStock:
		e.Type = "stock.added"
		data["food_id"], data["add"] = found.Food, found.Add
		data["before"], data["after"] = found.StockBefore, found.StockAfter
	case redisx.LogSoldOut:
	default: // root has corrected an order: its own stream tells more
		e.Type = ""
	}
	return nil
}

// putTimes adds the times of a sale, null for none.
func putTimes(data map[string]any, times redisx.Times) map[string]any {
	for name, at := range map[string]time.Time{"opens_at": times.OpensAt, "closes_at": times.ClosesAt} {
		if data[name] = nil; !at.IsZero() {
			data[name] = at.UTC().Format(milliseconds)
		}
	}
	return data
}

// names are the members of an order's event that are called otherwise than the field.
var names = map[string]string{"user": "user_id", "payment": "payment_id"}

// ofOrder fills in an entry of a stream of orders.
func (e *Event) ofOrder(sale string, entry radix.StreamEntry, data map[string]any) error {
	fields := map[string]string{}
	for _, field := range entry.Fields {
		fields[field[0]] = field[1]
	}
	user, err1 := strconv.ParseUint(fields["user"], 10, 32)
	before, err2 := strconv.Atoi(fields["number"])
	if err1 != nil || err2 != nil || fields["what"] == "" {
		return fmt.Errorf("%q are no fields of an event: want user, number, what", entry.Fields)
	}
	e.Type = "order." + fields["what"]
	e.Order = string(redisx.AppendOrderID(nil, sale, uint32(user), before))
	data["order_id"] = e.Order
	for field, text := range fields {
		name := field
		if other := names[field]; other != "" {
			name = other
		}
		value, err := valueOf(field, text)
		if err != nil {
			return fmt.Errorf("its field %s: %w", field, err)
		}
		if value != nil {
			data[name] = value
		}
	}
	return nil
}

// valueOf is the value of a field for JSON, nil for a field that the event does not show.
func valueOf(field, text string) (any, error) {
	switch field {
	case "what", "number":
		return nil, nil
	case "user", "seq", "amount":
		return strconv.ParseInt(text, 10, 64)
	case "till":
		ms, err := strconv.ParseInt(text, 10, 64)
		return time.UnixMilli(ms).UTC().Format(milliseconds), err
	case "items":
		items, err := redisx.ParseItems([]byte(text), 1<<31-1)
		list := []map[string]int64{}
		for _, item := range items {
			list = append(list, map[string]int64{"food_id": item.Food, "count": item.Count})
		}
		return list, err
	}
	return text, nil // payment and reason are texts, also where they look like numbers
}

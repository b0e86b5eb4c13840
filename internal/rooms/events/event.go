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
var Types = []string{"order.held", "order.paying", "order.paid", "order.released", "order.corrected",
	"order.refund_due", "order.refunded", "stock.added", "sale.opened", "sale.state", "sale.times", "sale.sold_out"}

// Event is a change that others hear of.
type Event struct {
	ID    string // the same for each receiver and each try
	Type  string
	Order string // its id, "" for the sale's own events
	At    time.Time
	Body  []byte // {"type":...,"timestamp":...,"data":{...}}, as Standard Webhooks proposes
}

// Stream is a stream of events of a sale: of the orders of a slice, or the log of the sale.
type Stream struct {
	Sale string
	Name string // in the ids of events: "0", "1", ... for slices, "log"
	Key  string
}

// read makes an Event of an entry.
func (s *Stream) read(entry radix.StreamEntry) (Event, error) {
	fields := map[string]string{}
	for _, field := range entry.Fields {
		fields[field[0]] = field[1]
	}
	e := Event{ID: fmt.Sprintf("%s-%s-%s", s.Sale, s.Name, entry.ID), At: time.UnixMilli(int64(entry.ID.Time)).UTC()}
	data := map[string]any{"sale": s.Sale}
	if s.Name == logName {
		e.Type = saleType(fields["what"])
		for name, value := range fields {
			if name != "what" {
				data[name] = number(value)
			}
		}
	} else {
		e.Type = "order." + fields["what"]
		user, err1 := strconv.ParseUint(fields["user"], 10, 32)
		before, err2 := strconv.Atoi(fields["number"])
		if err1 != nil || err2 != nil {
			return e, fmt.Errorf("entry %s of %s has no user and number", entry.ID, s.Key)
		}
		e.Order = string(redisx.AppendOrderID(nil, s.Sale, uint32(user), before))
		data["order_id"] = e.Order
		if err := orderData(data, fields); err != nil {
			return e, fmt.Errorf("entry %s of %s: %w", entry.ID, s.Key, err)
		}
	}
	var err error
	e.Body, err = json.Marshal(map[string]any{"type": e.Type, "timestamp": e.At.Format(time.RFC3339Nano), "data": data})
	return e, err
}

const logName = "log"

// saleType is the type of an entry of the log.
func saleType(what string) string {
	switch what {
	case redisx.LogStock:
		return "stock.added"
	case "order": // root has corrected one; its own stream tells more
		return ""
	}
	return "sale." + what
}

// orderData adds the fields of an order's event.
func orderData(data map[string]any, fields map[string]string) error {
	for name, value := range fields {
		switch name {
		case "what", "number":
		case "user":
			data["user_id"] = number(value)
		case "items":
			items, err := redisx.ParseItems([]byte(value), 1<<31-1)
			if err != nil {
				return err
			}
			list := []map[string]int64{}
			for _, item := range items {
				list = append(list, map[string]int64{"food_id": item.Food, "count": item.Count})
			}
			data["items"] = list
		case "till":
			ms, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			data["till"] = time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
		case "seq", "amount":
			data[name] = number(value)
		default: // payment and reason are texts, also where they look like numbers
			data[name] = value
		}
	}
	return nil
}

// number is a number where the text is one.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

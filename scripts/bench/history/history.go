// Package history keeps what the clients of a load did and learned, and checks that one order of events
// explains it all (check.go). The checker is github.com/anishathalye/porcupine.
package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// The calls of a history.
const (
	Order   = "order"   // POST /orders
	Read    = "read"    // the user's own order, by GET /orders, GET /orders/:id or in the list of all orders
	Cancel  = "cancel"  // DELETE /orders/:id
	Pay     = "pay"     // the provider of payments tells that an order was paid
	Restock = "restock" // root adds pieces
	Stock   = "stock"   // pieces left before the first and after the last call, when nothing changes
)

// The outcomes of a call. Any other outcome is the code of a refusal.
const (
	Done    = "done"
	Unknown = "unknown" // it has happened, or will happen at any time, or never
)

// The refusals that the models know. All others show nothing.
const (
	HasOrder   = "ORDER_OUT_OF_LIMIT"
	OutOfStock = "FOOD_OUT_OF_STOCK"
	NoOrder    = "ORDER_NOT_FOUND"
	IsPaid     = "ORDER_PAID"
)

// The states of an order in a read. An order that is final is read without one.
const (
	Held      = "held"
	Paying    = "paying"
	Paid      = "paid"
	Released  = "released"
	RefundDue = "refund_due"
)

// Pieces are the pieces of each food.
type Pieces map[int64]int64

// Event is one call and its answer.
type Event struct {
	Client  int    `json:"client"` // it makes one call after the other
	User    uint32 `json:"user,omitempty"`
	Call    string `json:"call"`
	Key     string `json:"key,omitempty"`   // Idempotency-Key of an order
	Owner   uint32 `json:"owner,omitempty"` // of the ordered cart, if not the user
	Pieces  Pieces `json:"pieces,omitempty"`
	Food    int64  `json:"food,omitempty"`
	Count   int64  `json:"count,omitempty"` // pieces added, or left
	Began   int64  `json:"began"`           // nanoseconds since the history began, by a monotonic clock
	Ended   int64  `json:"ended"`
	Outcome string `json:"outcome"`
	ID      string `json:"id,omitempty"`    // of the order; "" in a read: the user has none
	State   string `json:"state,omitempty"` // of the order that was read
	Hold    int64  `json:"hold,omitempty"`  // nanoseconds that a new order is held, 0: it is final
}

// Listed is an order as the server shows it.
type Listed struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Items []struct {
		Food  int64 `json:"food_id"`
		Count int64 `json:"count"`
	} `json:"items"`
}

// Shows is the event of a read that shows this order.
func (e Event) Shows(o Listed) Event {
	e.ID, e.State, e.Pieces = o.ID, o.State, Pieces{}
	for _, it := range o.Items {
		e.Pieces[it.Food] += it.Count
	}
	return e
}

// Writer writes a history, one line of JSON for each event. It may be used by many goroutines.
type Writer struct {
	began time.Time

	mu  sync.Mutex
	out *bufio.Writer
	err error // the first one
}

// NewWriter begins a history.
func NewWriter(out io.Writer) *Writer { return &Writer{began: time.Now(), out: bufio.NewWriter(out)} }

// Now is the time since the history began.
func (w *Writer) Now() int64 { return w.At(time.Now()) }

// At is a time since the history began.
func (w *Writer) At(t time.Time) int64 { return int64(t.Sub(w.began)) }

// Write adds an event, which need not be the last one by time.
func (w *Writer) Write(e Event) {
	line, err := json.Marshal(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		_, err = w.out.Write(append(line, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// Flush ends the history and returns the first error.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := errors.Join(w.err, w.out.Flush()); err != nil {
		return fmt.Errorf("cannot write the history: %w", err)
	}
	return nil
}

// ReadFile reads a history.
func ReadFile(path string) (events []Event, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := json.NewDecoder(bufio.NewReader(file)); ; {
		var e Event
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read event %d of %s: %w", len(events)+1, path, err)
		}
		events = append(events, e)
	}
}

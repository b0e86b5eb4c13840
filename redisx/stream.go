package redisx

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

var (
	//go:embed stream_open.lua
	streamOpenSource string
	//go:embed stream_done.lua
	streamDoneSource string
	//go:embed stream_filled.lua
	streamFilledSource string

	streamOpenScript   = pipeline.NewScript(streamOpenSource)
	streamDoneScript   = pipeline.NewScript(streamDoneSource)
	streamFilledScript = pipeline.NewScript(streamFilledSource)
)

// What stream_open.lua returns.
const (
	streamNoSale  = 0
	streamOn      = 1
	streamFilling = 2
)

// streamFilled is what stream_filled.lua returns where it has found the sale.
const streamFilled = 1

// streamTimeout is the least time in which Redis must answer a consumer: batches are large, and no client
// waits for them.
const streamTimeout = 5 * time.Second

// Stream is the stream of orders that are not in the ledger yet, seen by one of its consumers, on a
// connection of its own. It is for one goroutine; after an error it must be closed and opened anew.
//
// An order is put there by order.lua in the step that places it, and leaves it after Done. Read gives it
// to one consumer, TakeOver takes it from one that has died.
type Stream struct {
	link     *pipeline.Link
	cfg      Config
	sale     string // its id
	key      string
	consumer string
	foods    int
	filling  bool
}

// PlacedOrder is an order in the stream.
type PlacedOrder struct {
	Order

	entry string // its id in the stream
}

// OpenStream switches the ledger of the sale on, if it is not, and connects to its stream. From then on
// every server of the sale puts its orders there. Consumers of one name share what they were given: each
// process should have a name of its own, the same after a restart. Errors: ErrSaleGone, or why Redis
// cannot be asked.
func OpenStream(ctx context.Context, cfg Config, sale string, foods int, consumer string) (*Stream, error) {
	l, err := pipeline.Dial(ctx, cfg.Config)
	if err != nil {
		return nil, err
	}
	s := &Stream{link: l, cfg: cfg, sale: sale, key: streamPrefix + sale, consumer: consumer, foods: foods}
	var code int64
	if err = s.do(streamOpenScript.Eval(&code, []string{saleKey, s.key}, sale, streamGroup)); err == nil {
		err = s.switchedOn(code)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot switch the ledger on in Redis at %s: %w", cfg.Address, err)
	}
	return s, nil
}

func (s *Stream) switchedOn(code int64) error {
	switch code {
	case streamOn:
	case streamFilling:
		s.filling = true
	case streamNoSale:
		return ErrSaleGone
	default:
		return unknownCode("stream_open.lua", code)
	}
	return nil
}

// Filling reports whether orders placed before the ledger was switched on may be missing in it.
// ScanOrders finds them; call Filled once they are there.
func (s *Stream) Filling() bool { return s.filling }

// Filled ends Filling, for all servers and for ever; ErrSaleGone where the sale has ended.
func (s *Stream) Filled() error {
	var code int64
	if err := s.do(streamFilledScript.Eval(&code, []string{saleKey}, s.sale)); err != nil {
		return err
	}
	if code != streamFilled {
		return ErrSaleGone
	}
	s.filling = false
	return nil
}

// Read returns at most count orders: with before those that this consumer was given earlier and that are
// not Done, else new ones, which no consumer was given yet. It does not wait for any.
func (s *Stream) Read(before bool, count int) ([]PlacedOrder, error) {
	from := ">"
	if before {
		from = "0"
	}
	var streams []radix.StreamEntries
	x := pipeline.Command(&streams, "XREADGROUP", "GROUP", streamGroup, s.consumer,
		"COUNT", strconv.Itoa(count), "STREAMS", s.key, from)
	if err := s.do(x); err != nil || len(streams) == 0 {
		return nil, err
	}
	orders := make([]PlacedOrder, 0, len(streams[0].Entries))
	for _, entry := range streams[0].Entries {
		order, err := s.parse(entry)
		if err == nil {
			orders = append(orders, order)
			continue
		}
		// No order of the sale; it must not hold up the entries behind it. If it was an order after all,
		// the audit reports it as missing.
		slog.Error("an entry of the stream of orders is thrown away",
			"stream", s.key, "entry", entry.ID.String(), "error", err)
		if err := s.Done([]PlacedOrder{{entry: entry.ID.String()}}); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

func (s *Stream) parse(entry radix.StreamEntry) (o PlacedOrder, err error) {
	o.entry, o.Placed = entry.ID.String(), time.UnixMilli(int64(entry.ID.Time)).UTC()
	if o.User, err = userOf(entry); err != nil {
		return o, err
	}
	o.Items, err = parseItems([]byte(entry.Fields[1][1]), s.foods)
	return o, err
}

func userOf(entry radix.StreamEntry) (uint32, error) {
	if len(entry.Fields) != 2 || entry.Fields[0][0] != "user" || entry.Fields[1][0] != "items" {
		return 0, fmt.Errorf("cannot read its fields %q: want user and items", entry.Fields)
	}
	user, err := strconv.ParseUint(entry.Fields[0][1], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("cannot read its user: %w", err)
	}
	return uint32(user), nil
}

// TakeOver gives this consumer at most count orders that another one was given at least idle ago and that
// are not Done. Read with before returns them.
func (s *Stream) TakeOver(idle time.Duration, count int) error {
	var taken any
	return s.do(pipeline.Command(&taken, "XAUTOCLAIM", s.key, streamGroup, s.consumer,
		strconv.FormatInt(idle.Milliseconds(), 10), "0", "COUNT", strconv.Itoa(count), "JUSTID"))
}

// Done records that orders are in the ledger. The stream is cut off up to the first order that is not.
func (s *Stream) Done(orders []PlacedOrder) error {
	if len(orders) == 0 {
		return nil
	}
	args := []string{streamGroup}
	for _, order := range orders {
		args = append(args, order.entry)
	}
	var cut int
	return s.do(streamDoneScript.Eval(&cut, []string{s.key}, args...))
}

// Close ends the connection. What this consumer was given stays its own.
func (s *Stream) Close() { s.link.Close() }

func (s *Stream) do(x *pipeline.Call) error { return s.link.Do(x, max(s.cfg.Timeout, streamTimeout)) }

// StreamedUsers calls visit with the user of every order that is in the stream, none where the sale keeps
// no ledger.
func (s *Sale) StreamedUsers(ctx context.Context, visit func(user uint32)) error {
	for from := "-"; ctx.Err() == nil; {
		var page []radix.StreamEntry
		x := pipeline.Command(&page, "XRANGE", streamPrefix+s.id, from, "+",
			"COUNT", strconv.Itoa(scanCount))
		if err := s.redis.Do(x); err != nil {
			return err
		}
		for _, entry := range page {
			if user, err := userOf(entry); err == nil {
				visit(user)
			}
		}
		if len(page) < scanCount {
			return nil
		}
		from = page[len(page)-1].ID.Next().String()
	}
	return ctx.Err()
}

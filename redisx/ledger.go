package redisx

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// What ledger.lua returns.
const (
	ledgerNoSale  = 0
	ledgerOn      = 1
	ledgerFilling = 2
)

// streamTimeout is the least time in which Redis must answer a consumer: batches are large and nobody waits for them.
const streamTimeout = 5 * time.Second

// Stream is the stream of orders that are not in the ledger yet, seen by one of its consumers, on a connection of its
// own. It is for one goroutine; after an error it must be closed and opened anew.
//
// An order is put there by order.lua in the step that places it, and leaves it after Done. Until then it is somebody's:
// Read gives it to one consumer, TakeOver takes it from one that has died.
type Stream struct {
	link     *link
	cfg      Config
	key      string
	consumer string
	foods    int
	filling  bool
}

// PlacedOrder is an order in the stream.
type PlacedOrder struct {
	Order
	Placed time.Time // by Redis' clock, to the millisecond

	entry string // its id in the stream
}

// OpenStream switches the ledger of the sale on, if it is not, and connects to its stream. From then on every server
// of the sale puts its orders there. Consumers of one name share what they were given: a name should be one process's,
// and the same after its restart. Errors: ErrSaleGone, or why Redis cannot be asked.
func OpenStream(ctx context.Context, cfg Config, sale string, foods int, consumer string) (*Stream, error) {
	l, err := dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Stream{link: l, cfg: cfg, key: streamPrefix + sale, consumer: consumer, foods: foods}
	var code int64
	x := newCall().command(&code, "EVAL", ledgerSource, "2", saleKey, s.key, sale, streamGroup)
	if err = s.ask(x); err == nil {
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
	case ledgerOn:
	case ledgerFilling:
		s.filling = true
	case ledgerNoSale:
		return ErrSaleGone
	default:
		return unknownCode("ledger.lua", code)
	}
	return nil
}

// Filling says that orders placed before the ledger was switched on may be missing in it. ScanOrders finds them;
// Filled says that they are there.
func (s *Stream) Filling() bool { return s.filling }

// Filled ends Filling, for all servers and for ever.
func (s *Stream) Filled() error {
	var added int
	if err := s.ask(newCall().command(&added, "HSET", saleKey, "ledger", "on")); err != nil {
		return err
	}
	s.filling = false
	return nil
}

// Read returns at most count orders: those that were given to this consumer before and are not Done, or else those
// that were given to nobody. It does not wait for any.
func (s *Stream) Read(before bool, count int) ([]PlacedOrder, error) {
	from := ">"
	if before {
		from = "0"
	}
	var streams []radix.StreamEntries
	x := newCall().command(&streams, "XREADGROUP", "GROUP", streamGroup, s.consumer, "COUNT", strconv.Itoa(count), "STREAMS", s.key, from)
	if err := s.ask(x); err != nil || len(streams) == 0 {
		return nil, err
	}
	orders := make([]PlacedOrder, 0, len(streams[0].Entries))
	for _, entry := range streams[0].Entries {
		order, err := s.parse(entry)
		if err == nil {
			orders = append(orders, order)
			continue
		}
		// Nothing of ours; it must not hold up what is behind it. Should it have been an order, the audit misses it.
		slog.Error("an entry of the stream of orders is thrown away", "stream", s.key, "entry", entry.ID.String(), "error", err)
		if err := s.Done([]PlacedOrder{{entry: entry.ID.String()}}); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

func (s *Stream) parse(entry radix.StreamEntry) (o PlacedOrder, err error) {
	o = PlacedOrder{entry: entry.ID.String(), Placed: time.UnixMilli(int64(entry.ID.Time)).UTC()}
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

// TakeOver gives this consumer at most count of the orders that another one was given at least idle ago and has not
// done: Read with before returns them.
func (s *Stream) TakeOver(idle time.Duration, count int) error {
	var taken any
	return s.ask(newCall().command(&taken, "XAUTOCLAIM", s.key, streamGroup, s.consumer,
		strconv.FormatInt(idle.Milliseconds(), 10), "0", "COUNT", strconv.Itoa(count), "JUSTID"))
}

// Done says that orders are in the ledger. The stream is cut off up to the first order that is not.
func (s *Stream) Done(orders []PlacedOrder) error {
	if len(orders) == 0 {
		return nil
	}
	args := []string{"EVAL", doneSource, "1", s.key, streamGroup}
	for _, order := range orders {
		args = append(args, order.entry)
	}
	var cut int
	return s.ask(newCall().command(&cut, args...))
}

// Backlog is what is not in the ledger yet.
func (s *Stream) Backlog() (Backlog, error) {
	var found Backlog
	err := s.ask(found.ask(newCall(), s.key))
	return found, err
}

// Close ends the connection. What this consumer was given stays its own.
func (s *Stream) Close() { s.link.Close() }

func (s *Stream) ask(x *call) error { return s.link.ask(x, max(s.cfg.Timeout, streamTimeout)) }

// ReadBacklog asks a Redis what of the sale is not in its ledger yet.
func ReadBacklog(ctx context.Context, cfg Config, sale string) (Backlog, error) {
	l, err := dial(ctx, cfg)
	if err != nil {
		return Backlog{}, err
	}
	defer l.Close()
	var found Backlog
	err = l.ask(found.ask(newCall(), streamPrefix+sale), cfg.Timeout)
	return found, err
}

// StreamedUsers calls visit with the user of every order that is in the stream, none where the sale keeps no ledger.
func (s *Sale) StreamedUsers(ctx context.Context, visit func(user uint32)) error {
	for from := "-"; ctx.Err() == nil; {
		var page []radix.StreamEntry
		x := newCall().command(&page, "XRANGE", streamPrefix+s.id, from, "+", "COUNT", strconv.Itoa(scanCount))
		if err := s.do(x); err != nil {
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

// Backlog is what of a sale is not in its ledger yet.
type Backlog struct {
	Kept   bool // the sale keeps a ledger
	Orders int  // that wait

	oldest []radix.StreamEntry // the first of them, if any
}

// Age is how long the oldest order that waits has done so at the moment now, 0 where none waits.
func (b *Backlog) Age(now time.Time) time.Duration {
	if len(b.oldest) == 0 {
		return 0
	}
	return max(now.Sub(time.UnixMilli(int64(b.oldest[0].ID.Time))), 0) // the clock is Redis'
}

// ask adds to a call what fills the backlog.
func (b *Backlog) ask(x *call, key string) *call {
	return x.command(&b.Kept, "EXISTS", key).command(&b.Orders, "XLEN", key).
		command(&b.oldest, "XRANGE", key, "-", "+", "COUNT", "1")
}

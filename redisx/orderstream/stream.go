// Package orderstream is the stream of orders that are not in the ledger yet. The script that places an
// order puts it there, in the same step; the consumers here take it out. No order waits for them.
package orderstream

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

var (
	//go:embed open.lua
	openLua string
	//go:embed done.lua
	doneLua string
	//go:embed filled.lua
	filledLua string

	openScript   = pipeline.NewScript(openLua)
	doneScript   = pipeline.NewScript(doneLua)
	filledScript = pipeline.NewScript(filledLua)
)

// What open.lua returns.
const (
	openNoSale  = 0
	openOn      = 1
	openFilling = 2
)

// filledNoted is the code of filled.lua if it has found the sale.
const filledNoted = 1

// timeout is the least time in which Redis must answer a consumer: batches are large, and no client waits.
const timeout = 5 * time.Second

// Stream is the stream of orders of a slice, seen by one of its consumers, on a connection of its own. It is
// for one goroutine; after an error it must be closed and opened again. Read gives an order to one consumer,
// TakeOver takes it from a consumer that has died, and Done removes it.
type Stream struct {
	link     *pipeline.Link
	cfg      redisx.Config
	sale     string // its id
	keys     redisx.Keys
	consumer string
	foods    int
	filling  bool
}

// Order is an order in the stream. With held orders it comes again with each change, and has no items then.
type Order struct {
	redisx.Order

	entry string // its id in the stream
	again bool   // it has changed: its number counts
}

// Open switches the ledger of a slice on, if it is off, and connects to its stream of orders. From then on
// every server of the sale puts its orders there. Each process should have its own consumer name and keep it
// after a restart: consumers with the same name share their orders. Errors: redisx.ErrSaleGone, or why Redis
// cannot be asked.
func Open(
	ctx context.Context, cfg redisx.Config, sale string, slice, foods int, consumer string,
) (*Stream, error) {
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return nil, err
	}
	s := &Stream{link: l, cfg: cfg, sale: sale, keys: cfg.KeysOf(sale, slice), consumer: consumer, foods: foods}
	var code int64
	x := openScript.Eval(&code, []string{s.keys.Marker, s.keys.Stream}, sale, redisx.StreamGroup)
	if err = s.do(x); err == nil {
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
	case openOn:
	case openFilling:
		s.filling = true
	case openNoSale:
		return redisx.ErrSaleGone
	default:
		return pipeline.UnknownCode("open.lua", code)
	}
	return nil
}

// Filling reports whether orders placed before the ledger was switched on may be missing in it.
// Sale.ScanOrders finds them; call Filled once the ledger has them.
func (s *Stream) Filling() bool { return s.filling }

// Filled ends Filling, for all servers and for ever; redisx.ErrSaleGone if the sale has ended.
func (s *Stream) Filled() error {
	var code int64
	if err := s.do(filledScript.Eval(&code, []string{s.keys.Marker}, s.sale)); err != nil {
		return err
	}
	if code != filledNoted {
		return redisx.ErrSaleGone
	}
	s.filling = false
	return nil
}

// Read returns at most count orders. With before it returns orders that this consumer got earlier and that
// are not Done, else new orders. It does not wait.
func (s *Stream) Read(before bool, count int) ([]Order, error) {
	from := ">"
	if before {
		from = "0"
	}
	var streams []radix.StreamEntries
	x := pipeline.Command(&streams, "XREADGROUP", "GROUP", redisx.StreamGroup, s.consumer,
		"COUNT", strconv.Itoa(count), "STREAMS", s.keys.Stream, from)
	if err := s.do(x); err != nil || len(streams) == 0 {
		return nil, err
	}
	orders := make([]Order, 0, len(streams[0].Entries))
	for _, entry := range streams[0].Entries {
		order, err := s.parse(entry)
		if err == nil {
			orders = append(orders, order)
			continue
		}
		// No order of the sale; it must not hold up the entries behind it. If it was an order after all, the audit
		// reports a missing order.
		slog.Error("an entry of the stream of orders is thrown away",
			"stream", s.keys.Stream, "entry", entry.ID.String(), "error", err)
		if err := s.Done([]Order{{entry: entry.ID.String()}}); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

func (s *Stream) parse(entry radix.StreamEntry) (o Order, err error) {
	o.entry, o.Placed = entry.ID.String(), time.UnixMilli(int64(entry.ID.Time)).UTC()
	if o.User, err = userOf(entry); err != nil {
		return o, err
	}
	if o.again = entry.Fields[1][0] == "number"; o.again {
		o.Hold.Number, err = strconv.Atoi(entry.Fields[1][1])
	} else {
		o.Items, err = redisx.ParseItems([]byte(entry.Fields[1][1]), s.foods)
	}
	return o, err
}

func userOf(entry radix.StreamEntry) (uint32, error) {
	if len(entry.Fields) != 2 || entry.Fields[0][0] != "user" ||
		entry.Fields[1][0] != "items" && entry.Fields[1][0] != "number" {
		return 0, fmt.Errorf("cannot read its fields %q: want user, and items or number", entry.Fields)
	}
	user, err := strconv.ParseUint(entry.Fields[0][1], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("cannot read its user: %w", err)
	}
	return uint32(user), nil
}

// TakeOver gives this consumer at most count orders that another consumer got at least idle ago and that are
// not Done. Read with before returns them.
func (s *Stream) TakeOver(idle time.Duration, count int) error {
	var taken any
	return s.do(pipeline.Command(&taken, "XAUTOCLAIM", s.keys.Stream, redisx.StreamGroup, s.consumer,
		strconv.FormatInt(idle.Milliseconds(), 10), "0", "COUNT", strconv.Itoa(count), "JUSTID"))
}

// Done records that the orders are in the ledger. It cuts the stream off before the first other order.
func (s *Stream) Done(orders []Order) error {
	if len(orders) == 0 {
		return nil
	}
	args := []string{redisx.StreamGroup}
	for _, order := range orders {
		args = append(args, order.entry)
	}
	var cut int
	return s.do(doneScript.Eval(&cut, []string{s.keys.Stream}, args...))
}

// Close ends the connection. The orders that this consumer got stay its own.
func (s *Stream) Close() { s.link.Close() }

func (s *Stream) do(x *pipeline.Call) error { return s.link.Do(x, max(s.cfg.Timeout, timeout)) }

// Users calls visit with the user of every order in the streams of a sale. Without a ledger there are none.
func Users(ctx context.Context, cfg redisx.Config, sale string, visit func(user uint32)) error {
	for slice := range cfg.SliceCount() {
		if err := usersOf(ctx, cfg, sale, slice, visit); err != nil {
			return err
		}
	}
	return nil
}

func usersOf(ctx context.Context, cfg redisx.Config, sale string, slice int, visit func(user uint32)) error {
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return err
	}
	defer l.Close()
	for from := "-"; ; {
		var page []radix.StreamEntry
		x := pipeline.Command(&page, "XRANGE", cfg.KeysOf(sale, slice).Stream, from, "+",
			"COUNT", strconv.Itoa(redisx.ScanCount))
		if err := l.Do(x, cfg.Timeout); err != nil {
			return err
		}
		for _, entry := range page {
			if user, err := userOf(entry); err == nil {
				visit(user)
			}
		}
		if len(page) < redisx.ScanCount {
			return nil
		}
		from = page[len(page)-1].ID.Next().String()
	}
}

package turnover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// Why the orders of an ended sale cannot be read.
var (
	ErrNoPastSale = errors.New("redis keeps no such sale of the past")
	ErrIncomplete = errors.New("orders are missing; restore the data of that Redis")
)

// Past is an ended sale that Redis keeps, on a connection of its own. It is for one goroutine.
type Past struct {
	ID      string
	Catalog string  // fingerprint of the foods
	Prices  []int64 // of food 1, 2, 3, ...; nil if the sale was never exported
	Users   string  // fingerprint of its users at the export, "" if it was never exported
	Holds   bool    // it held orders until they were paid

	link   *pipeline.Link // to the slice that is read
	cfg    redisx.Config
	slice  int // the one that is read
	cursor string
	seen   map[uint32]struct{}
}

// OpenPast finds an ended sale. Errors: ErrNoPastSale, ErrIncomplete if a slice has lost orders, or why the
// Redis of a slice cannot be asked.
func OpenPast(ctx context.Context, cfg redisx.Config, id string) (*Past, error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return nil, err
	}
	p := &Past{ID: id, link: l, cfg: cfg, cursor: "0", seen: map[uint32]struct{}{}}
	if err = p.find(); err == nil {
		err = p.checkSlices(ctx)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return p, nil
}

// checkSlices returns an error if a slice does not answer or does not have all its orders: without the
// orders of a slice the sale would look as if it had sold less.
func (p *Past) checkSlices(ctx context.Context) error {
	if p.cfg.Slices <= 1 {
		return nil
	}
	for slice := range p.cfg.Slices {
		if err := p.checkSlice(ctx, slice); err != nil {
			return fmt.Errorf("cannot read slice %s of sale %s in Redis at %s: %w", p.cfg.KeysOf(p.ID, slice).Tag,
				p.ID, p.cfg.Slice(slice).Address, err)
		}
	}
	return nil
}

func (p *Past) checkSlice(ctx context.Context, slice int) error {
	l, err := pipeline.Dial(ctx, p.cfg.Slice(slice))
	if err != nil {
		return err
	}
	defer l.Close()
	var fields, placed, kept int64
	k := p.cfg.KeysOf(p.ID, slice)
	stock := keptStockPrefix + p.ID + k.Tag
	x := pipeline.Command(&fields, "HLEN", stock).Command(&radix.Maybe{Rcv: &placed}, "HGET", stock, "orders").
		Command(&kept, "HLEN", k.Past)
	if err := l.Do(x, p.cfg.Timeout); err != nil {
		return err
	}
	if fields == 0 || kept != placed {
		return fmt.Errorf("%w: it has %d of %d", ErrIncomplete, kept, placed)
	}
	return nil
}

func (p *Past) find() error {
	var held, hold string
	x := pipeline.Command(&radix.Tuple{&held, &p.Catalog, &p.Users, &hold}, "HMGET", p.key(keptMarkerPrefix),
		"id", "catalog", "exported_users", "hold")
	if err := p.link.Do(x, p.cfg.Timeout); err != nil {
		return fmt.Errorf("cannot read sale %s in Redis at %s: %w", p.ID, p.cfg.Address, err)
	}
	if held != p.ID {
		return fmt.Errorf("%w: %s at %s", ErrNoPastSale, p.ID, p.cfg.Address)
	}
	p.Holds = hold != ""
	var err error
	p.Prices, err = readNumbers(p.link, p.key(pricesPrefix), p.cfg.Timeout)
	return err
}

// Next returns the next orders, of foods 1 to foods, at least one and in no particular order; io.EOF after
// the last.
func (p *Past) Next(ctx context.Context, foods int) ([]redisx.Order, error) {
	for p.slice < p.cfg.SliceCount() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var fields []string
		x := pipeline.Command(&radix.Tuple{&p.cursor, &fields},
			"HSCAN", p.cfg.KeysOf(p.ID, p.slice).Past, p.cursor, "COUNT", strconv.Itoa(redisx.ScanCount))
		if err := p.link.Do(x, p.cfg.Timeout); err != nil {
			return nil, fmt.Errorf("cannot read the orders of sale %s: %w", p.ID, err)
		}
		if err := p.turn(ctx); err != nil {
			return nil, err
		}
		if orders, err := p.parse(fields, foods); err != nil || len(orders) > 0 {
			return orders, err
		}
	}
	return nil, io.EOF
}

// Order returns the order of a user, of foods 1 to foods; one without items if the user has none.
func (p *Past) Order(ctx context.Context, user uint32, foods int) (redisx.Order, error) {
	for slice := range p.cfg.SliceCount() {
		value, err := p.kept(ctx, slice, user)
		if err != nil {
			return redisx.Order{}, fmt.Errorf("cannot read an order of sale %s: %w", p.ID, err)
		}
		if value != nil {
			return redisx.ParseOrder(user, value, foods)
		}
	}
	return redisx.Order{User: user}, nil
}

// kept reads the order of a user in a slice, nil for none.
func (p *Past) kept(ctx context.Context, slice int, user uint32) (value []byte, err error) {
	l, err := pipeline.Dial(ctx, p.cfg.Slice(slice))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	key := p.cfg.KeysOf(p.ID, slice).Past
	x := pipeline.Command(&radix.Maybe{Rcv: &value}, "HGET", key, strconv.FormatUint(uint64(user), 10))
	return value, l.Do(x, p.cfg.Timeout)
}

// Terms is what the buyer of an order of an ended sale may see of that sale.
type Terms struct {
	Users  string  // fingerprint of its users at the export, "" if it was never exported
	Prices []int64 // of the items; nil if it was never exported
}

// TermsOf reads the terms of an order over a connection to the home slice. Error: redisx.ErrUnavailable.
func TermsOf(home *pipeline.Conn, cfg redisx.Config, sale string, items []redisx.Item) (t Terms, err error) {
	tag := cfg.KeysOf(sale, 0).Tag
	texts := make([]string, len(items))
	x := pipeline.Command(&t.Users, "HGET", keptMarkerPrefix+sale+tag, "exported_users")
	for i, item := range items {
		text := strconv.FormatInt((item.Food-1)/numbersText, 10)
		x.Command(&texts[i], "LINDEX", pricesPrefix+sale+tag, text)
	}
	if err := home.Do(x); err != nil {
		return Terms{}, err
	}
	for i, item := range items {
		numbers := strings.Split(texts[i], ",")
		price, err := strconv.ParseInt(numbers[min(int((item.Food-1)%numbersText), len(numbers)-1)], 10, 64)
		if err != nil {
			return Terms{Users: t.Users}, nil
		}
		t.Prices = append(t.Prices, price)
	}
	return t, nil
}

// turn goes on to the next slice behind the last page of one.
func (p *Past) turn(ctx context.Context) (err error) {
	if p.cursor != "0" {
		return nil
	}
	if p.slice++; p.slice >= p.cfg.Slices {
		return nil
	}
	p.link.Close()
	p.link, err = pipeline.Dial(ctx, p.cfg.Slice(p.slice))
	return err
}

// key is the name of a key of this sale, in the slice that is read.
func (p *Past) key(prefix string) string { return prefix + p.ID + p.cfg.KeysOf(p.ID, p.slice).Tag }

// parse reads pairs of user and order and returns the new ones.
func (p *Past) parse(fields []string, foods int) (orders []redisx.Order, err error) {
	for i := 0; i+1 < len(fields); i += 2 {
		user, err := strconv.ParseUint(fields[i], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("cannot read a user of sale %s: %w", p.ID, err)
		}
		if _, twice := p.seen[uint32(user)]; twice {
			continue
		}
		p.seen[uint32(user)] = struct{}{}
		order, err := redisx.ParseOrder(uint32(user), []byte(fields[i+1]), foods)
		if err != nil {
			return nil, fmt.Errorf("order of user %d: %w", user, err)
		}
		orders = append(orders, order)
	}
	return orders, nil
}

// Close ends the connection.
func (p *Past) Close() { p.link.Close() }

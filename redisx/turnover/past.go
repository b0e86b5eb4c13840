package turnover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// ErrNoPastSale means that Redis does not keep an ended sale with that id.
var ErrNoPastSale = errors.New("redis keeps no such sale of the past")

// Past is an ended sale that Redis keeps, on a connection of its own. It is for one goroutine.
type Past struct {
	ID      string
	Catalog string  // fingerprint of the foods
	Prices  []int64 // of food 1, 2, 3, ...; nil if the sale was never exported
	Users   string  // fingerprint of its users at the export, "" if it was never exported

	link   *pipeline.Link
	cfg    redisx.Config
	cursor string // "" behind the last page
	seen   map[uint32]struct{}
}

// OpenPast finds an ended sale. Errors: ErrNoPastSale, or why Redis cannot be asked.
func OpenPast(ctx context.Context, cfg redisx.Config, id string) (*Past, error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return nil, err
	}
	p := &Past{ID: id, link: l, cfg: cfg, cursor: "0", seen: map[uint32]struct{}{}}
	if err := p.find(); err != nil {
		l.Close()
		return nil, err
	}
	return p, nil
}

func (p *Past) find() error {
	var held string
	x := pipeline.Command(&radix.Tuple{&held, &p.Catalog, &p.Users}, "HMGET", keptMarkerPrefix+p.ID, "id",
		"catalog", "exported_users")
	if err := p.link.Do(x, p.cfg.Timeout); err != nil {
		return fmt.Errorf("cannot read sale %s in Redis at %s: %w", p.ID, p.cfg.Address, err)
	}
	if held != p.ID {
		return fmt.Errorf("%w: %s at %s", ErrNoPastSale, p.ID, p.cfg.Address)
	}
	var err error
	p.Prices, err = readNumbers(p.link, pricesPrefix+p.ID, p.cfg.Timeout)
	return err
}

// Next returns the next orders, of foods 1 to foods, at least one and in no particular order; io.EOF after
// the last.
func (p *Past) Next(ctx context.Context, foods int) ([]redisx.Order, error) {
	for p.cursor != "" {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var fields []string
		x := pipeline.Command(&radix.Tuple{&p.cursor, &fields},
			"HSCAN", keptOrdersPrefix+p.ID, p.cursor, "COUNT", strconv.Itoa(redisx.ScanCount))
		if err := p.link.Do(x, p.cfg.Timeout); err != nil {
			return nil, fmt.Errorf("cannot read the orders of sale %s: %w", p.ID, err)
		}
		if p.cursor == "0" {
			p.cursor = ""
		}
		if orders, err := p.parse(fields, foods); err != nil || len(orders) > 0 {
			return orders, err
		}
	}
	return nil, io.EOF
}

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

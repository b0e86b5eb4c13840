// Package turnover opens the next sale on the same Redis: it exports the orders, ends the sale, keeps its
// orders and begins the next sale. Commands and the start of a server use it, never while orders are placed.
// A turnover may break off at any moment: Redis has all that it needs, and any caller completes it.
package turnover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// What begin.lua returns.
const (
	begun        = 0
	underWay     = 1
	noSale       = 2
	notClosed    = 3
	notExported  = 4
	ledgerBehind = 5
	overAlready  = 6
	stillHeld    = 7
)

// moveOver is the result of move.lua after the end of the turnover.
const moveOver = -1

// What end.lua returns.
const (
	endOpened = 0
	endOver   = 1
	endNoSale = 2
)

// moveMax is how many keys one step of a turnover moves: some milliseconds of Redis at most.
const moveMax = 500

// Why the next sale is not opened. The caller adds advice.
var (
	ErrNotClosed   = errors.New("the sale is not closed")
	ErrNotExported = errors.New("the orders of the sale have not been exported since it was closed, or " +
		"some have changed since")
	ErrLedgerBehind = errors.New("orders of the sale are not in the ledger yet")
	ErrOverAlready  = errors.New("the next sale would be closed from its beginning")
	ErrHeld         = errors.New("orders of the sale are still held")
)

// Next is the sale to open after the one that Redis holds.
type Next struct {
	By           string // who opens it: it stands in the logs; "" is a terminal
	Before       string // id of the sale that must be there
	Catalog      string // fingerprint of the foods
	Stock        []int64
	redisx.Times      // of the next sale
	Delete       bool // delete the old orders; else they are kept under the old id, as the log always is
	// Even if the old sale is not closed, not exported or not in the ledger. Orders that are still held are
	// released.
	Force bool
}

// OpenNext ends the sale that Redis holds and opens the next one: it takes the stock away, moves orders and
// carts in limited steps, and opens the next sale in one step. Nothing is sold in between. If a turnover is
// under way, for example after a crash, OpenNext completes that one instead: the id is then of that
// turnover's sale, and own is false. The next server that starts completes it too. Errors:
// redisx.ErrSaleGone, redisx.ErrClocksDiffer, ErrNotClosed, ErrNotExported, ErrLedgerBehind,
// ErrOverAlready, ErrHeld, or why Redis cannot be asked.
func OpenNext(ctx context.Context, cfg redisx.Config, next Next) (id string, own bool, err error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return "", false, err
	}
	defer l.Close()
	if err := cfg.CheckClocks(ctx, next.Times); err != nil {
		return "", false, err
	}
	if err := next.releaseHeld(ctx, cfg); err != nil {
		return "", false, err
	}
	id = redisx.NewID()
	switch err := next.begin(ctx, l, cfg, id); {
	case errors.Is(err, redisx.ErrTurning):
		id, err = complete(ctx, l, cfg)
		return id, false, err
	case err != nil:
		return "", false, err
	}
	_, err = complete(ctx, l, cfg)
	return id, true, err
}

// Open is redisx.Open, which joins the sale that Redis holds or opens the first one. It also completes a
// turnover that was begun.
func Open(ctx context.Context, cfg redisx.Config, o redisx.Opening) (redisx.Opened, error) {
	opened, err := redisx.Open(ctx, cfg, o)
	if !errors.Is(err, redisx.ErrTurning) {
		return opened, err
	}
	if _, err := Complete(ctx, cfg); err != nil {
		return redisx.Opened{}, err
	}
	return redisx.Open(ctx, cfg, o)
}

// Complete completes a turnover that was begun and returns the id of the next sale, "" without a turnover.
// Any number of callers may do so at once.
func Complete(ctx context.Context, cfg redisx.Config) (id string, err error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return "", err
	}
	defer l.Close()
	return complete(ctx, l, cfg)
}

// begin ends the old sale and notes the next one's id.
func (n *Next) begin(ctx context.Context, l *pipeline.Link, cfg redisx.Config, id string) error {
	waiting, filling, err := ledgerElsewhere(ctx, cfg, n.Before)
	if err != nil {
		return err
	}
	held, err := readHolds(ctx, cfg, n.Before)
	if err != nil {
		return err
	}
	var code, number int64
	before := cfg.KeysOf(n.Before, 0)
	keys := []string{before.Marker, before.Stock, keptStockPrefix + n.Before + before.Tag, before.Gate,
		before.Log, before.Stream, nextStockPrefix + id + before.Tag}
	opens, closes := n.Times.Texts()
	args := append([]string{n.Before, id, n.Catalog, opens, closes, strconv.FormatBool(n.Delete),
		strconv.FormatBool(n.Force), strconv.FormatInt(waiting, 10), strconv.FormatBool(filling),
		n.by(), strconv.FormatInt(held.orders, 10), held.events},
		numberTexts(n.Stock)...)
	x := beginScript.Eval(&radix.Tuple{&code, &number}, keys, args...)
	if err := l.Do(x, cfg.StockTimeout()); err != nil {
		return fmt.Errorf("cannot end the sale in Redis at %s: %w", cfg.Address, err)
	}
	switch code {
	case begun:
		return nil
	case underWay:
		return redisx.ErrTurning
	case noSale:
		return redisx.ErrSaleGone
	case notClosed:
		return ErrNotClosed
	case notExported:
		return ErrNotExported
	case ledgerBehind:
		if number == 0 {
			return fmt.Errorf("%w: those from before it was switched on are still read", ErrLedgerBehind)
		}
		return fmt.Errorf("%w: %d", ErrLedgerBehind, number)
	case stillHeld:
		return held.error()
	case overAlready:
		return fmt.Errorf("%w: it is to close at %s", ErrOverAlready, n.ClosesAt.Format(time.RFC3339Nano))
	}
	return pipeline.UnknownCode("begin.lua", code)
}

// by is who opens the next sale, for the logs.
func (n *Next) by() string { return cmp.Or(n.By, "terminal") }

// ledgerElsewhere returns how many orders of other slices than home are not in the ledger yet, and whether
// orders from before the ledger was switched on may be missing in it.
func ledgerElsewhere(
	ctx context.Context, cfg redisx.Config, sale string,
) (orders int64, filling bool, err error) {
	for slice := 1; slice < cfg.Slices; slice++ {
		l, err := pipeline.Dial(ctx, cfg.Slice(slice))
		if err != nil {
			return 0, false, err
		}
		defer l.Close()
		var waiting int64
		var ledger string
		k := cfg.KeysOf(sale, slice)
		x := pipeline.Command(&waiting, "XLEN", k.Stream).Command(&ledger, "HGET", k.Marker, "ledger")
		if err := l.Do(x, cfg.Timeout); err != nil {
			return 0, false, fmt.Errorf("cannot read slice %s of the sale: %w", k.Tag, err)
		}
		orders, filling = orders+waiting, filling || ledger == "filling"
	}
	return orders, filling, nil
}

// complete is Complete on a given link.
func complete(ctx context.Context, l *pipeline.Link, cfg redisx.Config) (id string, err error) {
	t, err := readTurnover(l, cfg)
	if err != nil || t == nil {
		return "", err
	}
	for slice := range cfg.SliceCount() {
		if err := t.clear(ctx, slice); err != nil {
			return "", err
		}
	}
	return t.next, t.end(ctx, l)
}

// clear moves the orders and carts of a slice.
func (t *turnover) clear(ctx context.Context, slice int) error {
	var err error
	if t.link, err = pipeline.Dial(ctx, t.cfg.Slice(slice)); err != nil {
		return err
	}
	defer t.link.Close()
	t.cursor, t.moved, t.keys = "0", false, t.cfg.KeysOf(t.before, slice)
	if slice > 0 {
		if err := t.endSlice(); err != nil {
			return err
		}
	}
	for !t.moved {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the next sale is not open yet (the same command, or the next start of a "+
				"server, completes it): %w", err)
		}
		if err := t.step(); err != nil {
			return fmt.Errorf("cannot move the orders of sale %s (the same command, or the next start of a "+
				"server, completes it): %w", t.before, err)
		}
	}
	return nil
}

// What slice_end.lua returns.
const (
	sliceOther = 0
	sliceEnded = 1
)

// endSlice takes the stock of a slice away. A slice that has another sale was ended before, or has lost its
// data: nothing is left to move.
func (t *turnover) endSlice() error {
	var code int64
	k := t.keys
	keys := []string{k.Marker, k.Stock, keptStockPrefix + t.before + k.Tag, k.Gate, k.Stream}
	x := sliceEndScript.Eval(&code, keys, t.before, t.next, strconv.FormatBool(t.delete))
	if err := t.link.Do(x, t.cfg.StockTimeout()); err != nil {
		return fmt.Errorf("cannot end slice %s of sale %s: %w", k.Tag, t.before, err)
	}
	if code != sliceEnded && code != sliceOther {
		return pipeline.UnknownCode("slice_end.lua", code)
	}
	t.moved = code == sliceOther
	return nil
}

// turnover is a turnover under way, as the marker has it.
type turnover struct {
	cfg redisx.Config

	before, next string // ids
	delete       bool   // delete the old orders

	link   *pipeline.Link // to the slice that is cleared
	keys   redisx.Keys    // of that slice
	cursor string
	moved  bool
}

// readTurnover returns the turnover under way, nil for none.
func readTurnover(l *pipeline.Link, cfg redisx.Config) (*turnover, error) {
	t := &turnover{cfg: cfg}
	var deletes string
	x := pipeline.Command(&radix.Tuple{&t.before, &t.next, &deletes},
		"HMGET", redisx.MarkerKey, "id", "next_id", "next_delete")
	if err := l.Do(x, cfg.Timeout); err != nil {
		return nil, fmt.Errorf("cannot read the sale in Redis at %s: %w", cfg.Address, err)
	}
	if t.next == "" {
		return nil, nil
	}
	t.delete = deletes == "true"
	return t, nil
}

// saleGlob and saleParts find orders and carts of a sale among the keys of Redis.
const saleGlob = "[co]_*"

var saleParts = regexp.MustCompile(`^(?:o_(\d+)|c_[\w-]{16})$`) // without the hash tag

// step looks at some keys and moves those of the ended sale. SCAN returns each key that exists from its
// first step to its last, and no order is added meanwhile, because the stock is gone.
func (t *turnover) step() error {
	var names []string
	x := pipeline.Command(&radix.Tuple{&t.cursor, &names},
		"SCAN", t.cursor, "MATCH", saleGlob+t.keys.Tag, "COUNT", strconv.Itoa(moveMax))
	if err := t.link.Do(x, t.cfg.Timeout); err != nil {
		return err
	}
	var users, orders, others []string
	for _, name := range names {
		switch found := saleParts.FindStringSubmatch(strings.TrimSuffix(name, t.keys.Tag)); {
		case found == nil: // a key of another program
		case found[1] != "" && !t.delete:
			users, orders = append(users, found[1]), append(orders, name)
		default:
			others = append(others, name)
		}
	}
	for part := range slices.Chunk(orders, moveMax) {
		if err := t.move(part, users[:len(part)]); err != nil || t.moved {
			return err
		}
		users = users[len(part):]
	}
	for part := range slices.Chunk(others, moveMax) {
		if err := t.move(part, nil); err != nil || t.moved {
			return err
		}
	}
	if t.cursor != "0" {
		return nil
	}
	if t.delete && t.keys.Marker == redisx.MarkerKey {
		used := t.cfg.KeysOf(t.before, 0).Used
		if err := t.move([]string{pricesPrefix + t.before + t.keys.Tag, used}, nil); err != nil {
			return err
		}
	}
	t.moved = true
	return nil
}

// move moves some keys; the orders of the users are kept.
func (t *turnover) move(keys, users []string) error {
	var moved int64
	kept := []string{t.keys.Marker, t.keys.Past}
	x := moveScript.Eval(&moved, append(kept, keys...),
		append([]string{t.next, strconv.Itoa(len(users))}, users...)...)
	if err := t.link.Do(x, t.cfg.StockTimeout()); err != nil {
		return err
	}
	t.moved = moved == moveOver
	return nil
}

// end opens the next sale, unless another caller has done so.
func (t *turnover) end(ctx context.Context, l *pipeline.Link) error {
	next := t.cfg.KeysOf(t.next, 0)
	stock, err := readNumbers(l, nextStockPrefix+t.next+next.Tag, t.cfg.StockTimeout())
	if err != nil {
		return err
	}
	keys := []string{next.Marker, next.Stock, next.Gate, next.Log, next.Stream,
		nextStockPrefix + t.next + next.Tag, keptMarkerPrefix + t.before + next.Tag}
	var pieces int64
	for _, n := range stock {
		pieces += n
	}
	args := append([]string{t.next, redisx.StreamGroup, strconv.Itoa(t.cfg.SliceCount()),
		strconv.FormatInt(pieces, 10)}, t.cfg.Shares(stock, 0)...)
	var code int64
	if err := l.Do(endScript.Eval(&code, keys, args...), t.cfg.StockTimeout()); err != nil {
		return fmt.Errorf("cannot open the next sale in Redis at %s: %w", t.cfg.Address, err)
	}
	switch code {
	case endOpened:
		if t.cfg.Slices > 1 {
			return redisx.Fill(ctx, t.cfg, t.next, stock)
		}
		return nil
	case endOver:
		return nil
	case endNoSale:
		return redisx.ErrSaleGone
	}
	return pipeline.UnknownCode("end.lua", code)
}

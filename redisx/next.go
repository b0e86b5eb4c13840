package redisx

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

var (
	//go:embed next_begin.lua
	nextBeginSource string
	//go:embed next_move.lua
	nextMoveSource string

	nextBeginScript = pipeline.NewScript(stateSource + nextBeginSource)
	nextMoveScript  = pipeline.NewScript(nextMoveSource)
)

// What next_begin.lua returns.
const (
	nextBegun        = 0
	nextUnderWay     = 1
	nextNoSale       = 2
	nextNotClosed    = 3
	nextNotExported  = 4
	nextLedgerBehind = 5
	nextOverAlready  = 6
)

// nextOver is what next_move.lua returns when the turnover is over.
const nextOver = -1

// moveMax is the number of keys that one step of a turnover moves: some milliseconds of Redis at most.
const moveMax = 500

// Why the next sale is not opened. The caller adds what to do.
var (
	ErrNotClosed    = errors.New("the sale is not closed")
	ErrNotExported  = errors.New("the orders of the sale have not been exported since it was closed")
	ErrLedgerBehind = errors.New("orders of the sale are not in the ledger yet")
	ErrOverAlready  = errors.New("the next sale would be closed from its beginning")
)

// Next is the sale to open in the place of the one that Redis holds.
type Next struct {
	Before  string // id of the sale that must be there
	Catalog string // tells catalogues of foods apart
	Stock   []int64
	Times        // of the next sale
	Delete  bool // the orders of the sale before; else they are kept under its id. Its log always is
	Force   bool // also where that sale is not closed, not wholly exported or not in the ledger
}

// OpenNext ends the sale that Redis holds and opens the next one: it takes the stock away, moves orders and
// carts in bounded steps, and opens the next sale in one step. Nothing is sold in between. A turnover that
// is under way already is completed instead; the id is then that of another sale than this call's, and own
// is false. So it is after a crash at any moment: a further call, or the next server that starts, completes
// it. Errors: ErrSaleGone, ErrNotClosed, ErrNotExported, ErrLedgerBehind, ErrOverAlready, or
// why Redis cannot be asked.
func OpenNext(ctx context.Context, cfg Config, next Next) (id string, own bool, err error) {
	l, err := pipeline.Dial(ctx, cfg.Config)
	if err != nil {
		return "", false, err
	}
	defer l.Close()
	id = newSaleID()
	switch err := next.begin(l, cfg, id); {
	case errors.Is(err, ErrTurning):
		id, err = completeTurnover(ctx, l, cfg)
		return id, false, err
	case err != nil:
		return "", false, err
	}
	_, err = completeTurnover(ctx, l, cfg)
	return id, true, err
}

// CompleteNext completes a turnover that was begun, if there is one, and returns the id of the next sale,
// "" where none is under way. Any number of callers may do so at once.
func CompleteNext(ctx context.Context, cfg Config) (id string, err error) {
	l, err := pipeline.Dial(ctx, cfg.Config)
	if err != nil {
		return "", err
	}
	defer l.Close()
	return completeTurnover(ctx, l, cfg)
}

// begin takes the sale away, under the id of the next one.
func (n *Next) begin(l *pipeline.Link, cfg Config, id string) error {
	var code, number int64
	keys := []string{saleKey, stockPrefix + n.Before, keptStockPrefix + n.Before, gatePrefix + n.Before,
		logPrefix + n.Before, streamPrefix + n.Before, nextStockPrefix + id}
	args := append([]string{n.Before, id, n.Catalog, millisecondsOf(n.OpensAt), millisecondsOf(n.ClosesAt),
		flag(n.Delete), flag(n.Force)}, numberTexts(n.Stock)...)
	x := nextBeginScript.Eval(&radix.Tuple{&code, &number}, keys, args...)
	if err := l.Do(x, max(cfg.Timeout, openTimeout)); err != nil {
		return fmt.Errorf("cannot end the sale in Redis at %s: %w", cfg.Address, err)
	}
	switch code {
	case nextBegun:
		return nil
	case nextUnderWay:
		return ErrTurning
	case nextNoSale:
		return ErrSaleGone
	case nextNotClosed:
		return ErrNotClosed
	case nextNotExported:
		return ErrNotExported
	case nextLedgerBehind:
		if number == 0 {
			return fmt.Errorf("%w: those from before it was switched on are still read", ErrLedgerBehind)
		}
		return fmt.Errorf("%w: %d", ErrLedgerBehind, number)
	case nextOverAlready:
		return fmt.Errorf("%w: it is to close at %s", ErrOverAlready, n.ClosesAt.Format(time.RFC3339Nano))
	}
	return unknownCode("next_begin.lua", code)
}

// completeTurnover is CompleteNext on a link.
func completeTurnover(ctx context.Context, l *pipeline.Link, cfg Config) (id string, err error) {
	t, err := readTurnover(l, cfg)
	if err != nil || t == nil {
		return "", err
	}
	for !t.moved {
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("the next sale is not open yet (the same command, or the next start of a "+
				"server, completes it): %w", err)
		}
		if err := t.step(); err != nil {
			return "", fmt.Errorf("cannot move the orders of sale %s (the same command, or the next start of a "+
				"server, completes it): %w", t.before, err)
		}
	}
	return t.next, t.open()
}

// turnover is the way from one sale to the next, as the marker has it.
type turnover struct {
	link *pipeline.Link
	cfg  Config

	before, next, catalog string
	times                 Times
	delete                bool

	cursor string
	moved  bool
}

// readTurnover returns the turnover that is under way, nil for none.
func readTurnover(l *pipeline.Link, cfg Config) (*turnover, error) {
	t := &turnover{link: l, cfg: cfg, cursor: "0"}
	var opens, closes, deletes string
	x := pipeline.Command(&radix.Tuple{&t.before, &t.next, &t.catalog, &opens, &closes, &deletes},
		"HMGET", saleKey, "id", "next_id", "next_catalog", "next_opens_at", "next_closes_at", "next_delete")
	if err := l.Do(x, cfg.Timeout); err != nil {
		return nil, fmt.Errorf("cannot read the sale in Redis at %s: %w", cfg.Address, err)
	}
	if t.next == "" {
		return nil, nil
	}
	t.times = Times{timeOf(optional(opens)), timeOf(optional(closes))}
	t.delete = deletes == "1"
	return t, nil
}

// saleGlob and saleParts find the orders and carts of a sale among the keys of Redis.
const saleGlob = "[co]_*"

var saleParts = regexp.MustCompile(`^(?:o_(\d+)|c_[\w-]{16})$`)

// step looks at some keys and moves those of the sale that ends. SCAN returns each key that is there from
// its first step to its last, and no order is added meanwhile, because the stock is gone.
func (t *turnover) step() error {
	var names []string
	x := pipeline.Command(&radix.Tuple{&t.cursor, &names},
		"SCAN", t.cursor, "MATCH", saleGlob, "COUNT", strconv.Itoa(moveMax))
	if err := t.link.Do(x, t.cfg.Timeout); err != nil {
		return err
	}
	var users, orders, others []string
	for _, name := range names {
		switch found := saleParts.FindStringSubmatch(name); {
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
	if t.delete {
		if err := t.move([]string{pricesPrefix + t.before}, nil); err != nil {
			return err
		}
	}
	t.moved = true
	return nil
}

// move moves some keys; the orders of users are kept.
func (t *turnover) move(keys, users []string) error {
	var moved int64
	x := nextMoveScript.Eval(&moved, append([]string{saleKey, keptOrdersPrefix + t.before}, keys...),
		append([]string{t.next, strconv.Itoa(len(users))}, users...)...)
	if err := t.link.Do(x, max(t.cfg.Timeout, openTimeout)); err != nil {
		return err
	}
	t.moved = moved == nextOver
	return nil
}

// open opens the next sale, unless another caller has.
func (t *turnover) open() error {
	stock, err := readNumbers(t.link, nextStockPrefix+t.next, max(t.cfg.Timeout, openTimeout))
	if err != nil {
		return err
	}
	o := Opening{Catalog: t.catalog, Stock: stock, Times: t.times, Only: t.before, ending: t.before}
	proposed := t.next
	if len(stock) == 0 { // another caller has opened the sale
		proposed = ""
	}
	opened, err := o.run(t.link, t.cfg, proposed)
	if err == nil && opened.Sale != t.next {
		err = fmt.Errorf("%w: %s at %s", ErrOtherSale, opened.Sale, t.cfg.Address)
	}
	return err
}

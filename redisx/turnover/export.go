package turnover

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// What export.lua returns.
const (
	exportNoted       = 0
	exportNotClosed   = 1
	exportNoSale      = 2
	exportOtherPieces = 3
)

// ErrOtherPieces refuses an export without exactly the pieces that were sold.
var ErrOtherPieces = errors.New("the export has another number of pieces than were sold")

// Export is an export of all orders of the sale that Redis holds. It counts, so that the next sale may be
// opened, if the sale was closed from its begin to its end and it has all sold pieces.
type Export struct {
	cfg  redisx.Config
	sale string
	name string // "" where it does not count
	held holds  // when it began: they may be released
}

// Exported describes the content of an export.
type Exported struct {
	Orders int
	Pieces int64
	Start  int64   // sum of all foods at the start of the sale
	Prices []int64 // of food 1, 2, 3, ...
	Users  string  // fingerprint of the users with the names in it
}

// BeginExport notes that an export begins. Errors: redisx.ErrSaleGone, or why Redis cannot be asked.
func BeginExport(ctx context.Context, cfg redisx.Config, sale string) (*Export, error) {
	e := &Export{cfg: cfg, sale: sale}
	var err error
	if e.held, err = readHolds(ctx, cfg, sale); err != nil {
		return e, err
	}
	_, err = e.note(ctx, rand.Text(), nil)
	return e, err
}

// End notes that the export is safe, and reports whether it counts. Errors: ErrOtherPieces and ErrHeld (it
// does not count), and as BeginExport.
func (e *Export) End(ctx context.Context, in Exported) (counts bool, err error) {
	if err := e.held.error(); e.name == "" || err != nil {
		return false, err
	}
	return e.note(ctx, e.name, &in)
}

// note calls export.lua; in is nil before the export begins.
func (e *Export) note(ctx context.Context, name string, in *Exported) (counts bool, err error) {
	l, err := pipeline.Dial(ctx, e.cfg.Home())
	if err != nil {
		return false, err
	}
	defer l.Close()
	elsewhere, err := redisx.Elsewhere(ctx, e.cfg, e.sale)
	if err != nil {
		return false, err
	}
	args := []string{e.sale, name, ""}
	if in != nil {
		args = append([]string{e.sale, name, strconv.Itoa(in.Orders), strconv.FormatInt(in.Pieces, 10),
			strconv.FormatInt(in.Start, 10), in.Users, strconv.FormatInt(elsewhere, 10), e.held.events},
			numberTexts(in.Prices)...)
	}
	var code, sold int64
	of := e.cfg.KeysOf(e.sale, 0)
	keys := []string{of.Marker, of.Gate, of.Log, pricesPrefix + e.sale + of.Tag, of.Stock}
	x := exportScript.Eval(&radix.Tuple{&code, &e.name, &sold}, keys, args...)
	if err := l.Do(x, e.cfg.StockTimeout()); err != nil {
		return false, fmt.Errorf("cannot note the export in Redis at %s: %w", e.cfg.Address, err)
	}
	switch code {
	case exportNoted:
		return true, nil
	case exportNotClosed:
		return false, nil
	case exportNoSale:
		return false, redisx.ErrSaleGone
	case exportOtherPieces:
		return false, fmt.Errorf("%w: %d pieces sold, %d in the export", ErrOtherPieces, sold, in.Pieces)
	}
	return false, pipeline.UnknownCode("export.lua", code)
}

// IsExported reports whether an export of the sale that Redis holds counts, and no order has changed since.
func IsExported(ctx context.Context, cfg redisx.Config, sale string) (bool, error) {
	now, err := readHolds(ctx, cfg, sale)
	if err != nil {
		return false, err
	}
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return false, err
	}
	defer l.Close()
	var at, events string
	x := pipeline.Command(&radix.Tuple{&at, &events}, "HMGET", redisx.MarkerKey, "exported", "exported_events")
	err = l.Do(x, cfg.Timeout)
	return at != "" && events == now.events, err
}

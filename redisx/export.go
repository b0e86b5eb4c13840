package redisx

import (
	"context"
	"crypto/rand"
	_ "embed" // the script
	"fmt"
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

var (
	//go:embed export.lua
	exportSource string

	exportScript = pipeline.NewScript(stateSource + exportSource)
)

// What export.lua returns.
const (
	exportNoted     = 0
	exportNotClosed = 1
	exportNoSale    = 2
)

// Export is an export of all orders of the sale that Redis holds. It counts, so that the next sale may be
// opened, when the sale was closed from its begin to its end.
type Export struct {
	cfg  Config
	sale string
	name string // "" where it does not count
}

// BeginExport notes that an export begins. Errors: ErrSaleGone, or why Redis cannot be asked.
func BeginExport(ctx context.Context, cfg Config, sale string) (*Export, error) {
	e := &Export{cfg: cfg, sale: sale}
	_, err := e.note(ctx, rand.Text(), "", nil)
	return e, err
}

// End notes that the export is safe, with the number of orders in it and the prices of all foods, and
// reports whether it counts. Errors: as BeginExport.
func (e *Export) End(ctx context.Context, orders int, prices []int64) (counts bool, err error) {
	if e.name == "" {
		return false, nil
	}
	return e.note(ctx, e.name, strconv.Itoa(orders), prices)
}

func (e *Export) note(ctx context.Context, name, orders string, prices []int64) (counts bool, err error) {
	l, err := pipeline.Dial(ctx, e.cfg.Config)
	if err != nil {
		return false, err
	}
	defer l.Close()
	var code int64
	keys := []string{saleKey, gatePrefix + e.sale, logPrefix + e.sale, pricesPrefix + e.sale}
	x := exportScript.Eval(&radix.Tuple{&code, &e.name}, keys,
		append([]string{e.sale, name, orders}, numberTexts(prices)...)...)
	if err := l.Do(x, max(e.cfg.Timeout, openTimeout)); err != nil {
		return false, fmt.Errorf("cannot note the export in Redis at %s: %w", e.cfg.Address, err)
	}
	switch code {
	case exportNoted:
		return true, nil
	case exportNotClosed:
		return false, nil
	case exportNoSale:
		return false, ErrSaleGone
	}
	return false, unknownCode("export.lua", code)
}

package redisx

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// openTimeout is the least time given to the script that opens a sale: it writes the stock of every food.
const openTimeout = 10 * time.Second

// Open joins the sale that Redis holds or, in a Redis without one, opens a sale with these pieces of food
// 1, 2, 3, ... It is called once when a server starts and never again while it runs: a Redis that comes back
// empty must not be sold a second time. catalog is the fingerprint of the foods; a sale of other foods is
// refused. Returns the id of the sale, and whether this call opened it.
func Open(ctx context.Context, cfg Config, catalog string, stock []int64) (id string, opened bool, err error) {
	cfg.Timeout = max(cfg.Timeout, openTimeout)
	l, err := dial(ctx, cfg)
	if err != nil {
		return "", false, err
	}
	defer l.Close()

	proposed := newSaleID()
	args := []string{"EVAL", stockSource, "2", saleKey, stockPrefix + proposed,
		proposed, catalog, strconv.FormatInt(time.Now().Unix(), 10)}
	for _, pieces := range stock {
		args = append(args, strconv.FormatInt(pieces, 10))
	}
	var found string
	x := newCall().command(&radix.Tuple{&opened, &id, &found}, args...)
	defer x.free()
	if err := l.roundTrip(&batch{calls: []*call{x}}, time.Now().Add(cfg.Timeout)); err != nil {
		return "", false, fmt.Errorf("cannot open the sale in Redis at %s: %w", cfg.Address, err)
	}
	if x.err != nil {
		return "", false, fmt.Errorf("cannot open the sale in Redis at %s: %w", cfg.Address, x.err)
	}
	if found != catalog {
		return "", false, fmt.Errorf("the Redis at %s holds sale %s of other foods (catalogue %s, here %s): "+
			"start with the catalogue of that sale, or with an empty Redis", cfg.Address, id, found, catalog)
	}
	return id, opened, nil
}

// newSaleID makes 8 random characters (40 bits).
func newSaleID() string {
	var b [5]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// Stock returns the pieces left of food 1, 2, 3, ...; ErrSaleGone where Redis does not hold this sale.
func (s *Sale) Stock() ([]int64, error) {
	var id string
	var fields map[string]int64
	x := newCall().command(&id, "HGET", saleKey, "id").command(&fields, "HGETALL", s.stockKey)
	if err := s.do(0, x); err != nil {
		return nil, err
	}
	if err := s.observe(id); err != nil {
		return nil, err
	}
	stock := make([]int64, s.foods)
	for i := range stock {
		pieces, ok := fields[strconv.Itoa(i+1)]
		if !ok {
			return nil, s.observe("")
		}
		stock[i] = pieces
	}
	return stock, nil
}

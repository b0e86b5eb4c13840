package redisx

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// openTimeout is the least time given to the script that opens a sale: it writes the stock of every food.
const openTimeout = 10 * time.Second

// What stock.lua returns.
const (
	stockIsOpen = 0
	stockOpened = 1
	stockLost   = 2
)

// Why a sale is not opened.
var (
	ErrOtherFoods = errors.New("redis holds a sale of other foods")
	ErrSaleLost   = errors.New("redis has lost the sale")
	ErrNoSale     = errors.New("redis holds no sale")
)

// Opening is the sale to join or to open.
type Opening struct {
	Catalog string  // tells catalogues of foods apart
	Stock   []int64 // pieces of food 1, 2, 3, ... at the start
	Last    string  // id of the sale that this Redis is known to have held, "" for none: a new one is not opened then
}

// Open joins the sale that Redis holds or, in a Redis without one, opens it. It is called once when a server starts
// and never again while it runs: a Redis that comes back empty must not be sold a second time. Returns the id of the
// sale and whether this call opened it. Errors: ErrOtherFoods, ErrSaleLost, or why Redis cannot be asked.
func Open(ctx context.Context, cfg Config, o Opening) (id string, opened bool, err error) {
	l, err := dial(ctx, cfg)
	if err != nil {
		return "", false, err
	}
	defer l.Close()
	var pong string
	if err := l.ask(newCall().command(&pong, "PING"), cfg.Timeout); err != nil {
		return "", false, fmt.Errorf("cannot use Redis at %s: %w", cfg.Address, err)
	}

	proposed := newSaleID()
	args := []string{"EVAL", stockSource, "2", saleKey, stockPrefix + proposed,
		proposed, o.Catalog, strconv.FormatInt(time.Now().Unix(), 10), o.Last}
	for _, pieces := range o.Stock {
		args = append(args, strconv.FormatInt(pieces, 10))
	}
	var code int64
	var catalog string
	x := newCall().command(&radix.Tuple{&code, &id, &catalog}, args...)
	if err := l.ask(x, max(cfg.Timeout, openTimeout)); err != nil {
		return "", false, fmt.Errorf("cannot open the sale in Redis at %s: %w", cfg.Address, err)
	}
	switch code {
	case stockIsOpen, stockOpened:
	case stockLost:
		return "", false, fmt.Errorf("%w %s that was served from %s", ErrSaleLost, o.Last, cfg.Address)
	default:
		return "", false, unknownCode("stock.lua", code)
	}
	if catalog != o.Catalog {
		return "", false, otherFoods(id, cfg, catalog, o.Catalog)
	}
	return id, code == stockOpened, nil
}

// Find returns the id of the sale that Redis holds, without opening one. Errors: ErrNoSale, ErrOtherFoods, or why Redis
// cannot be asked.
func Find(ctx context.Context, cfg Config, catalog string) (id string, err error) {
	l, err := dial(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer l.Close()
	var marker []string
	if err := l.ask(newCall().command(&marker, "HMGET", saleKey, "id", "catalog"), cfg.Timeout); err != nil {
		return "", fmt.Errorf("cannot use Redis at %s: %w", cfg.Address, err)
	}
	switch {
	case marker[0] == "":
		return "", fmt.Errorf("%w: %s", ErrNoSale, cfg.Address)
	case marker[1] != catalog:
		return "", otherFoods(marker[0], cfg, marker[1], catalog)
	}
	return marker[0], nil
}

func otherFoods(id string, cfg Config, there, here string) error {
	return fmt.Errorf("%w: sale %s at %s has %s; here are %s", ErrOtherFoods, id, cfg.Address, there, here)
}

// newSaleID makes 8 random characters (40 bits).
func newSaleID() string {
	var b [5]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// Stock returns the pieces left of food 1, 2, 3, ...; ErrSaleGone where Redis does not hold this sale.
func (s *Sale) Stock() ([]int64, error) {
	var found presence
	var fields map[string]string
	x := s.prove(newCall(), &found).command(&fields, "HGETALL", s.stockKey)
	if err := s.do(0, x); err != nil {
		return nil, err
	}
	if err := s.observe(found); err != nil {
		return nil, err
	}
	stock := make([]int64, s.foods)
	for i := range stock {
		pieces, err := strconv.ParseInt(fields[strconv.Itoa(i+1)], 10, 64)
		if err != nil {
			return nil, s.observe(presence{})
		}
		stock[i] = pieces
	}
	return stock, nil
}

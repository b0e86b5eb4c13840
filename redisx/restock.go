package redisx

import (
	"errors"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// What restock.lua returns.
const (
	restockDone      = 0
	restockNoSale    = 1
	restockTooFew    = 2
	restockKeyReused = 3
)

// ErrKeyReused refuses a restock under an idempotency key that was used for another restock.
var ErrKeyReused = errors.New("the idempotency key was used for another restock")

// RestockMax is the most pieces that one restock adds or takes back.
const RestockMax = 1_000_000_000

// restockRemembered is how long the idempotency key of a restock counts.
const restockRemembered = 24 * time.Hour

// Restock is pieces to add to the stock.
type Restock struct {
	By   string // who: "root", "terminal"; it stands in the log
	Food int64  // of the sale
	Add  int64  // at most RestockMax; below 0 takes back unsold pieces

	Key string // idempotency key, "" for none; for a day a second call with it changes nothing
}

// Restock changes the stock of a food, even of a sale that is not open. It returns the food and its pieces
// left; under a repeated idempotency key, those of the first call. Errors: ErrOutOfStock if fewer pieces are
// left than are to be taken back, ErrKeyReused, ErrSaleGone (nothing is changed), ErrUnavailable (unknown).
//
// The home slice takes and gives the pieces. To take back more than it has, it gets pieces from the others.
func (s *Sale) Restock(r Restock) (food, left int64, err error) {
	food, left, err = s.restock(r)
	if len(s.slices) == 1 || !errors.Is(err, ErrOutOfStock) || left+r.Add < 0 {
		return food, left, err
	}
	for from := 1; from < len(s.slices); from++ {
		pieces := []piecesOf{{r.Food, -r.Add, -r.Add}}
		if _, err := s.reach.transfer(planned{pair: pair{from, 0}, pieces: pieces}); err != nil {
			return 0, 0, err
		}
	}
	return s.restock(r)
}

// restock lets the home slice restock. left is the pieces of all slices.
func (s *Sale) restock(r Restock) (food, left int64, err error) {
	elsewhere, err := s.elsewhere(r.Food)
	if err != nil {
		return 0, 0, err
	}
	remembered := 0
	if r.Key != "" {
		remembered = int(restockRemembered / time.Second)
	}
	x := s.home()
	keys := []string{x.keys.Marker, x.keys.Stock, x.keys.Log, restockPrefix + s.id + x.keys.Tag + "_" + r.Key}
	var code int64
	err = x.redis.Do(restockScript.Call(&radix.Tuple{&code, &food, &left}, keys, s.id, r.By,
		strconv.FormatInt(r.Food, 10), strconv.FormatInt(r.Add, 10), strconv.Itoa(remembered),
		strconv.FormatInt(elsewhere, 10)))
	if err != nil {
		return 0, 0, err
	}
	switch code {
	case restockDone:
		return food, left, nil
	case restockNoSale:
		return 0, 0, x.missed()
	case restockTooFew:
		return food, left, ErrOutOfStock
	case restockKeyReused:
		return 0, 0, ErrKeyReused
	}
	return 0, 0, pipeline.UnknownCode("restock.lua", code)
}

// elsewhere is the pieces of a food in the other slices than home.
func (s *Sale) elsewhere(food int64) (pieces int64, err error) {
	for i := 1; i < len(s.slices); i++ {
		var left int64
		x := &s.slices[i]
		err := x.redis.Do(pipeline.Command(&left, "HGET", x.keys.Stock, strconv.FormatInt(food, 10)))
		if err != nil {
			return 0, err
		}
		pieces += left
	}
	return pieces, nil
}

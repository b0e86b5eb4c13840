package redisx

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// What slice_follow.lua returns.
const (
	followNoSlice = 0
	followed      = 1
)

// reach carries out calls in the slices of a sale: over the connections of a Sale, or over a new connection
// for each call.
type reach struct {
	cfg *Config
	id  string // of the sale
	do  func(slice int, x *pipeline.Call) error
}

// dialing returns a reach with a new connection for each call.
func dialing(ctx context.Context, cfg *Config, id string) *reach {
	return &reach{cfg, id, func(slice int, x *pipeline.Call) error {
		l, err := pipeline.Dial(ctx, cfg.Slice(slice))
		if err != nil {
			x.Free()
			return err
		}
		defer l.Close()
		return l.Do(x, cfg.StockTimeout())
	}}
}

// each calls do for all slices but home at once, and returns the first error.
func (r *reach) each(do func(slice int, k Keys) error) error {
	var all sync.WaitGroup
	errs := make([]error, r.cfg.Slices)
	for i := 1; i < r.cfg.Slices; i++ {
		all.Go(func() { errs[i] = do(i, r.cfg.KeysOf(r.id, i)) })
	}
	all.Wait()
	return firstOf(errs)
}

// follow gives all slices the state and the times of the home slice. Errors: ErrSaleGone, ErrUnavailable.
func (r *reach) follow() error {
	var held, revision, opensAt, closesAt, paused, closed string
	err := r.do(0, pipeline.Command(&radix.Tuple{&held, &revision, &opensAt, &closesAt, &paused, &closed},
		"HMGET", MarkerKey, "id", "revision", "opens_at", "closes_at", "paused", "closed"))
	if err != nil {
		return err
	}
	if held != r.id {
		return ErrSaleGone
	}
	if revision == "" { // the slices are being made
		return nil
	}
	return r.each(func(slice int, k Keys) error {
		var code int64
		err := r.do(slice, followScript.Eval(&code, []string{k.Marker, k.Gate, k.Log},
			r.id, revision, opensAt, closesAt, paused, closed))
		switch {
		case err != nil:
			return err
		case code == followNoSlice:
			return fmt.Errorf("%w: slice %s in Redis at %s", ErrSaleGone, k.Tag, r.cfg.Slice(slice).Address)
		case code != followed:
			return pipeline.UnknownCode("slice_follow.lua", code)
		}
		return nil
	})
}

// What slice_fill.lua and slice_filled.lua return.
const (
	fillMade     = 0
	fillThere    = 1
	filledNoSale = 0
	filledNoted  = 1
)

// Fill makes the slices of a sale that are missing, with their share of the stock, and lets them follow the
// home slice. Any number of callers may do so at once.
func Fill(ctx context.Context, cfg Config, sale string, stock []int64) error {
	r := dialing(ctx, &cfg, sale)
	err := r.each(func(slice int, k Keys) error {
		var code int64
		args := append([]string{sale, StreamGroup}, cfg.Shares(stock, slice)...)
		err := r.do(slice, fillScript.Eval(&code, []string{k.Marker, k.Stock, k.Stream}, args...))
		if err != nil {
			return fmt.Errorf("cannot make slice %s of the sale: %w", k.Tag, err)
		}
		if code != fillMade && code != fillThere {
			return pipeline.UnknownCode("slice_fill.lua", code)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var code int64
	if err := r.do(0, filledScript.Eval(&code, []string{MarkerKey}, sale)); err != nil {
		return err
	}
	switch code {
	case filledNoSale:
		return ErrSaleGone
	case filledNoted:
		return r.follow()
	}
	return pipeline.UnknownCode("slice_filled.lua", code)
}

// Elsewhere returns the pieces of all foods that are left in other slices than home, after it has completed
// changes of the state and transfers that were begun. In a closed sale it does not change any more.
func Elsewhere(ctx context.Context, cfg Config, sale string) (pieces int64, err error) {
	if cfg.Slices <= 1 {
		return 0, nil
	}
	r := dialing(ctx, &cfg, sale)
	if err := r.follow(); err != nil {
		return 0, err
	}
	for slice := range cfg.Slices {
		if err := r.settle(slice); err != nil {
			return 0, err
		}
	}
	for slice := 1; slice < cfg.Slices; slice++ {
		var stock map[string]string
		if err := r.do(slice, pipeline.Command(&stock, "HGETALL", r.stock(slice))); err != nil {
			return 0, err
		}
		for food, left := range stock {
			if _, err := strconv.Atoi(food); err == nil {
				pieces += optional(left)
			}
		}
	}
	return pieces, nil
}

// firstOf is the first error of a list.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// patience is how long to wait for a slice that stands still while others answer: what concerns the others
// must still end in time.
func (c *Config) patience() time.Duration { return c.Timeout / 4 }

// askSlices asks all slices at once. Once one has answered, the others have the patience to do so. A slice
// without an answer has ErrUnavailable.
func askSlices[T any](s *Sale, ask func(*slice) (T, error)) (answers []T, errs []error) {
	if len(s.slices) == 1 {
		answer, err := ask(s.home())
		return []T{answer}, []error{err}
	}
	type reply struct {
		slice  int
		answer T
		err    error
	}
	replies := make(chan reply, len(s.slices)) // has room for all: a late reply waits for nothing
	for i := range s.slices {
		go func() {
			answer, err := ask(&s.slices[i])
			replies <- reply{i, answer, err}
		}()
	}
	answers, errs = make([]T, len(s.slices)), slices.Repeat([]error{ErrUnavailable}, len(s.slices))
	var late <-chan time.Time
	for range s.slices {
		select {
		case r := <-replies:
			answers[r.slice], errs[r.slice] = r.answer, r.err
			if r.err == nil && late == nil {
				late = time.After(s.cfg.patience())
			}
		case <-late:
			return answers, errs
		}
	}
	return answers, errs
}

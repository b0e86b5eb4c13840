package redisx

import (
	"sync"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// What slice_follow.lua returns.
const (
	followNoSlice = 0
	followed      = 1
)

// follow gives all slices the state and the times of the home slice. Errors: ErrSaleGone, ErrUnavailable.
func (s *Sale) follow() error {
	return s.cfg.follow(s.id, func(slice int, x *pipeline.Call) error { return s.slices[slice].redis.Do(x) })
}

// follow lets do carry out the calls, each in one slice.
func (c *Config) follow(id string, do func(slice int, x *pipeline.Call) error) error {
	var held, revision, opensAt, closesAt, paused, closed string
	err := do(0, pipeline.Command(&radix.Tuple{&held, &revision, &opensAt, &closesAt, &paused, &closed},
		"HMGET", MarkerKey, "id", "revision", "opens_at", "closes_at", "paused", "closed"))
	if err != nil {
		return err
	}
	if held != id {
		return ErrSaleGone
	}
	if revision == "" { // the slices are being made
		return nil
	}
	var all sync.WaitGroup
	errs := make([]error, c.Slices)
	for i := 1; i < c.Slices; i++ {
		all.Go(func() {
			var code int64
			k := c.KeysOf(id, i)
			errs[i] = do(i, followScript.Eval(&code, []string{k.Marker, k.Gate, k.Log},
				id, revision, opensAt, closesAt, paused, closed))
			switch {
			case errs[i] != nil:
			case code == followNoSlice:
				errs[i] = ErrSaleGone
			case code != followed:
				errs[i] = pipeline.UnknownCode("slice_follow.lua", code)
			}
		})
	}
	all.Wait()
	return firstOf(errs)
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

//go:build !validate

package main

import (
	"fmt"

	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// newValidation refuses -validate: the library that it needs takes longer to compile than the rest of bench.
func newValidation(every int64, _ load.Options) (*load.Validation, error) {
	if every == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: -validate is not compiled in; use go run -tags validate ./scripts/bench",
		sale.ErrUsage)
}

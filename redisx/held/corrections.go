package held

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
)

// Owed is what is due to be given back after a change of a paid order; the zero value is nothing.
type Owed struct {
	Payment string // or a part of it
	Amount  int64  // minor units
}

// Cancel ends an order: for its buyer, where by is "", only one that is not paid. It returns the payment
// that must be ended now, "" for none, and what is due to be given back. Errors: ErrNone, ErrPaid,
// redisx.ErrUnavailable.
func (o *Orders) Cancel(id ID, by, why string) (end string, owed Owed, err error) {
	var code int64
	err = o.do(cancelScript, &radix.Tuple{&code, &end, &owed.Payment, &owed.Amount}, id.User,
		id.args(by, why)...)
	if err == nil {
		err = outcome("cancel.lua", code, nil, ErrNone, ErrPaid)
	}
	owed.Payment = some(owed.Payment)
	return some(end), owed, err
}

// Shrink takes pieces out of an order, for an operator: it was before and is left after; amount is due to be
// given back if it is paid. Results as of Cancel. Errors: ErrNone, ErrChanged, ErrNotLess,
// redisx.ErrUnavailable.
func (o *Orders) Shrink(id ID, by, why string, before, after []redisx.Item, amount int64) (
	end string, owed Owed, err error,
) {
	goes, left, err := less(before, after)
	if err != nil {
		return "", owed, err
	}
	var code int64
	err = o.do(shrinkScript, &radix.Tuple{&code, &end, &owed.Payment, &owed.Amount}, id.User,
		id.args(by, why, list(before), list(left), list(goes), strconv.FormatInt(amount, 10))...)
	if err == nil {
		err = outcome("shrink.lua", code, nil, ErrNone, ErrChanged)
	}
	owed.Payment = some(owed.Payment)
	return some(end), owed, err
}

// less is what goes from before to after, and what is left in the order of before; ErrNotLess if after is
// empty, the same, or no part of before.
func less(before, after []redisx.Item) (goes, left []redisx.Item, err error) {
	counts := map[int64]int64{}
	for _, item := range after {
		if item.Count < 1 || counts[item.Food] > 0 {
			return nil, nil, ErrNotLess
		}
		counts[item.Food] = item.Count
	}
	for _, item := range before {
		stays := counts[item.Food]
		if stays > 0 {
			left = append(left, redisx.Item{Food: item.Food, Count: stays})
		}
		switch {
		case stays > item.Count:
			return nil, nil, ErrNotLess
		case stays < item.Count:
			goes = append(goes, redisx.Item{Food: item.Food, Count: item.Count - stays})
		}
		delete(counts, item.Food)
	}
	if len(counts) > 0 || len(goes) == 0 || len(left) == 0 {
		return nil, nil, ErrNotLess
	}
	return goes, left, nil
}

func list(items []redisx.Item) string {
	var text strings.Builder
	for _, item := range items {
		fmt.Fprintf(&text, "%d:%d,", item.Food, item.Count)
	}
	return text.String()
}

package export

import (
	"strconv"
	"time"

	"flashsale/redisx"
)

// Sums are what a sale has sold, by food and in total. Every amount is in minor units of the currency.
type Sums struct {
	Foods []FoodSum // of food 1, 2, 3, ...
	Total FoodSum   // its id, price and times mean nothing
	Holds bool      // the sale holds orders until they are paid
	Other int64     // refused orders of which the foods are not known; Total has them too

	Currency string // "" without one
	Decimals int
}

// FoodSum is what was sold of a food; of a sale that holds orders, what was paid. Initial + Restocked = Left
// + Held + Sold.
type FoodSum struct {
	ID        int64  `json:"food_id"`
	Name      string `json:"name,omitempty"`
	Price     int64  `json:"price"`
	Initial   int64  `json:"initial"`
	Restocked int64  `json:"restocked"`
	Left      int64  `json:"left"`
	Held      *int64 `json:"held,omitempty"` // nil where orders are final at once
	Sold      int64  `json:"sold"`
	Revenue   int64  `json:"revenue"`

	SoldOutAt    *Moment `json:"sold_out_at"`       // null while there are pieces
	SoldOutAfter *int64  `json:"sold_out_after_ms"` // since the opening; null where that is not known

	RefusedOrders int64 `json:"refused_orders"`
	RefusedPieces int64 `json:"refused_pieces"` // that the refused orders wanted
}

// Moment is a time that is written as in an export.
type Moment struct{ time.Time }

// MarshalJSON writes it as a text.
func (m Moment) MarshalJSON() ([]byte, error) {
	return append(appendTime([]byte{'"'}, m.Time), '"'), nil
}

// SumFood is a food as the catalogue has it.
type SumFood struct {
	Name         string
	Price, Stock int64
}

// NewSums sums up a snapshot of a sale of these foods, which holds orders until they are paid or not. opened
// is when it opened, the zero time if that is not known. The refusals are not in it.
func NewSums(foods []SumFood, found *redisx.Snapshot, holds bool, opened time.Time) *Sums {
	s := &Sums{Foods: make([]FoodSum, len(foods)), Holds: holds}
	if holds {
		s.Total.Held = new(int64)
	}
	for i, food := range foods {
		f := &s.Foods[i]
		*f = FoodSum{ID: int64(i) + 1, Name: food.Name, Price: food.Price, Initial: food.Stock,
			Restocked: found.Restocked[i], Left: found.Left[i], Sold: found.SoldOf(i, food.Stock)}
		if holds {
			f.Held = &found.Held[i]
			*s.Total.Held += *f.Held
		}
		f.Revenue = f.Sold * f.Price
		if at := found.SoldOut[i]; !at.IsZero() {
			f.SoldOutAt = &Moment{at}
			if after := at.Sub(opened).Milliseconds(); !opened.IsZero() {
				f.SoldOutAfter = &after
			}
		}
		t := &s.Total
		t.Initial, t.Restocked, t.Left = t.Initial+f.Initial, t.Restocked+f.Restocked, t.Left+f.Left
		t.Sold, t.Revenue = t.Sold+f.Sold, t.Revenue+f.Revenue
	}
	return s
}

// SetRefused adds what was refused, by food: orders and pieces. all is the number of refused orders, other
// that of those without known foods.
func (s *Sums) SetRefused(orders, pieces map[int64]int64, all, other int64) {
	for i := range s.Foods {
		f := &s.Foods[i]
		f.RefusedOrders, f.RefusedPieces = orders[f.ID], pieces[f.ID]
		s.Total.RefusedPieces += f.RefusedPieces
	}
	s.Total.RefusedOrders, s.Other = all, other
}

// OpenedAt returns when a sale opened first, as the beginning of its log tells; the zero time if it did not.
func OpenedAt(log []redisx.LogEntry) time.Time {
	var opens time.Time // as it was planned then
	for i := range log {
		switch e := &log[i]; e.What {
		case redisx.LogOpened:
			if opens = e.TimesAfter.OpensAt; !opens.After(e.At) {
				return e.At
			}
		case redisx.LogTimes:
			opens = e.TimesAfter.OpensAt
		case redisx.LogState:
			if e.StateAfter != redisx.StateOpen {
				continue
			}
			if e.By == "clock" && !opens.IsZero() && opens.Before(e.At) { // it is noted a moment later
				return opens
			}
			return e.At
		}
	}
	return time.Time{}
}

// AppendHead appends the header line of AppendRow.
func (s *Sums) AppendHead(dst []byte) []byte {
	dst = append(dst, "food_id,food_name,price,initial,restocked,left,sold,revenue,currency,price_minor,"+
		"revenue_minor,sold_out_at,sold_out_after_s,refused_orders,refused_pieces"...)
	if s.Holds {
		dst = append(dst, ",held"...)
	}
	return append(dst, "\r\n"...)
}

// AppendRow appends a food as a row of CSV.
func (s *Sums) AppendRow(dst []byte, f *FoodSum) []byte {
	number := func(n int64) { dst = append(strconv.AppendInt(dst, n, 10), ',') }
	number(f.ID)
	dst = append(AppendField(dst, f.Name), ',')
	dst = append(AppendMoney(dst, f.Price, s.Decimals), ',')
	for _, n := range []int64{f.Initial, f.Restocked, f.Left, f.Sold} {
		number(n)
	}
	dst = append(AppendMoney(dst, f.Revenue, s.Decimals), ',')
	dst = append(append(dst, s.Currency...), ',')
	number(f.Price)
	number(f.Revenue)
	if f.SoldOutAt != nil {
		dst = appendTime(dst, f.SoldOutAt.Time)
	}
	dst = append(dst, ',')
	if f.SoldOutAfter != nil {
		dst = AppendMoney(dst, *f.SoldOutAfter, 3) // seconds
	}
	dst = append(dst, ',')
	number(f.RefusedOrders)
	dst = strconv.AppendInt(dst, f.RefusedPieces, 10)
	if f.Held != nil {
		dst = strconv.AppendInt(append(dst, ','), *f.Held, 10)
	}
	return append(dst, "\r\n"...)
}

package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/saletest"
)

// Refunds that are due are counted in all slices, page by page, and in the sales before. What was given back
// is not.
func TestDueRefunds(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		cfg.Hold = time.Hour
		s := saletest.Open(t, cfg, 9, 9)
		orders := held.New(cfg, s.ID(), 2)
		testkit.Background(t, orders.Run)
		testkit.Until(t, "a connection", orders.Up)
		for user := uint32(2); user < 6; user++ {
			s.Buy(t, int(user))
			id, payment := held.ID{User: user}, fmt.Sprint("p", user)
			_, err := orders.Paid(id, held.Receipt{Payment: payment, Amount: 625,
				Items: []redisx.Item{{Food: 1, Count: 1}}, Price: 625})
			testkit.Must(t, err)
			_, _, err = orders.Cancel(id, "root", "spoilt")
			testkit.Must(t, err)
		}
		testkit.Must(t, orders.Refunded(held.ID{User: 3}, "p3"))
		before := cfg.KeysOf("before", 0)
		due, payments := []string{"ZADD", before.Refunds}, []string{"HSET", before.Payments}
		for i := range redisx.ScanCount + 1 {
			due = append(due, "7", fmt.Sprint("old", i))
			payments = append(payments, fmt.Sprint("old", i), "9 0 2 refund_due twice")
		}
		saletest.Text(t, cfg, due...)
		saletest.Text(t, cfg, payments...)
		d := dueRefunds{currency: "EUR", decimals: 2}
		marker := redisx.Marker{Sale: s.ID(), Previous: []string{"before"}}
		testkit.Must(t, d.read(t.Context(), cfg, &marker))
		var text strings.Builder
		if d.Print(&text); text.String() != "refunds due: 504, 28.77 EUR\n" || !d.Equal() {
			t.Errorf("%s", text.String())
		}
	})
}

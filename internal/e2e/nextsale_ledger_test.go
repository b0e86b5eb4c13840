package e2e

import (
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

// A ledger goes on in the next sale, whether the one before is kept or deleted, on a server that takes it
// over and on one that starts. The tables keep the orders of every sale, and the audit looks at those of
// its own.
func testLedgerNextSale(t *testing.T, b *books) {
	redis := redistest.New(t)
	of := []string{"-redis", redis.Socket, "-users", "20", "-foods", "3", "-stock", "50"}
	kept := setup{env: b.env(), args: append([]string{"-workers", "1"}, of...)}
	first := kept.serve(t)
	written := map[string]map[int]client.Order{} // by sale
	fill := func(s *server, sale string) {
		t.Helper()
		c := s.client(t)
		for user := 2; user < 8; user++ { // the same users in each sale
			_, err := c.Buy(user, item(1+user%2, 1), item(3, 1))
			testkit.Must(t, err)
		}
		written[sale] = s.orders(t)
		b.awaitOf(t, sale, written[sale])
		if code, output := runAudit(t, b, of...); code != 0 {
			t.Errorf("audit of sale %d: exit code %d\n%s", len(written), code, output)
		}
	}
	sale := first.Sale(t)
	fill(first, sale)
	for _, before := range []string{"-keep", "-delete"} {
		testkit.Until(t, "empty stream", func() bool {
			orders, _, told := first.waiting(t)
			return told && orders == 0
		})
		saleDone(t, of, "close")
		saleDone(t, of, "export")
		sale = openNext(t, of, before)
		awaitSale(t, first, sale)
		fill(first, sale)
	}
	first.End(t)
	sale = openNext(t, of, "-force")
	late := kept.serve(t)
	if late.Sale(t) != sale {
		t.Errorf("the server serves sale %s, want %s", late.Sale(t), sale)
	}
	fill(late, sale)
	for sale, want := range written {
		b.awaitOf(t, sale, want)
	}
	if n := len(written); n != 4 {
		t.Errorf("%d sales, want 4", n)
	}
	for _, s := range []*server{first, late} {
		if strings.Contains(testkit.ReadFile(t, s.Log), "level=ERROR") {
			t.Errorf("errors are logged\n%s", testkit.ReadFile(t, s.Log))
		}
	}
}

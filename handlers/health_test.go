package handlers

import (
	"testing"

	"flashsale/redisx"
)

// A sale that keeps a ledger tells how far the database is behind and is ready all the same.
func TestReadyTellsOfTheLedger(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		stream, err := redisx.OpenStream(t.Context(), s.redis, s.cfg.Sale.ID(), 5, "a")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		ready := `{"status":"ready","sale":"` + s.cfg.Sale.ID() + `","users":20,"foods":5,"ledger":{"orders_waiting":0,"oldest_seconds":0}}`
		s.expect(t, 0, "GET", "/readyz", "", 200, ready)
	})
}

package app

import (
	"context"
	"testing"

	"flashsale/internal/rooms/ledger"
	"flashsale/internal/supervise"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// The writer of the ledger goes on to the next sale, also where Redis refuses that at first.
func TestLedgerFollows(t *testing.T) {
	log := testkit.CaptureLog(t)
	server := redistest.New(t)
	cfg := settings(t, "-redis", server.Socket, "-foods", "2", "-users", "3")
	s := openedSale(t, cfg)
	var err error
	if s.database, err = ledger.NewDatabase("nobody@tcp(127.0.0.1:1)/none"); err != nil {
		t.Fatal(err)
	}
	defer s.database.Close()
	s.processes, err = supervise.New(supervise.Config{Roles: []supervise.Role{{Name: saleRole, Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := s.newLedgerKeeper(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- keeper.run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	server.Flush(t)
	opened, err := redisx.Open(t.Context(), s.store.redis, firstStock(s.serving().catalog))
	if err != nil {
		t.Fatal(err)
	}
	next := s.serving().copy()
	next.Sale = opened.Sale
	server.Do(t, "SET orders_"+opened.Sale+" x")
	keeper.follow(next)
	testkit.Until(t, "the refusal is logged", func() bool { return log.Count("WRONGTYPE") == 1 })
	if keeper.current.Load().Up() {
		t.Error("orders get into the database")
	}
	server.Do(t, "DEL orders_"+opened.Sale)
	testkit.Until(t, "the next sale keeps a ledger", func() bool {
		backlog, err := redisx.ReadBacklog(t.Context(), s.store.redis, opened.Sale)
		return err == nil && backlog.Kept
	})
}

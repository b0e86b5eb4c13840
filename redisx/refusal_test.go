package redisx

import (
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A server joins an open sale also where Redis takes no writes, and an order of a full cart is still placed
// there.
func TestJoinAndOrderWithoutMemory(t *testing.T) { onServers(t, testJoinAndOrderWithoutMemory) }

func testJoinAndOrderWithoutMemory(t *testing.T, server *redistest.Server, cfg Config) {
	s := open(t, cfg, 10)
	testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
	server.Do(t, "CONFIG SET maxmemory 1")
	other := Opening{Catalog: catalogPrint, Stock: []int64{10}, Server: []Fingerprint{{"ab", "cd", "ef"}}}
	if opened, err := Open(t.Context(), cfg, other); err != nil || opened.Sale != s.ID() {
		t.Errorf("joined %+v, %v", opened, err)
	}
	wantError(t, "order", s.placeOrder(2, cartName(2), nil), nil)
}

// A Redis that wants another password in mid-sale answers, and the log has its words.
func TestPasswordChangedInMidSale(t *testing.T) { onServers(t, testPasswordChangedInMidSale) }

func testPasswordChangedInMidSale(t *testing.T, server *redistest.Server, cfg Config) {
	log := testkit.CaptureLog(t)
	s := open(t, cfg, 10)
	server.Do(t, "CONFIG SET requirepass other\r\nCLIENT KILL TYPE normal SKIPME yes")
	testkit.Until(t, "the refusal is logged", func() bool {
		wantError(t, "add", s.addToCart(2, cartName(2), 1, 1), ErrUnavailable)
		return log.Count("NOAUTH Authentication required. (set REDIS_PASSWORD)") == 1
	})
	if log.Count("Redis refuses to serve: orders get 503 until it does") != 1 {
		t.Errorf("log %s", log)
	}
}

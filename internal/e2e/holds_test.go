package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A sale holds its orders for the time with which it was opened: another server with another time does not
// start. While an order is held the next sale is refused; afterwards the pieces are back, and the next sale
// holds its orders as long.
func TestHolds(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-redis", redis.Socket, "-users", "5", "-foods", "2", "-stock", "9", "-workers", "1"}
	env := []string{"TOKEN_SECRET=" + sharedSecret}
	s := setup{env: env, args: append(slices.Clip(args), "-hold", "1h")}.serve(t)
	sale := s.Sale(t)
	other := setup{env: env, args: append(slices.Clip(args), "-hold", "2h")}.launch(t)
	code, text := other.ExitCode(t), other.Warnings(t)
	want := "the sale holds its orders for another time: sale " + sale
	if code != 1 || !strings.Contains(text, want) {
		t.Errorf("a server with another -hold ends with %d: %s; want 1: %s", code, text, want)
	}

	buyer := s.client(t)
	testkit.Must(t, buyer.LoginUser(2))
	cart, err := buyer.Fill(item(1, 2))
	testkit.Must(t, err)
	id, err := buyer.Order(cart)
	testkit.Must(t, err)
	text = saleDone(t, args, "orders")
	if !strings.Contains(text, id) || !strings.Contains(text, "  held 20") {
		t.Errorf("flashsale sale orders: %s", text)
	}
	saleDone(t, args, "close")
	saleRefused(t, 1, "orders of the sale are still held: 1, the last one until 20", args, "new")
	redis.Do(t, "ZADD holds_"+sale+" XX 1 2") // the hold is over
	testkit.Until(t, "release of the order", func() bool {
		orders, err := buyer.Orders()
		return err == nil && len(orders) == 0
	})
	if text := saleDone(t, args, "status"); !strings.Contains(text, "18 left, 0 held, 0 paid (0 restocked)") {
		t.Errorf("flashsale sale status: %s", text)
	}
	file := filepath.Join(t.TempDir(), "orders.csv")
	saleDone(t, args, "export", "-o", file)
	if head := testkit.ReadFile(t, file); !strings.HasSuffix(head, "placed_at,state\r\n") {
		t.Errorf("the export begins with %q", head)
	}
	awaitSale(t, s, openNext(t, args))
	if reply, err := s.client(t).Do("GET", "/sale", ""); err != nil || !strings.Contains(reply.Body,
		`"hold_seconds":3600,"pieces_held":0}`) {
		t.Errorf("the next sale: %v, %v", reply.Body, err)
	}
}

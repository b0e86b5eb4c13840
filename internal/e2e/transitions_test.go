package e2e

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

// saleLog is the part of an entry of GET /admin/log that tests look at.
type saleLog struct {
	By, What      string
	Before, After any
	Food          int `json:"food_id"`
	Add           int
}

// readLog reads the log of the sale and checks that each change of the state begins with the state in which
// the one before ended. It returns the last state, "" without a change.
func (s *server) readLog(t *testing.T) (entries []saleLog, state string) {
	t.Helper()
	testkit.Must(t, s.root(t).Call("GET", "/admin/log", "", &entries))
	for _, e := range entries {
		if e.What != "state" {
			continue
		}
		if state != "" && e.Before != state {
			t.Errorf("the log goes from %v to %v, and the sale was %s", e.Before, e.After, state)
		}
		state = e.After.(string)
	}
	return entries, state
}

// state reads the state of the sale from Redis, by a change that changes nothing.
func (s *server) state(t *testing.T) string {
	t.Helper()
	var sale struct{ State string }
	c := s.root(t)
	testkit.Must(t, c.Call("PUT", "/admin/sale", `{"closes_at":null}`, &sale))
	return sale.State
}

// Root's server is killed with all its processes while it changes the state or the stock. The other server
// shows that the change was made as a whole or not at all, and buyers there lose nothing.
func TestKilledAtATransition(t *testing.T) {
	t.Parallel()
	const rounds = 8
	redis := redistest.New(t)
	run := setup{env: []string{"TOKEN_SECRET=" + sharedSecret, "ROOT_PASSWORD=" + rootPassword},
		args: append([]string{"-redis", redis.Socket, "-workers", "1"}, loadArgs...)}
	other := run.serve(t)
	l := startLoad(t, other, 4, false)
	added := 0
	for round := range rounds {
		killed := run.serve(t)
		c := killed.root(t)
		wanted := []string{"paused", "open", "closed", "open"}[round%4]
		// The state, and the stock: sent, and perhaps answered, when the server ends.
		testkit.Must(t, c.Send("PUT", "/admin/sale", fmt.Sprintf(`{"state":%q}`, wanted)))
		second := killed.root(t)
		second.IdempotencyKey = fmt.Sprint("round ", round)
		testkit.Must(t, second.Send("POST", "/admin/foods/1/stock", `{"add":7}`))
		if round%2 == 0 {
			_, err := second.Receive("POST", "/admin/foods/1/stock")
			testkit.Must(t, err)
		}
		testkit.Must(t, killed.SignalTree(syscall.SIGKILL))
		<-killed.Ended()

		again := other.root(t)
		again.IdempotencyKey = second.IdempotencyKey
		testkit.Must(t, again.Call("POST", "/admin/foods/1/stock", `{"add":7}`, nil))
		added += 7
		testkit.Must(t, again.Call("PUT", "/admin/sale", fmt.Sprintf(`{"state":%q}`, wanted), nil))
		_, logged := other.readLog(t)
		if state := other.state(t); state != wanted || logged != wanted {
			t.Errorf("round %d: the sale is %s, by its log %s, want %s", round, state, logged, wanted)
		}
	}
	l.checkFailures(t, client.Refusal{Status: 403, Code: "SALE_PAUSED"},
		client.Refusal{Status: 403, Code: "SALE_CLOSED"})
	l.audit(t, other, item(1, added))
	entries, _ := other.readLog(t)
	for _, e := range entries {
		if e.What == "stock" {
			added -= e.Add
		}
	}
	if added != 0 {
		t.Errorf("%d pieces were added without an entry in the log", added)
	}
}

// All servers are killed before the sale opens and come back afterwards: it is open at once, opened once by
// the clock, and no order came before.
func TestKilledAtTheOpening(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-users", "10", "-foods", "1", "-stock", "10", "-opens-at", "2099-01-01T00:00:00Z"}
	servers := serveTogether(t, 2, redis, args...)
	buyer := servers[0].client(t)
	testkit.Must(t, buyer.LoginUser(2))
	cart, err := buyer.Fill(item(1, 1))
	testkit.Must(t, err)
	if _, err := buyer.Order(cart); !client.IsRefused(err, 403, "SALE_NOT_OPEN") {
		t.Errorf("before the opening: %v, want 403 SALE_NOT_OPEN", err)
	}
	opens := time.Now().Add(time.Hour)
	root := servers[1].root(t)
	testkit.Until(t, "time to open", func() bool {
		opens = time.Now().Add(300 * time.Millisecond)
		return root.Call("PUT", "/admin/sale", fmt.Sprintf(`{"state":"scheduled","opens_at":%q}`,
			opens.UTC().Format(time.RFC3339Nano)), nil) == nil
	})
	for _, s := range servers {
		testkit.Must(t, s.SignalTree(syscall.SIGKILL))
	}
	testkit.Until(t, "the opening", func() bool { return time.Now().After(opens) })
	for i, s := range serveTogether(t, 2, redis, args...) {
		c := s.client(t)
		c.Token = buyer.Token
		_, err := c.Order(cart)
		if i == 0 && err != nil || i == 1 && !client.IsRefused(err, 403, "ORDER_OUT_OF_LIMIT") {
			t.Errorf("the order on server %d: %v", i, err)
		}
		entries, state := s.readLog(t)
		count := func(e saleLog) bool { return e.What == "state" && e.By == "clock" }
		first := slices.IndexFunc(entries, count)
		if state != "open" || first < 0 || slices.ContainsFunc(entries[first+1:], count) {
			t.Errorf("log %v, want one opening by the clock", entries)
		}
	}
}

package ledger

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/held"
)

// holdOrders makes the shop's orders wait for a payment.
func (s *shop) holdOrders(t *testing.T) *held.Orders {
	t.Helper()
	orders := held.New(s.redis, s.ID(), len(prices))
	testkit.Background(t, orders.Run)
	testkit.Until(t, "a connection", func() bool { _, err := orders.Release(0); return err == nil })
	testkit.Must(t, s.database(t).Prepare(t.Context())) // the tables
	return orders
}

// empty waits until the ledger has all.
func (s *shop) empty(t *testing.T) {
	t.Helper()
	testkit.Until(t, "an empty stream", func() bool {
		found, err := s.Ready()
		return err == nil && found.Orders == 0
	})
}

// states reads "state events payment total items" of all orders.
func (s *shop) states(t *testing.T) map[string]string {
	t.Helper()
	return s.texts(t, "SELECT SUBSTRING(o.id, LENGTH('"+s.ID()+"-') + 1), CONCAT(s.state, ' ', s.events, ' ', "+
		"s.payment_id, ' ', o.total, ' ', GROUP_CONCAT(i.food_id, ':', i.count ORDER BY i.food_id)) "+
		"FROM orders o JOIN order_states s ON s.order_id = o.id JOIN order_items i ON i.order_id = o.id "+
		"GROUP BY o.id")
}

// The ledger knows the states of held orders, also of those that were released, and what root has taken out,
// whichever of two servers writes it. The audit sees the same.
func testStates(t *testing.T, server *launch.MariaDB) {
	s := openHeld(t, roomtest.Redis(t), server, "states")
	orders := s.holdOrders(t)
	id := func(user uint32, number int) held.ID { return held.ID{User: user, Number: number} }
	pay := func(user uint32, number int, payment string) {
		t.Helper()
		receipt := held.Receipt{Payment: payment, Amount: 1, Items: basket(user), Price: 1}
		_, err := orders.Paid(id(user, number), receipt)
		testkit.Must(t, err)
	}
	s.buy(t, 2) // before the ledger
	_, _, err := orders.Cancel(id(2, 0), "", "changed my mind")
	testkit.Must(t, err)
	s.buy(t, 2, 3, 4)
	for _, name := range []string{"a", "b"} {
		testkit.Background(t, s.ledger(t, name).Run)
	}
	s.buy(t, 5, 6)
	pay(3, 0, "p3")
	pay(6, 0, "p6")
	_, _, err = orders.Cancel(id(6, 0), "root", "spoilt")
	testkit.Must(t, err)
	was := basket(5)
	_, _, err = orders.Shrink(id(5, 0), "root", "spoilt", was, was[:1], 0)
	testkit.Must(t, err)
	s.empty(t)
	want := map[string]string{"2": "released 2  103 1:1,3:1", "2-1": "held 1  103 1:1,3:1",
		"3": "paid 2 p3 16 1:2,2:1", "4": "held 1  110 2:1,3:1", "5": "held 2  200 3:2",
		"6": "refund_due 3 p6 13 1:1,2:1"}
	if got := s.states(t); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if a := s.audit(t); !a.Equal() || a.InRedis != 6 || a.Rows != 6 {
		t.Errorf("%+v", *a)
	}
}

// Orders that change all the time are never a difference, and all are there in the end.
func testStatesUnderLoad(t *testing.T, server *launch.MariaDB) {
	s := openHeld(t, roomtest.Redis(t), server, "statesload")
	orders := s.holdOrders(t)
	for _, name := range []string{"a", "b"} {
		testkit.Background(t, s.ledger(t, name).Run)
	}
	var buying sync.WaitGroup
	for first := uint32(2); first < 202; first += 50 {
		buying.Go(func() {
			for user := first; user < first+50; user++ {
				s.buy(t, user)
				id := held.ID{User: user}
				if user%3 == 0 {
					_, _, err := orders.Cancel(id, "", "")
					testkit.Must(t, err)
					s.buy(t, user)
					id.Number = 1
				}
				_, err := orders.Pay(id, time.Hour)
				testkit.Must(t, err)
				payment := fmt.Sprintf("p%d", user)
				_, err = orders.Paid(id, held.Receipt{Payment: payment, Amount: 1, Items: basket(user), Price: 1})
				testkit.Must(t, err)
			}
		})
	}
	ended := make(chan bool)
	go func() { buying.Wait(); close(ended) }()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		if a := s.audit(t); !a.Equal() {
			t.Fatalf("%+v", *a)
		}
	}
	s.empty(t)
	if a := s.audit(t); !a.Equal() || a.OnTheWay != 0 || a.InRedis != 200+67 {
		t.Errorf("%+v", *a)
	}
	s.execute(t, "UPDATE order_states SET state = 'held' WHERE order_id = 'SALE-7'")
	if a := s.audit(t); a.Different != 1 || a.Examples[0] != fmt.Sprintf(
		"different: order %s-7 is paid after 3 events; in the database held after 3", s.ID()) {
		t.Errorf("%+v", *a)
	}
}

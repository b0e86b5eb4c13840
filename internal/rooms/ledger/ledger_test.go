package ledger

import (
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// One database server for all cases: it takes seconds to start.
func TestLedger(t *testing.T) {
	server := launch.StartMariaDB(t, durable)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, server *launch.MariaDB)
	}{
		{"writes", testWrites},
		{"in-memory engine", testMemory},
		{"switched on in mid-sale", testFill},
		{"slices", testSlices},
		{"commit without answer", testCommitWithoutDone},
		{"dead consumer", testDeadConsumer},
		{"two servers", testTwoServers},
		{"flush at the stop", testFlush},
		{"lost stream", testLostStream},
		{"database away and back", testDatabaseAway},
		{"database frozen", testDatabaseFrozen},
		{"filled in again", testFillAgain},
		{"database killed under load", testDatabaseKilled},
		{"Redis killed under load", testRedisKilled},
		{"refused database", testRefusedDatabase},
		{"existing tables", testExistingTables},
		{"audit", testAudit},
		{"audit while orders are placed", testAuditUnderLoad},
		{"states", testStates},
		{"states under load", testStatesUnderLoad},
		{"messages", testMessages},
		{"audit of messages", testAuditMessages},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, server) })
	}
}

func testWrites(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "writes")
	testkit.Background(t, s.ledger(t, "a").Run)
	start := time.Now().UTC().Add(-time.Second)
	s.buy(t, users(2, 50)...)
	s.await(t, 49)
	s.check(t, users(2, 50)...)
	var odd int
	end := time.Now().UTC().Add(time.Second)
	const odds = "SELECT COUNT(*) FROM orders WHERE placed_at < ? OR placed_at > ?"
	err := s.db.QueryRow(odds,
		start.Format(time.DateTime), end.Format(time.DateTime)).Scan(&odd)
	if err != nil || odd != 0 {
		t.Errorf("%d orders were not placed just now, %v", odd, err)
	}
}

// The in-memory engine, the last resort of a machine without redis-server, keeps a ledger too.
func testMemory(t *testing.T, server *launch.MariaDB) {
	memory := pipeline.Config{Network: "tcp", Address: redistest.Memory(t), Timeout: redistest.Timeout}
	s := openShop(t, memory, server, "memory")
	s.buy(t, 2)
	l := s.ledger(t, "a")
	s.buy(t, 3, 4)
	testkit.Background(t, l.Run)
	s.await(t, 3)
	s.buy(t, 5)
	s.await(t, 4)
	s.check(t, 2, 3, 4, 5)
}

// Orders from before the ledger are found, and no order is lost between the two.
func testFill(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "fill")
	s.buy(t, users(2, 1500)...)
	var buying sync.WaitGroup
	buying.Go(func() { s.buy(t, users(1501, 3000)...) })
	testkit.Background(t, s.ledger(t, "a").Run)
	buying.Wait()
	s.await(t, 2999)
	s.check(t, users(2, 3000)...)
	if opened, err := s.ledger(t, "a").writers[0].open(t.Context()); err != nil || opened.Filling() {
		t.Errorf("the ledger is filled and still filling, %v", err)
	} else {
		opened.Close()
	}
}

// The orders of all slices get into the database, those from before the ledger too.
func testSlices(t *testing.T, server *launch.MariaDB) {
	s := openSlices(t, roomtest.Redis(t), 3, server, "slices")
	s.buy(t, users(2, 100)...)
	for _, name := range []string{"a", "b"} {
		testkit.Background(t, s.ledger(t, name).Run)
	}
	s.buy(t, users(101, 300)...)
	s.await(t, 299)
	s.check(t, users(2, 300)...)
	if a := s.audit(t); !a.Equal() {
		t.Errorf("the audit: %+v", a)
	}
	l := s.ledger(t, "a")
	for i := range l.writers {
		w := &l.writers[i]
		opened, err := w.open(t.Context())
		testkit.Must(t, err)
		if opened.Close(); opened.Filling() {
			t.Errorf("slice %d is still filling", w.slice)
		}
	}
}

func testTwoServers(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "two")
	for _, name := range []string{"a", "b"} {
		l := s.ledger(t, name)
		// They steal from each other all the time.
		l.takeOverIdle, l.takeOverEvery = time.Millisecond, time.Millisecond
		testkit.Background(t, l.Run)
	}
	var buying sync.WaitGroup
	for part := range uint32(4) {
		buying.Go(func() { s.buy(t, users(2+part*500, 501+part*500)...) })
	}
	buying.Wait()
	s.await(t, 2000)
	s.check(t, users(2, 2001)...)
}

// What was placed before the stop is in the database after it.
func testFlush(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "flush")
	stop := testkit.Background(t, s.ledger(t, "a").Run)
	s.buy(t, users(2, 300)...)
	stop()
	s.check(t, users(2, 300)...)
	if found, err := s.Ready(); err != nil || found.Orders != 0 {
		t.Errorf("%d orders in the stream after the stop, %v", found.Orders, err)
	}
}

// Orders that were in a stream that somebody has deleted are found where the sale keeps them.
func testLostStream(t *testing.T, server *launch.MariaDB) {
	redis := redistest.Start(t)
	s := openShop(t, roomtest.Of(redis), server, "lost")
	l := s.ledger(t, "a")
	s.buy(t, 2, 3)
	redis.Do(t, "DEL orders_"+s.ID())
	s.buy(t, 4)
	testkit.Background(t, l.Run)
	s.await(t, 3)
	s.check(t, 2, 3, 4)
	redis.Do(t, "DEL orders_"+s.ID())
	s.buy(t, 5)
	testkit.Until(t, "new stream", func() bool { return redis.Do(t, "EXISTS orders_"+s.ID()) == ":1" })
	s.buy(t, 6)
	s.await(t, 5)
	s.check(t, 2, 3, 4, 5, 6)
}

// What the database has lost is filled in again when the marker says that it is not there.
func testFillAgain(t *testing.T, server *launch.MariaDB) {
	redis := redistest.Start(t)
	s := openShop(t, roomtest.Of(redis), server, "again")
	stop := testkit.Background(t, s.ledger(t, "a").Run)
	s.buy(t, users(2, 9)...)
	s.await(t, 8)
	stop()
	s.execute(t, "DELETE FROM orders WHERE id = 'SALE-5'")
	s.execute(t, "DELETE FROM order_items WHERE order_id = 'SALE-6' AND food_id = 1")
	redis.Do(t, "HDEL sale ledger")
	testkit.Background(t, s.ledger(t, "a").Run)
	testkit.Until(t, "all orders again", func() bool { return s.audit(t).Equal() })
	s.check(t, users(2, 9)...)
}

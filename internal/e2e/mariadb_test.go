package e2e

import (
	"fmt"
	"testing"

	"flashsale/internal/testkit"
)

// A sale from the contest's tables, which scripts/mysql fills; scripts/bench buys and audits it.
func testSaleFromMariaDB(t *testing.T, b *books) {
	testkit.Need(t, "redis-server")
	database := b.server
	const users, foods, orders = 500, 20, 300
	env := []string{
		"DB_HOST=" + database.Host, "DB_PORT=" + fmt.Sprint(database.Port), "DB_NAME=rush",
		"DB_USER=" + database.User, "DB_PASS=" + database.Password, "ROOT_PASSWORD=" + rootPassword,
	}
	if code, _, faults := run(t, module+"/scripts/mysql", env, "-users", fmt.Sprint(users),
		"-foods", fmt.Sprint(foods), "-stock", "1000"); code != 0 {
		t.Fatalf("scripts/mysql ends with %d: %s", code, faults)
	}

	s := setup{env: env}.serve(t)
	checkHidden(t, s, database.Password)
	want := fmt.Sprintf("MySQL rush@%s:%d (500 users, 20 foods)", database.Host, database.Port)
	if s.Banner(t, "catalogue") != want {
		t.Errorf("catalogue %q, want %q", s.Banner(t, "catalogue"), want)
	}
	if code, _, faults := run(t, module+"/scripts/bench", env, "-addr", s.Address,
		"-orders", fmt.Sprint(orders), "-concurrency", "20"); code != 0 {
		t.Errorf("scripts/bench ends with %d: its audit failed: %s", code, faults)
	}
	sold, left := 0, 0
	for _, o := range s.orders(t) {
		for _, i := range o.Items {
			sold += i.Count
		}
	}
	for _, pieces := range s.stock(t) {
		left += pieces
	}
	if n := len(s.orders(t)); n != orders || sold < orders || sold+left != foods*1000 {
		t.Errorf("%d orders, %d pieces sold and %d left; want %d orders, and %d pieces together", n, sold, left,
			orders, foods*1000)
	}
	s.End(t)
}

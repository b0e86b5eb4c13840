package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
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

// runAudit runs "flashsale audit" and returns its exit code and what it prints.
func runAudit(t *testing.T, b *books, args ...string) (code int, output string) {
	t.Helper()
	code, stdout, stderr := run(t, module, []string{"LEDGER=" + b.dsn}, append([]string{"audit"}, args...)...)
	return code, stdout + stderr
}

// Exit codes of the audit, with the default store, while its server runs and after it has stopped.
func testLedgerAudit(t *testing.T, b *books) {
	testkit.Need(t, "redis-server")
	s := setup{env: b.env(), args: []string{"-workers", "1"}}.serve(t)
	for user := 2; user < 12; user++ {
		_, err := s.client(t).Buy(user, item(user, 1))
		testkit.Must(t, err)
	}
	b.await(t, s.orders(t))
	want := "audit of sale " + s.Sale(t) +
		"\n  orders in Redis               10\n  orders in the database        10\n" +
		"  on the way                     0\n  missing                        0\n" +
		"  extra                          0\n  different                      0\n" +
		"pieces of all foods: 100000 initial + 0 restocked = 99990 left + 10 sold\n" +
		"  foods that do not add up: 0 of 100\n" +
		"for the next sale: flashsale sale close, flashsale sale export -o FILE, flashsale sale new\n"
	if code, output := runAudit(t, b, "-data", s.Data); code != 0 || output != want {
		t.Errorf("audit of a running server: exit code %d\n%swant 0\n%s", code, output, want)
	}
	s.End(t)
	if code, output := runAudit(t, b, "-data", s.Data); code != 0 || output != want {
		t.Errorf("audit of a stopped server: exit code %d\n%swant 0\n%s", code, output, want)
	}
	_, err := b.Exec("DELETE FROM orders WHERE user_id = 5")
	testkit.Must(t, err)
	if code, output := runAudit(t, b, "-data", s.Data); code != 1 ||
		!strings.Contains(output, "missing: order "+s.Sale(t)+"-5\n") {
		t.Errorf("audit with a missing order: exit code %d, want 1\n%s", code, output)
	}
	for _, test := range []struct{ name, want string }{
		{"-data " + testkit.Folder(t), "flashsale audit: no sale was served from "},
		{"-redis " + redistest.New(t).Socket, "flashsale audit: redis holds no sale: "},
		{"-foods 3 -data " + s.Data, "flashsale audit: redis holds a sale of other foods: "},
		{"-data " + s.Data + " -ledger=",
			"flashsale audit: -ledger (LEDGER) is not set; it names the database to compare with\n"},
		{"-data " + s.Data + " -ledger root:guess@tcp(" + closedAddress(t) + ")/x",
			"flashsale audit: cannot read the orders in MySQL x@"},
		{"-nonsense", "flashsale audit: flag provided but not defined: -nonsense"},
	} {
		code, output := runAudit(t, b, strings.Fields(test.name)...)
		if code != 2 || !strings.HasPrefix(output, test.want) || strings.Contains(output, "guess") {
			t.Errorf("audit %s: exit code %d, want 2\n%swant %s", test.name, code, output, test.want)
		}
	}
	if code, output := runAudit(t, b, "-h"); code != 0 || !strings.Contains(output, "-ledger dsn") {
		t.Errorf("audit -h: exit code %d\n%s", code, output)
	}
}

// The audit knows from Redis that the sale holds its orders, and compares their states.
func testHeldLedgerAudit(t *testing.T, b *books) {
	testkit.Need(t, "redis-server")
	s := setup{env: b.env(), args: []string{"-workers", "1", "-hold", "1h"}}.serve(t)
	for user := 2; user < 5; user++ {
		_, err := s.client(t).Buy(user, item(user, 1))
		testkit.Must(t, err)
	}
	b.await(t, s.orders(t))
	s.End(t)
	sums := "\npieces of all foods: 100000 initial + 0 restocked = 99997 left + 3 held + 0 paid\n" +
		"  foods that do not add up: 0 of 100\nrefunds due: 0, 0\nfor the next sale: "
	if code, output := runAudit(t, b, "-data", s.Data); code != 0 || !strings.Contains(output, sums) {
		t.Errorf("audit of held orders: exit code %d\n%s", code, output)
	}
	_, err := b.Exec("UPDATE order_states SET state = 'paid' WHERE order_id LIKE '%-3'")
	testkit.Must(t, err)
	want := "different: order " + s.Sale(t) + "-3 is held after 1 events; in the database paid after 1\n"
	if code, output := runAudit(t, b, "-data", s.Data); code != 1 || !strings.Contains(output, want) {
		t.Errorf("audit with another state: exit code %d, want 1 and %s\n%s", code, want, output)
	}
}

func closedAddress(t *testing.T) string { return net.JoinHostPort("127.0.0.1", launch.ClosedPort(t)) }

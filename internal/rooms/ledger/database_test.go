package ledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/roomtest"
)

func testRefusedDatabase(t *testing.T, server *launch.MariaDB) {
	at := fmt.Sprintf("%s:%d", server.Host, server.Port)
	server.Open(t, "columns").ExecContext(t.Context(), "CREATE TABLE orders (id INT PRIMARY KEY)")
	const fix = ": fix -ledger (LEDGER) or the database"
	for _, test := range []struct{ dsn, want, end string }{
		{"root:guess@tcp(" + at + ")/writes", "writes@" + at + ": Error 1045 (28000): ",
			": wrong user or password" + fix},
		{"root:toor@tcp(" + at + ")/nowhere", "nowhere@" + at + ": Error 1049 (42000): ", "'nowhere'" + fix},
		{"root:toor@tcp(" + at + ")/columns", "columns@" + at + ": Error 1054 (42S22): ", fix},
	} {
		db, err := NewDatabase(test.dsn)
		testkit.Must(t, err)
		defer db.Close()
		want := "cannot keep the ledger in MySQL " + test.want
		err = db.Prepare(t.Context())
		if !errors.Is(err, ErrMisconfigured) || !strings.HasPrefix(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), test.end) || strings.Contains(err.Error(), "guess") {
			t.Errorf("error %v\nwant  %s...%s", err, want, test.end)
		}
	}
}

// A user who may not make tables may use those there are.
func testExistingTables(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "granted")
	testkit.Must(t, s.database(t).Prepare(t.Context()))
	for _, statement := range []string{
		"CREATE USER clerk@'127.0.0.1' IDENTIFIED BY 'c'",
		"GRANT SELECT, INSERT, UPDATE ON granted.* TO clerk@'127.0.0.1'",
	} {
		if _, err := s.db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	s.dsn = strings.Replace(s.dsn, "root:toor", "clerk:c", 1)
	testkit.Background(t, s.ledger(t, "a").Run)
	s.buy(t, 2)
	s.await(t, 1)
	s.check(t, 2)
}

func TestNewDatabase(t *testing.T) {
	const noSlash = "cannot read -ledger (LEDGER): invalid DSN: " +
		"missing the slash separating the database name (it must be user:password@tcp(host:3306)/name)"
	for dsn, want := range map[string]string{
		"hush":             noSlash,
		"me:hush@tcp(h:1)": noSlash,
		"me:hush@tcp(h)/": "cannot use -ledger (LEDGER): it names no database " +
			"(it must be user:password@tcp(host:3306)/name)",
		"me:hush@x(h)/n": "",
	} {
		db, err := NewDatabase(dsn)
		switch {
		case want == "":
			if err != nil || db.String() != "MySQL n@h" {
				t.Errorf("%s: %v, %v", dsn, db, err)
			}
		case err == nil || err.Error() != want:
			t.Errorf("%s:\n got %v\nwant %s", dsn, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("error %v shows the password", err)
		}
	}
}

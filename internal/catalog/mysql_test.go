package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

const (
	createTables = "CREATE TABLE user (id BIGINT, name TEXT, password TEXT) CHARACTER SET utf8mb4;" +
		"CREATE TABLE food (id BIGINT, stock BIGINT, price BIGINT);"
	goodRows = "INSERT INTO user VALUES (2, 'ann', 'a'), (1, 'root', 'r'), (30, '李雷', '密码');" +
		"INSERT INTO food VALUES (2, 0, 4), (1, 10, 3);"
)

// makeDatabase runs statements, separated by semicolons, in a new database.
func makeDatabase(t *testing.T, server *launch.MariaDB, name, statements string) Database {
	t.Helper()
	execute(t, server.Open(t, name), statements)
	return Database{Host: server.Host, Port: server.Port, Name: name, User: server.User,
		Password: server.Password}
}

func execute(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(strings.TrimSuffix(statements, ";"), ";") {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestMySQL(t *testing.T) {
	server := launch.StartMariaDB(t)
	t.Run("load", func(t *testing.T) { testMySQLLoad(t, server) })
	t.Run("documents", func(t *testing.T) { testMySQLDocuments(t, server) })
	t.Run("goods", func(t *testing.T) { testMySQLGoods(t, server) })
	t.Run("refusals", func(t *testing.T) { testMySQLRefusals(t, server) })
	t.Run("faults", func(t *testing.T) { testMySQLFaults(t, server) })
	t.Run("cancel", func(t *testing.T) { testMySQLCancel(t, server) })
}

func testMySQLLoad(t *testing.T, server *launch.MariaDB) {
	db := makeDatabase(t, server, "eleme", createTables+goodRows)
	catalog := mustLoad(t, Config{DB: db, Dir: "unused", RootPassword: "geheim"})
	if want := []Food{{1, 10, 3}, {2, 0, 4}}; !slices.Equal(catalog.Foods(), want) {
		t.Errorf("foods %v, want %v", catalog.Foods(), want)
	}
	if catalog.Users() != 3 {
		t.Errorf("%d users, want 3", catalog.Users())
	}
	for _, user := range []User{{1, "root", "geheim", 0}, {2, "ann", "a", 0}, {30, "李雷", "密码", 0}} {
		if id, _, ok := catalog.Authenticate([]byte(user.Name), []byte(user.Password)); !ok || id != user.ID {
			t.Errorf("%s: user %d, %v, want %d", user.Name, id, ok, user.ID)
		}
	}
}

// The column of documents may be missing, and NULL and "" are none.
func testMySQLDocuments(t *testing.T, server *launch.MariaDB) {
	catalog := mustLoad(t, Config{DB: makeDatabase(t, server, "documents", createTables+goodRows+
		"ALTER TABLE user ADD COLUMN document CHAR(11) NULL;"+
		"UPDATE user SET document = '0009,000001' WHERE id = 2; UPDATE user SET document = '' WHERE id = 30;")})
	for name, want := range map[string]Document{"ann": 9_000_002, "root": 0, "李雷": 0} {
		password := map[string]string{"ann": "a", "root": "r", "李雷": "密码"}[name]
		if _, got, ok := catalog.Authenticate([]byte(name), []byte(password)); got != want || !ok {
			t.Errorf("%s has document %d, %v, want %d", name, got, ok, want)
		}
	}
}

// What is wrong in a row of any source is proved with CSV files.
// The optional columns of foods may be there, with NULL for none; columns of others are not read.
func testMySQLGoods(t *testing.T, server *launch.MariaDB) {
	c := mustLoad(t, Config{DB: makeDatabase(t, server, "goods", createTables+goodRows+
		"ALTER TABLE food ADD COLUMN `name.zh` TEXT CHARACTER SET utf8mb4, ADD COLUMN image TEXT, "+
		"ADD COLUMN currency CHAR(3), ADD COLUMN colour TEXT, MODIFY price DECIMAL(10,4);"+
		"UPDATE food SET price = 9.5, `name.zh` = '面', currency = 'CNY', colour = 'red' WHERE id = 1;"+
		"UPDATE food SET image = 'a.png', currency = 'CNY' WHERE id = 2;")})
	want := []Goods{{Name: Text{"面", map[string]string{"zh": "面"}}}, {Picture: "a.png"}}
	if !reflect.DeepEqual(c.Goods(), want) || c.Currency() != "CNY" || c.Foods()[0].Price != 950 {
		t.Errorf("%s %+v, price %d; want %+v for 950", c.Currency(), c.Goods(), c.Foods()[0].Price, want)
	}
}

func testMySQLRefusals(t *testing.T, server *launch.MariaDB) {
	tests := []struct{ name, rows, want string }{
		{"null_name", "INSERT INTO user VALUES (3, NULL, 'x')",
			"table user, row 3: name is NULL; give it a value"},
		{"null_stock", "UPDATE food SET stock = NULL WHERE id = 1",
			"table food, row 1: stock is NULL; give it a value"},
		{"null_price", "UPDATE food SET price = NULL WHERE id = 2",
			"table food, row 2: price is NULL; give it a value"},
		{"name_twice", "INSERT INTO user VALUES (7, 'ann', 'x')",
			`table user, row 3: name "ann" is also at MySQL DB, table user, row 2; give each user a name of its own`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := makeDatabase(t, server, test.name, createTables+goodRows+test.rows)
			_, err := Load(t.Context(), Config{DB: db})
			want := "MySQL DB, " + test.want
			wantError(t, err, strings.ReplaceAll(want, "MySQL DB", db.String()))
		})
	}
}

func testMySQLFaults(t *testing.T, server *launch.MariaDB) {
	good := makeDatabase(t, server, "faults", createTables+goodRows)
	wrongPassword, wrongName := good, good
	wrongPassword.Password = "guess"
	wrongName.Name = "nowhere"
	empty := makeDatabase(t, server, "empty", "SELECT 1")
	noColumn := makeDatabase(t, server, "no_column", createTables+goodRows+"ALTER TABLE food DROP COLUMN price")
	unreachable := good
	closed, err := strconv.Atoi(launch.ClosedPort(t))
	testkit.Must(t, err)
	unreachable.Port = closed
	address := good.address()
	tests := []struct {
		name string
		db   Database
		want string // up to the server's own words, which differ between versions
		end  string // behind them
	}{
		{"wrong password", wrongPassword, "cannot reach MySQL at " + address + " as root: Error 1045 (28000): ",
			" (check DB_USER and DB_PASS)"},
		{"wrong database", wrongName, "cannot reach MySQL at " + address + " as root: Error 1049 (42000): ",
			" (check DB_NAME)"},
		{"no tables", empty, "cannot read table food of MySQL empty@" + address + ": Error 1146 (42S02): ", ""},
		{"no column", noColumn, "cannot read table food of MySQL no_column@" + address + ": Error 1054 (42S22): ",
			""},
		{"unreachable", unreachable, fmt.Sprintf("cannot reach MySQL at %[1]s as root: "+
			"dial tcp %[1]s: connect: connection refused", unreachable.address()), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(t.Context(), Config{DB: test.db})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || !strings.HasSuffix(err.Error(), test.end) {
				t.Errorf("error %v\n want %s...%s", err, test.want, test.end)
			}
			if err != nil && strings.Contains(err.Error(), "guess") {
				t.Errorf("error %v shows the password", err)
			}
		})
	}
}

func testMySQLCancel(t *testing.T, server *launch.MariaDB) {
	db := makeDatabase(t, server, "cancel", createTables+goodRows+
		"INSERT INTO user SELECT seq, CONCAT('user', seq), 'p' FROM seq_100_to_20000")
	ctx, cancel := context.WithCancel(t.Context())
	visits := 0
	_, err := Read(ctx, Config{DB: db}, func(User) error {
		visits++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after %d users, want %v", err, visits, context.Canceled)
	}
}

// A server that accepts and says nothing must not hold up the start.
func TestMySQLSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer listener.Close()
	db := Database{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, Name: "eleme", User: "root",
		Password: "toor"}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Load(ctx, Config{DB: db})
	wantError(t, err, "cannot reach MySQL at "+db.address()+" as root: context deadline exceeded")
}

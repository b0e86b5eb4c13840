package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	connectTimeout = 5 * time.Second  // from dialling to the end of the handshake; the DSN may name another
	stallTimeout   = 10 * time.Second // for a single read or write, likewise
	connectionsMax = 2                // one writes; the other is for the audit
)

// schema is what lies in the database.
type schema struct {
	effect string // of a database that is away at the start
	tables []string
	probes []string // they fail where a table is missing or has other columns
}

// orderSchema are the tables of orders. placed_at is UTC. The id of an order is made of letters, digits and
// one "-".
var orderSchema = schema{
	effect: "the sale goes on without its database; orders wait in Redis",
	tables: []string{`CREATE TABLE IF NOT EXISTS orders (
		id VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
		user_id BIGINT UNSIGNED NOT NULL,
		total BIGINT NOT NULL,
		placed_at DATETIME(3) NOT NULL,
		PRIMARY KEY (id)
	) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`, `CREATE TABLE IF NOT EXISTS order_items (
		order_id VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
		food_id BIGINT NOT NULL,
		count BIGINT NOT NULL,
		PRIMARY KEY (order_id, food_id)
	) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`},
	probes: []string{
		"SELECT id, user_id, total, placed_at FROM orders LIMIT 0",
		"SELECT order_id, food_id, `count` FROM order_items LIMIT 0",
	},
}

const (
	insertOrders = "INSERT INTO orders (id, user_id, total, placed_at) VALUES "
	keepOrders   = " ON DUPLICATE KEY UPDATE id = orders.id"
	insertItems  = "INSERT INTO order_items (order_id, food_id, `count`) VALUES "
	keepItems    = " ON DUPLICATE KEY UPDATE order_id = order_items.order_id"
)

const errNoTable = 1146

// Error numbers of a server for which waiting does not help.
var misconfigured = []uint16{
	1044, // no access to the database
	1049, // no such database
	1054, // a table has other columns
	1142, // no right to use the table
	1143, // no right to use a column
}

// The same for a wrong user or password; 1698 is by a plugin.
var loginRefused = []uint16{1045, 1698}

// ErrMisconfigured marks an error that lasts until the DSN or the database is changed.
var ErrMisconfigured = errors.New("fix -ledger (LEDGER) or the database")

// errLogin is the ErrMisconfigured of a wrong user or password.
var errLogin = fmt.Errorf("wrong user or password: %w", ErrMisconfigured)

// Database is the database with the tables orders and order_items.
type Database struct {
	name     string
	db       *sql.DB
	schema   schema
	prepared atomic.Bool
}

// dsnForm is the form of a data source name.
const dsnForm = "user:password@tcp(host:3306)/name"

// NewDatabase reads a data source name, "user:password@tcp(host:3306)/name". It does not connect. The error
// does not show the name, which has the password in it.
func NewDatabase(dsn string) (*Database, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("cannot read -ledger (LEDGER): %w (it must be %s)", err, dsnForm)
	}
	if cfg.DBName == "" {
		return nil, fmt.Errorf("cannot use -ledger (LEDGER): it names no database (it must be %s)", dsnForm)
	}
	for _, limit := range []struct {
		of *time.Duration
		to time.Duration
	}{{&cfg.Timeout, connectTimeout}, {&cfg.ReadTimeout, stallTimeout}, {&cfg.WriteTimeout, stallTimeout}} {
		if *limit.of == 0 {
			*limit.of = limit.to
		}
	}
	cfg.Loc = time.UTC
	cfg.ParseTime = true            // into time.Time
	cfg.InterpolateParams = true    // one round trip instead of three
	cfg.Logger = &mysql.NopLogger{} // faults are returned; the driver would write them to stderr as well
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot use -ledger (LEDGER): %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connectionsMax)
	return &Database{name: "MySQL " + cfg.DBName + "@" + cfg.Addr, db: db, schema: orderSchema}, nil
}

// Open returns the database with its tables, nil where dsn is ""; held, where orders are held until they are
// paid. A database that cannot take orders
// until something is changed is refused with ErrMisconfigured. One that is away now is only logged: the
// sale can go on without it.
func Open(ctx context.Context, dsn string, held bool) (*Database, error) {
	if dsn == "" {
		return nil, nil
	}
	d, err := NewDatabase(dsn)
	if err != nil {
		return nil, err
	}
	if held {
		d.holding()
	}
	return d, d.open(ctx)
}

// open prepares the database and closes one that is misconfigured.
func (d *Database) open(ctx context.Context) error {
	switch err := d.Prepare(ctx); {
	case errors.Is(err, ErrMisconfigured):
		return errors.Join(err, d.Close())
	case err != nil:
		slog.Warn(d.schema.effect, "error", err)
	}
	return nil
}

// String names the database without its password.
func (d *Database) String() string { return d.name }

// Close ends its connections, where there are any.
func (d *Database) Close() error {
	if d == nil {
		return nil
	}
	return d.db.Close()
}

// Prepare makes the tables where they are missing. Errors: ErrMisconfigured, or why the database cannot
// be asked.
func (d *Database) Prepare(ctx context.Context) error {
	if d.prepared.Load() {
		return nil
	}
	err := d.probe(ctx)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && refused.Number == errNoTable {
		for _, statement := range d.schema.tables {
			if _, err = d.db.ExecContext(ctx, statement); err != nil {
				break
			}
		}
	}
	switch {
	case errors.As(err, &refused) && slices.Contains(loginRefused, refused.Number):
		return fmt.Errorf("cannot keep the ledger in %v: %w: %w", d, err, errLogin)
	case errors.As(err, &refused) && slices.Contains(misconfigured, refused.Number):
		return fmt.Errorf("cannot keep the ledger in %v: %w: %w", d, err, ErrMisconfigured)
	case err != nil:
		return fmt.Errorf("cannot keep the ledger in %v: %w", d, err)
	}
	d.prepared.Store(true)
	var flush int
	err = d.db.QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit").Scan(&flush)
	if err == nil && flush != 1 {
		slog.Warn("the database commits before it writes to disk: its crash may lose orders; "+
			"set innodb_flush_log_at_trx_commit=1",
			"database", d, "innodb_flush_log_at_trx_commit", flush)
	}
	return nil
}

// probe checks that the tables have the columns. A user who may not make tables can use existing ones.
func (d *Database) probe(ctx context.Context) error {
	for _, query := range d.schema.probes {
		rows, err := d.db.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

// write puts entries into the tables in one transaction. An entry that is there already stays as it is,
// unless it is a held order that has changed since. After an error the outcome is unknown: write the
// entries again.
func (d *Database) write(ctx context.Context, entries []entry) error {
	if len(entries) == 0 {
		return nil
	}
	if entries[0].hold.State != "" {
		return d.writeStates(ctx, entries)
	}
	var orders, items []any
	for _, e := range entries {
		orders = append(orders, e.id, e.user, e.total, e.placed)
		for _, item := range e.items {
			items = append(items, e.id, item.Food, item.Count)
		}
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err == nil {
		_, err = tx.ExecContext(ctx, insertOrders+rowsOf(len(entries), 4)+keepOrders, orders...)
		if err == nil {
			_, err = tx.ExecContext(ctx, insertItems+rowsOf(len(items)/3, 3)+keepItems, items...)
		}
		if err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback() // it ends with the connection if not by this
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write %d orders to %v: %w", len(entries), d, err)
	}
	return nil
}

// rowsOf makes "(?,?),(?,?)" for a number of rows and columns.
func rowsOf(rows, columns int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(row+",", rows), ",")
}

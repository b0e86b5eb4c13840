package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	connectTimeout = 5 * time.Second  // from dialling to the end of the handshake
	stallTimeout   = 30 * time.Second // no single read from the database may take longer
)

// Database is a MySQL or MariaDB database with the tables user(id, name, password) and food(id, stock,
// price).
type Database struct {
	Host                 string
	Port                 int
	Name, User, Password string
}

// String names the database without its password.
func (d Database) String() string { return "MySQL " + d.Name + "@" + d.address() }

func (d Database) address() string { return net.JoinHostPort(d.Host, strconv.Itoa(d.Port)) }

// open returns the database once it has answered.
func (d Database) open(ctx context.Context) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", d.address()
	cfg.DBName, cfg.User, cfg.Passwd = d.Name, d.User, d.Password
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = connectTimeout, stallTimeout, stallTimeout
	cfg.Logger = &mysql.NopLogger{} // errors are returned; the driver would write them to stderr too
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot use %v: %w", d, err)
	}
	db := sql.OpenDB(connector)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("cannot reach MySQL at %s as %s: %w%s", d.address(), d.User, err, advice(err))
	}
	return db, nil
}

// advice names the settings to check if the server has refused them.
func advice(err error) string {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		switch refused.Number {
		case 1045, 1698: // 1698 is by a plugin
			return " (check DB_USER and DB_PASS)"
		case 1044, 1049:
			return " (check DB_NAME)"
		}
	}
	return ""
}

func (d Database) name(t table) string { return d.String() + ", table " + t.name }

func (d Database) rows(ctx context.Context, t table, visit rowVisitor) error {
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	optional, err := d.optional(ctx, db, t)
	if err != nil {
		return fmt.Errorf("cannot read table %s of %v: %w", t.name, d, err)
	}
	r := t.row(d.name(t)+", row ", optional...)
	query := fmt.Sprintf("SELECT `%s` FROM `%s` ORDER BY `id`", strings.Join(r.columns, "`, `"), t.name)
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("cannot read table %s of %v: %w", t.name, d, err)
	}
	defer rows.Close()
	if err := visitRows(rows, r, len(t.columns), visit); err != nil {
		return err
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("cannot read table %s of %v: %w", t.name, d, err)
	}
	return nil
}

// optional returns the optional columns that the table has. A table may also have columns of others, which
// are not read.
func (d Database) optional(ctx context.Context, db *sql.DB, t table) (columns []string, err error) {
	const query = "SELECT column_name FROM information_schema.columns " +
		"WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position"
	rows, err := db.QueryContext(ctx, query, d.Name, t.name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			return nil, err
		}
		if t.optional.MatchString(column) {
			columns = append(columns, column)
		}
	}
	if len(columns) > columnsMax {
		return nil, fmt.Errorf("it has %d optional columns; at most %d are read", len(columns), columnsMax)
	}
	return columns, rows.Err()
}

// visitRows visits rows. Columns behind the needed ones may be NULL, which is the same as "".
func visitRows(rows *sql.Rows, r *row, needed int, visit rowVisitor) error {
	raw := make([]sql.RawBytes, len(r.columns)) // nil where the row has NULL
	targets := make([]any, len(raw))
	for i := range raw {
		targets[i] = &raw[i]
	}
	for rows.Next() {
		r.row++
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("cannot read %v: %w", r, err)
		}
		for i := range raw {
			if raw[i] == nil && i < needed {
				return fmt.Errorf("%v: %s is NULL; give it a value", r, r.columns[i])
			}
			r.fields[i] = string(raw[i])
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
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
	columns := t.columns
	there, err := d.has(ctx, db, t)
	if there {
		columns = append(slices.Clip(columns), t.optional)
	}
	if err != nil {
		return fmt.Errorf("cannot read table %s of %v: %w", t.name, d, err)
	}
	query := fmt.Sprintf("SELECT `%s` FROM `%s` ORDER BY `id`", strings.Join(columns, "`, `"), t.name)
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("cannot read table %s of %v: %w", t.name, d, err)
	}
	defer rows.Close()
	at := place{table: d.name(t) + ", row "}
	if err := visitRows(rows, at, t, len(columns), visit); err != nil {
		return err
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("cannot read table %s of %v: %w", t.name, d, err)
	}
	return nil
}

// has reports whether the table has its optional column.
func (d Database) has(ctx context.Context, db *sql.DB, t table) (there bool, err error) {
	const query = "SELECT COUNT(*) > 0 FROM information_schema.columns " +
		"WHERE table_schema = ? AND table_name = ? AND column_name = ?"
	if t.optional == "" {
		return false, nil
	}
	err = db.QueryRowContext(ctx, query, d.Name, t.name, t.optional).Scan(&there)
	return there, err
}

// visitRows visits rows of a number of columns. The optional one may be NULL, which is the same as "".
func visitRows(rows *sql.Rows, at place, t table, columns int, visit rowVisitor) error {
	raw := make([]sql.RawBytes, columns) // nil where the row has NULL
	fields := t.fields()
	targets := make([]any, columns)
	for i := range raw {
		targets[i] = &raw[i]
	}
	for rows.Next() {
		at.row++
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("cannot read %v: %w", at, err)
		}
		for i := range raw {
			if raw[i] == nil && t.column(i) != t.optional {
				return fmt.Errorf("%v: %s is NULL; give it a value", at, t.column(i))
			}
			fields[i] = string(raw[i])
		}
		if err := visit(at, fields); err != nil {
			return err
		}
	}
	return nil
}

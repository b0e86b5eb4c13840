package main

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

	"flashsale/internal/catalog"
)

const (
	rowsPerInsert  = 1000
	bytesPerInsert = 256 << 10 // such a statement is far below the server's packet limit
	connectTimeout = 5 * time.Second
	stallTimeout   = 60 * time.Second // for one statement
)

// The columns are as wide as the catalogue reads them; names are compared byte by byte, as the server does.
// What buyers see of a food is in further columns, if the catalogue has any of it.
const (
	createUser = "CREATE TABLE `user` (" +
		"`id` INT UNSIGNED NOT NULL PRIMARY KEY, " +
		"`name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE, " +
		"`password` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL)"
	createFood = "CREATE TABLE `food` (" +
		"`id` INT UNSIGNED NOT NULL PRIMARY KEY, " +
		"`stock` BIGINT NOT NULL, " +
		"`price` %s NOT NULL%s)"
	wholePrice   = "BIGINT"
	decimalPrice = "DECIMAL(20,4)" // in a currency
	textColumn   = ", `%s` TEXT CHARACTER SET utf8mb4"
)

const (
	foodColumns = 3 // id, stock, price
	userColumns = 3
)

// fill creates the database and the two tables and inserts the catalogue in one transaction.
func fill(ctx context.Context, s settings) error {
	if err := createDatabase(ctx, s.db); err != nil {
		return err
	}
	db, err := open(s.db, s.db.Name)
	if err != nil {
		return err
	}
	defer db.Close()
	columns, err := foodColumnsOf(ctx, s.catalog)
	if err != nil {
		return err
	}
	if err := createTables(ctx, db, columns, s.replace); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("cannot begin transaction: %w", err)
	}
	defer tx.Rollback() // does nothing after Commit
	if err := insertCatalog(ctx, tx, columns, s.catalog); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("cannot commit tables: %w", err)
	}
	return nil
}

func open(d catalog.Database, name string) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
	cfg.DBName, cfg.User, cfg.Passwd = name, d.User, d.Password
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = connectTimeout, stallTimeout, stallTimeout
	cfg.InterpolateParams = true // one round trip for each batch instead of three
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot use %v: %w", d, err)
	}
	return sql.OpenDB(connector), nil
}

func createDatabase(ctx context.Context, d catalog.Database) error {
	server, err := open(d, "")
	if err != nil {
		return err
	}
	defer server.Close()
	statement := "CREATE DATABASE IF NOT EXISTS `" + strings.ReplaceAll(d.Name, "`", "``") + "`"
	if _, err := server.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("cannot create %v as %s: %w", d, d.User, err)
	}
	return nil
}

// foodColumnsOf returns the names of the columns of foods. The pictures of the built-in foods are drawn for
// these alone: their column is left out.
func foodColumnsOf(ctx context.Context, cfg catalog.Config) (columns []string, err error) {
	found := errors.New("found")
	err = catalog.FoodRows(ctx, cfg, func(names, _ []string) error {
		columns = slices.Clone(names)
		return found
	})
	if err != nil && !errors.Is(err, found) {
		return nil, err
	}
	if cfg.BuiltIn() {
		columns = slices.DeleteFunc(columns, func(name string) bool { return name == "image" })
	}
	return columns, nil
}

// createTables makes both tables, or no table if one exists and may not be replaced.
func createTables(ctx context.Context, db *sql.DB, columns []string, replace bool) error {
	price, texts := wholePrice, ""
	for _, name := range columns[foodColumns:] {
		texts += fmt.Sprintf(textColumn, name)
		if name == "currency" {
			price = decimalPrice
		}
	}
	food := fmt.Sprintf(createFood, price, texts)
	var existing int
	row := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables "+
		"WHERE table_schema = DATABASE() AND table_name IN ('user', 'food')")
	if err := row.Scan(&existing); err != nil {
		return fmt.Errorf("cannot look for tables: %w", err)
	}
	if existing > 0 && !replace {
		return errors.New("table user or food exists already; " +
			"pass -replace-tables to drop both and fill them anew")
	}
	for _, statement := range []string{"DROP TABLE IF EXISTS `user`, `food`", createUser, food} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("cannot create tables: %w", err)
		}
	}
	return nil
}

func insertCatalog(ctx context.Context, tx *sql.Tx, columns []string, cfg catalog.Config) error {
	users := batch{tx: tx, into: "INSERT INTO `user` (`id`, `name`, `password`) VALUES ", columns: userColumns}
	_, err := catalog.Read(ctx, cfg, func(u catalog.User) error {
		return users.add(ctx, u.ID, u.Name, u.Password)
	})
	if err == nil {
		err = users.flush(ctx)
	}
	if err != nil {
		return err
	}
	foods := batch{tx: tx, into: "INSERT INTO `food` (`" + strings.Join(columns, "`, `") + "`) VALUES ",
		columns: len(columns)}
	err = catalog.FoodRows(ctx, cfg, func(names, fields []string) error {
		values := make([]any, 0, len(columns))
		for i, name := range names {
			if !slices.Contains(columns, name) {
				continue
			}
			if fields[i] == "" {
				values = append(values, nil)
			} else {
				values = append(values, fields[i])
			}
		}
		return foods.add(ctx, values...)
	})
	if err != nil {
		return err
	}
	return foods.flush(ctx)
}

// batch collects rows for one INSERT.
type batch struct {
	tx      *sql.Tx
	into    string
	columns int
	values  []any
	bytes   int // of the texts in values
}

func (b *batch) add(ctx context.Context, row ...any) error {
	for _, value := range row {
		if text, ok := value.(string); ok {
			b.bytes += len(text)
		}
	}
	b.values = append(b.values, row...)
	if len(b.values) < b.columns*rowsPerInsert && b.bytes < bytesPerInsert {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) flush(ctx context.Context) error {
	if len(b.values) == 0 {
		return nil
	}
	row := "(?" + strings.Repeat(", ?", b.columns-1) + "), "
	statement := b.into + strings.TrimSuffix(strings.Repeat(row, len(b.values)/b.columns), ", ")
	if _, err := b.tx.ExecContext(ctx, statement, b.values...); err != nil {
		return fmt.Errorf("cannot insert rows: %w", err)
	}
	b.values, b.bytes = b.values[:0], 0
	return nil
}

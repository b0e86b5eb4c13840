package main

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

	"flashsale/internal/catalog"
)

const (
	rowsPerInsert  = 1000 // such a statement is far below the server's packet limit
	connectTimeout = 5 * time.Second
	stallTimeout   = 60 * time.Second // for one statement
)

// The columns are as wide as the catalogue reads them; names are compared byte by byte, as the server does.
const (
	createUser = "CREATE TABLE `user` (" +
		"`id` INT UNSIGNED NOT NULL PRIMARY KEY, " +
		"`name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE, " +
		"`password` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL)"
	createFood = "CREATE TABLE `food` (" +
		"`id` INT UNSIGNED NOT NULL PRIMARY KEY, " +
		"`stock` BIGINT NOT NULL, " +
		"`price` BIGINT NOT NULL)"
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
	if err := createTables(ctx, db, s.replace); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("cannot begin transaction: %w", err)
	}
	defer tx.Rollback() // does nothing after Commit
	if err := insertCatalog(ctx, tx, s.catalog); err != nil {
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

// createTables makes both tables, or no table if one exists and may not be replaced.
func createTables(ctx context.Context, db *sql.DB, replace bool) error {
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
	for _, statement := range []string{"DROP TABLE IF EXISTS `user`, `food`", createUser, createFood} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("cannot create tables: %w", err)
		}
	}
	return nil
}

func insertCatalog(ctx context.Context, tx *sql.Tx, cfg catalog.Config) error {
	users := batch{tx: tx, into: "INSERT INTO `user` (`id`, `name`, `password`) VALUES "}
	foods, err := catalog.Read(ctx, cfg, func(u catalog.User) error {
		return users.add(ctx, u.ID, u.Name, u.Password)
	})
	if err != nil {
		return err
	}
	if err := users.flush(ctx); err != nil {
		return err
	}
	table := batch{tx: tx, into: "INSERT INTO `food` (`id`, `stock`, `price`) VALUES "}
	for _, food := range foods {
		if err := table.add(ctx, food.ID, food.Stock, food.Price); err != nil {
			return err
		}
	}
	return table.flush(ctx)
}

// batch collects rows of three values for one INSERT.
type batch struct {
	tx     *sql.Tx
	into   string
	values []any
}

func (b *batch) add(ctx context.Context, first, second, third any) error {
	b.values = append(b.values, first, second, third)
	if len(b.values) < 3*rowsPerInsert {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) flush(ctx context.Context) error {
	if len(b.values) == 0 {
		return nil
	}
	statement := b.into + strings.TrimSuffix(strings.Repeat("(?, ?, ?), ", len(b.values)/3), ", ")
	if _, err := b.tx.ExecContext(ctx, statement, b.values...); err != nil {
		return fmt.Errorf("cannot insert rows: %w", err)
	}
	b.values = b.values[:0]
	return nil
}

package operators

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	connectTimeout = 5 * time.Second  // the data source name may have another one
	stallTimeout   = 10 * time.Second // for a single read, likewise
)

var selectAll = fmt.Sprintf("SELECT `%s` FROM `%s` ORDER BY `number` LIMIT %d",
	strings.Join(columns, "`, `"), table, NumberMax+1)

// describeDatabase names a database without its password.
func describeDatabase(dsn string) string {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "MySQL"
	}
	return "MySQL " + cfg.DBName + "@" + cfg.Addr + ", table " + table
}

// readDatabase reads the table of operators. Columns that may be empty may be NULL. An error does not show
// the data source name, which has the password in it.
func readDatabase(ctx context.Context, dsn string) (list []Operator, err error) {
	name := describeDatabase(dsn)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("cannot read -operators (OPERATORS): %w", err)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = connectTimeout
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = stallTimeout
	}
	cfg.Logger = &mysql.NopLogger{} // errors are returned; the driver would write them to stderr too
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", name, err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	rows, err := db.QueryContext(ctx, selectAll)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	defer rows.Close()
	for row := 1; rows.Next(); row++ {
		var fields [6]sql.NullString
		err := rows.Scan(&fields[0], &fields[1], &fields[2], &fields[3], &fields[4], &fields[5])
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		texts := make([]string, len(columns))
		for i, field := range fields {
			texts[i] = field.String
		}
		o, err := parse(texts)
		if err == nil {
			list, err = add(list, o)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", name, row, err)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return list, nil
}

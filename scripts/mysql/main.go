// Command mysql fills a MySQL or MariaDB database with the contest's two tables, user and food. What buyers
// see of the foods is in further columns, as the server reads them. The catalogue is chosen as for the
// server: the built-in one by -users, -foods and -stock, or CSV files by -catalog-dir.
//
//	go run ./scripts/mysql -root-password secret
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mysql:", err)
		os.Exit(1)
	}
}

type settings struct {
	db      catalog.Database
	catalog catalog.Config // its source; not the database
	replace bool
}

// run reads the flags, fills the tables and writes a line about them to out.
func run(ctx context.Context, arguments []string, out io.Writer) error {
	s, err := readSettings(arguments, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	made := s.catalog.RootPassword == "" && s.catalog.BuiltIn()
	if made {
		s.catalog.RootPassword = rand.Text()
	}
	if err := fill(ctx, s); err != nil {
		return err
	}
	fmt.Fprintf(out, "%v now holds the catalogue %s.\n", s.db, s.catalog.Source())
	if made {
		fmt.Fprintf(out, "The password of user root is %s\n", s.catalog.RootPassword)
	}
	return nil
}

const defaultHost = "localhost"

const usage = `mysql fills the tables user and food of a MySQL or MariaDB database, which
is made if it is missing. -db-host is ` + defaultHost + ` by default.
A flag wins over its environment name, which stands in brackets.
`

func readSettings(arguments []string, out io.Writer) (s settings, err error) {
	flags := config.NewFlags("mysql")
	flags.Group("Catalogue and database")
	flags.Catalog(&s.catalog)
	flags.Group("Tables")
	flags.Switch(&s.replace, "replace-tables", "drop the tables user and food first if they exist")
	err = flags.Parse(arguments, out, usage)
	s.db, s.catalog.DB = s.catalog.DB, catalog.Database{}
	if s.db.Host == "" {
		s.db.Host = defaultHost
	}
	return s, err
}

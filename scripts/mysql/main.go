// Command mysql fills a MySQL or MariaDB database with the contest's two tables, user and food, holding the built-in
// catalogue: what a server generates for itself, its -users, -foods and -stock being the same.
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
	"strconv"

	"flashsale/internal/catalog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mysql:", err)
		os.Exit(1)
	}
}

type settings struct {
	db      catalog.Database
	catalog catalog.Config // built in
	replace bool
}

// run reads the flags, fills the tables and reports on out what they hold.
func run(ctx context.Context, arguments []string, getenv func(string) string, out io.Writer) error {
	s, err := readSettings(arguments, getenv, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	made := s.catalog.RootPassword == ""
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

func readSettings(arguments []string, getenv func(string) string, out io.Writer) (settings, error) {
	env := func(name, otherwise string) string {
		if value := getenv(name); value != "" {
			return value
		}
		return otherwise
	}
	port, err := strconv.Atoi(env("DB_PORT", "3306"))
	if err != nil {
		return settings{}, fmt.Errorf("DB_PORT is %q; set it to a port number", getenv("DB_PORT"))
	}
	var s settings
	flags := flag.NewFlagSet("mysql", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a bad flag is reported once, by the caller
	flags.StringVar(&s.db.Host, "host", env("DB_HOST", "localhost"), "`host` of the database (DB_HOST)")
	flags.IntVar(&s.db.Port, "port", port, "`port` of the database (DB_PORT)")
	flags.StringVar(&s.db.Name, "name", env("DB_NAME", "eleme"), "`name` of the database, created if missing (DB_NAME)")
	flags.StringVar(&s.db.User, "user", env("DB_USER", "root"), "database `user` (DB_USER)")
	password := flags.String("password", "", "database `password` (DB_PASS; toor if neither is set)")
	flags.IntVar(&s.catalog.Users, "users", 10000, "`count` of users")
	flags.IntVar(&s.catalog.Foods, "foods", 100, "`count` of foods")
	flags.IntVar(&s.catalog.Stock, "stock", 1000, "`pieces` of each food")
	rootPassword := flags.String("root-password", "", "`password` of the sale's user root (ROOT_PASSWORD; made at random if neither is set)")
	flags.BoolVar(&s.replace, "replace", false, "drop the tables user and food first if they exist")
	err = flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		flags.Usage()
	}
	if err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q; every setting is a flag", flags.Arg(0))
	}
	// Passwords are not flag defaults because -h prints those.
	s.db.Password, s.catalog.RootPassword = *password, *rootPassword
	if s.db.Password == "" {
		s.db.Password = env("DB_PASS", "toor")
	}
	if s.catalog.RootPassword == "" {
		s.catalog.RootPassword = getenv("ROOT_PASSWORD")
	}
	return s, nil
}

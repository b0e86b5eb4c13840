package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/launch"
)

// environment is the whole environment of the settings, as far as the machine sets it.
func environment(t *testing.T, values map[string]string) {
	t.Helper()
	for _, name := range []string{"USERS", "FOODS", "STOCK", "ROOT_PASSWORD", "CATALOG_DIR", "DB_HOST",
		"DB_PORT", "DB_NAME",
		"DB_USER", "DB_PASS", "REPLACE_TABLES"} {
		t.Setenv(name, values[name])
	}
}

// load reads the tables back and fails t unless they hold what cfg generates.
func load(t *testing.T, db catalog.Database, cfg catalog.Config) {
	t.Helper()
	want, err := catalog.Load(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got, err := catalog.Load(t.Context(), catalog.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	if got.Fingerprint() != want.Fingerprint() || got.Users() != want.Users() {
		t.Errorf("tables hold foods %s and %d users, want %s and %d",
			got.Fingerprint(), got.Users(), want.Fingerprint(), want.Users())
	}
	_, err = catalog.Read(t.Context(), cfg, func(u catalog.User) error {
		if id, _, ok := got.Authenticate([]byte(u.Name), []byte(u.Password)); !ok || id != u.ID {
			t.Errorf("user %d %s: tables authenticate %d, %v", u.ID, u.Name, id, ok)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTablesHoldTheBuiltInCatalogue(t *testing.T) {
	server := launch.StartMariaDB(t)
	db := catalog.Database{Host: server.Host, Port: server.Port, Name: "ele`me", User: server.User,
		Password: server.Password}
	environment(t, map[string]string{
		"DB_HOST": db.Host, "DB_PORT": strconv.Itoa(db.Port), "DB_NAME": db.Name,
		"DB_USER": db.User, "DB_PASS": db.Password,
	})

	var out strings.Builder
	err := run(t.Context(), []string{"-users", "2500", "-root-password", "geheim"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	want := db.String() + " now holds the catalogue built in (2500 users, 100 foods).\n"
	if out.String() != want {
		t.Errorf("run prints %q, want %q", out.String(), want)
	}
	load(t, db, catalog.Config{Users: 2500, Foods: 100, Stock: 1000, RootPassword: "geheim"})

	err = run(t.Context(), []string{"-users", "3"}, &out)
	refusal := "table user or food exists already; pass -replace-tables to drop both and fill them anew"
	if err == nil || err.Error() != refusal {
		t.Errorf("second run: %v, want %s", err, refusal)
	}
	load(t, db, catalog.Config{Users: 2500, Foods: 100, Stock: 1000, RootPassword: "geheim"})

	out.Reset()
	err = run(t.Context(), []string{"-users", "3", "-foods", "2", "-stock", "7", "-replace-tables"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	_, made, found := strings.Cut(out.String(), "The password of user root is ")
	if !found {
		t.Fatalf("run prints %q, want the password it made", out.String())
	}
	load(t, db, catalog.Config{Users: 3, Foods: 2, Stock: 7, RootPassword: strings.TrimSpace(made)})

	dir := t.TempDir()
	for name, text := range map[string]string{
		"users.csv": "id,name,password\n1,root,r\n7,ann,a\n", "foods.csv": "id,stock,price\n1,5,9\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out.Reset()
	if err := run(t.Context(), []string{"-catalog-dir", dir, "-replace-tables"}, &out); err != nil {
		t.Fatal(err)
	}
	if want := db.String() + " now holds the catalogue CSV in " + dir + ".\n"; out.String() != want {
		t.Errorf("run prints %q, want %q", out.String(), want)
	}
	load(t, db, catalog.Config{Dir: dir})
}

func TestSettings(t *testing.T) {
	environment(t, nil)
	s, err := readSettings(nil, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	contest := catalog.Database{Host: "localhost", Port: 3306, Name: "eleme", User: "root", Password: "toor"}
	if s.db != contest {
		t.Errorf("without environment the database is %+v, want %+v", s.db, contest)
	}
	if size := (catalog.Config{Users: 10000, Foods: 100, Stock: 1000}); s.catalog != size {
		t.Errorf("without environment the catalogue is %+v, want %+v", s.catalog, size)
	}
}

func TestBadSettings(t *testing.T) {
	tests := []struct {
		name      string
		arguments []string
		port      string
		want      string
	}{
		{name: "port", port: "sql", want: `DB_PORT is "sql"; it must be a whole number`},
		{name: "argument", arguments: []string{"localhost"},
			want: `unexpected argument "localhost" (-h lists all flags)`},
		{name: "flag", arguments: []string{"-hots", "x"},
			want: "flag provided but not defined: -hots (-h lists all flags)"},
		{name: "range", arguments: []string{"-users", "0"}, want: "-users is 0; it must be from 1 to 10000000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			environment(t, map[string]string{"DB_PORT": test.port})
			_, err := readSettings(test.arguments, &strings.Builder{})
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestPasswordsAreNotPrinted(t *testing.T) {
	var out strings.Builder
	environment(t, map[string]string{"DB_PASS": "hidden1", "ROOT_PASSWORD": "hidden2"})
	if err := run(t.Context(), []string{"-h"}, &out); err != nil {
		t.Fatal(err)
	}
	if help := out.String(); !strings.Contains(help, "DB_PASS") || strings.Contains(help, "hidden") {
		t.Errorf("help must name DB_PASS and hide its value:\n%s", help)
	}
}

package main

import (
	"errors"
	"flag"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
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
	testkit.Must(t, err)
	got, err := catalog.Load(t.Context(), catalog.Config{DB: db})
	testkit.Must(t, err)
	goods := slices.Clone(want.Goods())
	for i := range goods {
		if cfg.BuiltIn() {
			goods[i].Picture = "" // drawn for the trial sale alone
		}
	}
	if !reflect.DeepEqual(got.Goods(), goods) || got.Currency() != want.Currency() {
		t.Errorf("tables hold the goods %+v in %q, want %+v in %q", got.Goods(), got.Currency(), goods,
			want.Currency())
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
	testkit.Must(t, err)
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
	fill := func(want string, args ...string) {
		t.Helper()
		out.Reset()
		testkit.Must(t, run(t.Context(), args, &out))
		want = db.String() + " now holds the catalogue " + want + ".\n"
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("run prints %q, want %q", out.String(), want)
		}
	}
	fill("built in (2500 users, 100 foods)", "-users", "2500", "-root-password", "geheim")
	load(t, db, catalog.Config{Users: 2500, Foods: 100, Stock: 1000, RootPassword: "geheim"})

	err := run(t.Context(), []string{"-users", "3"}, &out)
	refusal := "table user or food exists already; pass -replace-tables to drop both and fill them anew"
	if err == nil || err.Error() != refusal {
		t.Errorf("second run: %v, want %s", err, refusal)
	}
	load(t, db, catalog.Config{Users: 2500, Foods: 100, Stock: 1000, RootPassword: "geheim"})

	fill("built in (3 users, 2 foods)", "-users", "3", "-foods", "2", "-stock", "7", "-replace-tables")
	_, made, _ := strings.Cut(out.String(), "The password of user root is ")
	load(t, db, catalog.Config{Users: 3, Foods: 2, Stock: 7, RootPassword: strings.TrimSpace(made)})

	dir := t.TempDir()
	testkit.WriteFile(t, filepath.Join(dir, "users.csv"), "id,name,password\n1,root,r\n7,ann,a\n")
	testkit.WriteFile(t, filepath.Join(dir, "foods.csv"), "id,stock,price\n1,5,9\n")
	fill("CSV in "+dir, "-catalog-dir", dir, "-replace-tables")
	load(t, db, catalog.Config{Dir: dir})
	testkit.WriteFile(t, filepath.Join(dir, "foods.csv"), `id,price,stock,currency,name.en,name.zh,unit,image
1,12.50,5,CNY,Noodles,面条 🍜,bowl,/pictures/1.jpg
2,0.5,7,CNY,Rice,,,
`)
	fill("CSV in "+dir, "-catalog-dir", dir, "-replace-tables")
	load(t, db, catalog.Config{Dir: dir})
}

func TestSettings(t *testing.T) {
	environment(t, map[string]string{"DB_PASS": "hidden1"})
	var help strings.Builder
	s, err := readSettings([]string{"-h"}, &help)
	contest := catalog.Database{Host: "localhost", Port: 3306, Name: "eleme", User: "root", Password: "toor"}
	if size := (catalog.Config{Users: 10000, Foods: 100, Stock: 1000}); !errors.Is(err, flag.ErrHelp) ||
		s.db != contest || s.catalog != size {
		t.Errorf("database %+v, catalogue %+v, %v", s.db, s.catalog, err)
	}
	if text := help.String(); !strings.Contains(text, "DB_PASS") || strings.Contains(text, "hidden") {
		t.Errorf("help must name DB_PASS and hide its value:\n%s", text)
	}
}

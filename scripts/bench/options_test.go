package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// parsed reads a line of arguments as the subcommand that it means.
func parsed[T task](t *testing.T, args ...string) T {
	t.Helper()
	got, err := parse(args, io.Discard)
	testkit.Must(t, err)
	return got.(T)
}

func TestOptionsDefaults(t *testing.T) {
	got := parsed[*loadTask](t, "-root-password", "secret")
	wantLoad := load.Options{Servers: []string{"127.0.0.1:8080"}, Concurrency: 1000, Orders: 10_000,
		Timeout: 10 * time.Second, Seed: got.load.Seed}
	wantCatalog := catalog.Config{Users: 10000, Foods: 100, Stock: 1000, RootPassword: "secret",
		DB: catalog.Database{Port: 3306, Name: "eleme", User: "root", Password: "toor"}}
	if a := got.access; !reflect.DeepEqual(got.load, wantLoad) || !reflect.DeepEqual(a.Catalog, wantCatalog) ||
		a.TLS != nil || a.RootFrom != "ROOT_PASSWORD or -root-password" {
		t.Errorf("load %+v, access %+v", got.load, a)
	}
	// A seed that bench chose stands in the line that repeats the run.
	if want := fmt.Sprintf("bench -root-password=(set) -seed=%d", got.load.Seed); got.load.Seed == 0 ||
		got.proof != (proof{line: want}) {
		t.Errorf("proof %+v, want the line %q", got.proof, want)
	}
}

func TestOptionsFromEnvironment(t *testing.T) {
	t.Setenv("ADDR", "a:1,b:2")
	t.Setenv("DB_HOST", "db")
	t.Setenv("TOKEN_IN_QUERY", "true")
	t.Setenv("ORDERS", "5")
	got := parsed[*loadTask](t, "-orders", "6")
	if !slices.Equal(got.load.Servers, []string{"a:1", "b:2"}) || got.access.Catalog.DB.Host != "db" ||
		!got.load.Style.TokenInQuery || got.load.Orders != 6 {
		t.Errorf("options = %+v, access = %+v", got.load, got.access)
	}
}

func TestOptionsRootPasswordFile(t *testing.T) {
	folder := t.TempDir()
	if _, err := parse([]string{"-data", folder}, io.Discard); !errors.Is(err, sale.ErrUsage) ||
		!strings.Contains(err.Error(), "set ROOT_PASSWORD") {
		t.Errorf("without file: %v", err)
	}
	file := filepath.Join(folder, "root-password")
	testkit.Must(t, os.WriteFile(file, []byte("made up\n"), 0o600))
	access := parsed[*auditTask](t, "audit", "-data", folder).access
	if access.Catalog.RootPassword != "made up" || access.RootFrom != file {
		t.Errorf("password %q from %q", access.Catalog.RootPassword, access.RootFrom)
	}
}

func TestOptionsRefusals(t *testing.T) {
	t.Setenv("ROOT_PASSWORD", "x")
	for line, want := range map[string]string{
		"-addr=host":                      `-addr "host" is not host:port`,
		"-addr=a:1,:2":                    `-addr ":2" is not host:port`,
		"-addr=a:65536":                   `-addr "a:65536" is not host:port`,
		"-concurrency=0":                  "-concurrency 0 is not within 1 to 100000",
		"-rate=NaN":                       "-rate NaN is not within 0 to 1000000",
		"-orders=0":                       "-orders 0 is less than 1",
		"-duration=-1s":                   "-duration -1s is negative",
		"-timeout=11m":                    "-timeout 11m0s is not within 0 to 10m0s",
		"-validate=-1":                    "-validate -1 is negative",
		"-cancel=1.5":                     "-cancel 1.5 is not within 0 to 1",
		"-pay=.6 -late=.5":                "-pay 0.6 and -late 0.5 are more than all orders",
		"-pay=.6":                         "-pay and -late need -payment-secret, and it needs one of them",
		"-late=1 -payment-secret=whsec_?": "-payment-secret is not whsec_ and base64",
		"-tls-ca=/dev/null":               "-tls-ca /dev/null has no certificate in PEM",
		"-tls-ca=/none":                   "cannot read -tls-ca: open /none: no such file or directory",
		"compare -rounds=2":               "bench compare wants sides behind its name (bench compare -h)",
		"compare floor":                   `compare needs two sides or more, such as "floor | product"`,
		"compare floor|": `compare side "": it names no program; that is floor, product or ` +
			"the path of a server",
		"compare x|y fast": `"fast" is not a flag (bench compare -h lists all flags)`,
		"soak":             "bench soak wants time behind its name (bench soak -h)",
		"soak 2s":          `soak "2s" is no duration from 3s on, such as 10m`,
		"soak 10m":         "soak wants -rate; 70% of the orders/s of a load is a good one",
		"soak 1h -rate=1e5": "soak 1h0m0s at 100000 flows/s takes 360094869 users, at most 9999999; shorten " +
			"it or lower -rate",
		"soak 1m -orders=5": "error parsing commandline arguments: flag provided but not defined: -orders " +
			"(bench soak -h lists all flags)",
		"compare x|y -rounds=0":         "-rounds 0 is less than 1",
		"compare x|y -pay=2":            "-pay 2 is not within 0 to 1",
		"compare x|y -concurrency=many": `-concurrency "many" is not a number`,
		"compare x|y -concurrency=1,0":  "-concurrency 0 is not within 1 to 100000",
	} {
		_, err := parse(strings.Fields(line), io.Discard)
		if !errors.Is(err, sale.ErrUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestOptionsOfOpenLoop(t *testing.T) {
	t.Setenv("ROOT_PASSWORD", "x")
	for text, want := range map[string]int{
		"-rate=100 -duration=2500ms":            250,
		"-rate=100 -duration=2500ms -orders=77": 77,
		"-rate=100":                             10_000,
	} {
		if got := parsed[*loadTask](t, strings.Fields(text)...).load; got.Orders != want || got.Rate != 100 {
			t.Errorf("%s: %d orders at %v", text, got.Orders, got.Rate)
		}
	}
}

func TestOptionsHelpNamesEverySubcommand(t *testing.T) {
	var all strings.Builder
	if _, err := parse([]string{"-h"}, &all); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{
		"load":    {"addr", "rate", "db-pass", "root-password", "retry", "json", "tls-ca"},
		"audit":   {"addr", "data", "users", "json"},
		"compare": {"concurrency", "rounds", "stock"},
		"soak":    {"rate", "html"},
		"floor":   {"app-port", "workers", "foods"},
	} {
		var out strings.Builder
		_, err := parse([]string{name, "-h"}, &out)
		if !errors.Is(err, flag.ErrHelp) || !strings.Contains(all.String(), "\n  "+name+" ") {
			t.Fatalf("%s: %v\n%s", name, err, all.String())
		}
		for _, name := range flags {
			if !strings.Contains(out.String(), "\n  -"+name) {
				t.Errorf("no -%s in\n%s", name, out.String())
			}
		}
	}
}

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
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// parsed reads a line of arguments as the subcommand that it means.
func parsed[T task](t *testing.T, args ...string) T {
	t.Helper()
	got, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return got.(T)
}

func TestOptionsDefaults(t *testing.T) {
	got := parsed[*loadTask](t, "-root-password", "secret", "-seed", "7")
	wantLoad := load.Options{Servers: []string{"127.0.0.1:8080"}, Concurrency: 1000, Orders: 10_000,
		Timeout: 10 * time.Second, Seed: 7}
	if !reflect.DeepEqual(got.load, wantLoad) {
		t.Errorf("got  %+v\nwant %+v", got.load, wantLoad)
	}
	wantCatalog := catalog.Config{Users: 10000, Foods: 100, Stock: 1000, RootPassword: "secret",
		DB: catalog.Database{Port: 3306, Name: "eleme", User: "root", Password: "toor"}}
	if a := got.access; !reflect.DeepEqual(a.Catalog, wantCatalog) ||
		!slices.Equal(a.Servers, wantLoad.Servers) || a.TLS != nil ||
		a.RootFrom != "ROOT_PASSWORD or -root-password" {
		t.Errorf("access = %+v", a)
	}
	if want := (proof{line: "bench -root-password=(set) -seed=7"}); got.proof != want {
		t.Errorf("proof = %+v, want %+v", got.proof, want)
	}
	// A seed that bench chose stands in the line that repeats the run.
	got = parsed[*loadTask](t, "-root-password=x")
	if want := fmt.Sprintf("bench -root-password=(set) -seed=%d", got.load.Seed); got.load.Seed == 0 ||
		got.proof.line != want {
		t.Errorf("line %q, want %q", got.proof.line, want)
	}
}

func TestOptionsFromEnvironment(t *testing.T) {
	t.Setenv("ADDR", "a:1,b:2")
	t.Setenv("DB_HOST", "db")
	t.Setenv("DB_PASS", "hidden")
	t.Setenv("TOKEN_IN_QUERY", "true")
	t.Setenv("ORDERS", "5")
	got := parsed[*loadTask](t, "-orders", "6")
	if !slices.Equal(got.load.Servers, []string{"a:1", "b:2"}) || got.access.Catalog.DB.Host != "db" ||
		got.access.Catalog.DB.Password != "hidden" || !got.load.Style.TokenInQuery || got.load.Orders != 6 {
		t.Errorf("options = %+v, access = %+v", got.load, got.access)
	}
}

func TestOptionsRootPasswordFile(t *testing.T) {
	folder := t.TempDir()
	if _, err := parse([]string{"-data", folder}, io.Discard); !errors.Is(err, sale.ErrUsage) ||
		!strings.Contains(err.Error(), "set ROOT_PASSWORD") {
		t.Errorf("without file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "root-password"), []byte("made up\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	access := parsed[*auditTask](t, "audit", "-data", folder).access
	if access.Catalog.RootPassword != "made up" || access.RootFrom != filepath.Join(folder, "root-password") {
		t.Errorf("password %q from %q", access.Catalog.RootPassword, access.RootFrom)
	}
}

func TestOptionsRefusals(t *testing.T) {
	t.Setenv("ROOT_PASSWORD", "x")
	const undefined = "error parsing commandline arguments: flag provided but not defined: "
	for line, want := range map[string]string{
		"-addr=host":                        `-addr "host" is not host:port`,
		"-addr=a:1,:2":                      `-addr ":2" is not host:port`,
		"-addr=a:0":                         `-addr "a:0" is not host:port`,
		"-addr=a:65536":                     `-addr "a:65536" is not host:port`,
		"-concurrency=0":                    "-concurrency 0 is not within 1 to 100000",
		"-concurrency=100001":               "-concurrency 100001 is not within 1 to 100000",
		"audit -rate=5":                     undefined + "-rate (bench audit -h lists all flags)",
		"soak 1m -orders=5":                 undefined + "-orders (bench soak -h lists all flags)",
		"-rate=-1":                          "-rate -1 is not within 0 to 1000000",
		"-rate=NaN":                         "-rate NaN is not within 0 to 1000000",
		"-orders=0":                         "-orders 0 is less than 1",
		"-duration=-1s":                     "-duration -1s is negative",
		"-timeout=0s":                       "-timeout 0s is not within 0 to 10m0s",
		"-timeout=11m":                      "-timeout 11m0s is not within 0 to 10m0s",
		"-validate=-1":                      "-validate -1 is negative",
		"-tls-ca=/dev/null":                 "-tls-ca /dev/null has no certificate in PEM",
		"-tls-ca=/none":                     "cannot read -tls-ca: open /none: no such file or directory",
		"compare -rounds=2":                 "bench compare wants sides behind its name (bench compare -h)",
		"compare floor":                     `compare needs two sides or more, such as "floor | product"`,
		"compare floor|x fast":              `"fast" is not a flag (bench compare -h lists all flags)`,
		"compare floor|x -rounds=0":         "-rounds 0 is not within 1 to 1000",
		"compare floor|x -concurrency=many": `-concurrency "many" is not a number`,
		"compare floor|x -concurrency=1,0":  "-concurrency 0 is not within 1 to 100000",
		"compare floor|x -rate=NaN":         "-rate NaN is not within 0 to 1000000",
		"soak":                              "bench soak wants time behind its name (bench soak -h)",
		"soak long":                         `soak "long" is no duration, such as 10m`,
		"soak 2s":                           "soak 2s is not within 3s to 24h0m0s",
		"soak 25h":                          "soak 25h0m0s is not within 3s to 24h0m0s",
	} {
		_, err := parse(strings.Fields(line), io.Discard)
		if !errors.Is(err, sale.ErrUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, number := range []string{"many", "1,2"} {
		if _, err := parse([]string{"-concurrency", number}, io.Discard); !errors.Is(err, sale.ErrUsage) ||
			!strings.Contains(err.Error(), `"`+number+`" for flag -concurrency`) {
			t.Errorf("-concurrency %s: %v", number, err)
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
	got := parsed[*compareTask](t, "compare", "floor|product", "-concurrency", "64,1000").opt
	if len(got.Sides) != 2 || got.Load.Orders != 20_000 || !slices.Equal(got.Concurrencies, []int{64, 1000}) {
		t.Errorf("comparison = %+v", got)
	}
	if got := parsed[*soakTask](t, "soak", "10m", "-rate", "5").opt; got.Time != 10*time.Minute ||
		got.Load.Rate != 5 {
		t.Errorf("soak = %+v", got)
	}
}

func TestOptionsHelpNamesEveryFlag(t *testing.T) {
	for name, flags := range map[string][]string{
		"load": {"addr", "orders", "rate", "db-pass", "root-password", "contest-bodies", "retry", "json",
			"html", "tls-ca"},
		"audit":   {"addr", "data", "users", "json"},
		"compare": {"concurrency", "rounds", "stock", "orders"},
		"soak":    {"rate", "concurrency", "html"},
		"floor":   {"app-port", "workers", "foods"},
	} {
		var out, all strings.Builder
		_, err := parse([]string{name, "-h"}, &out)
		_, err2 := parse([]string{"-h"}, &all)
		if !errors.Is(err, flag.ErrHelp) || !errors.Is(err2, flag.ErrHelp) ||
			!strings.Contains(all.String(), "\n  "+name+" ") {
			t.Fatalf("%s: %v, %v\n%s", name, err, err2, all.String())
		}
		for _, name := range flags {
			if !strings.Contains(out.String(), "\n  -"+name) {
				t.Errorf("no -%s in\n%s", name, out.String())
			}
		}
	}
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
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

// refusals reads lines of arguments, each of which must be refused as bad usage with its message.
func refusals(t *testing.T, tests map[string]string) {
	t.Helper()
	for line, want := range tests {
		_, err := parse(strings.Fields(line), io.Discard)
		if !errors.Is(err, sale.ErrUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestOptionsDefaults(t *testing.T) {
	got := parsed[*loadTask](t, "-root-password", "secret", "-seed", "7")
	wantLoad := load.Options{Servers: []string{"127.0.0.1:8080"}, Concurrency: 1000, Orders: 10_000,
		Timeout: 10 * time.Second, Seed: 7}
	if !reflect.DeepEqual(got.load, wantLoad) || got.ramp {
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
}

func TestOptionsFromEnvironment(t *testing.T) {
	t.Setenv("ADDR", "a:1,b:2")
	t.Setenv("DB_HOST", "db")
	t.Setenv("DB_PASS", "hidden")
	t.Setenv("TOKEN_IN_QUERY", "true")
	t.Setenv("ORDERS", "5")
	got := parsed[*loadTask](t, "-orders", "6")
	if !slices.Equal(got.load.Servers, []string{"a:1", "b:2"}) || got.access.Catalog.DB.Host != "db" ||
		got.access.Catalog.DB.Password != "hidden" || !got.load.Style.TokenInQuery || got.load.Orders != 6 ||
		got.load.Seed == 0 {
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
	if access.Catalog.RootPassword != "made up" {
		t.Errorf("password %q", access.Catalog.RootPassword)
	}
	if want := filepath.Join(folder, "root-password"); access.RootFrom != want {
		t.Errorf("root's password is from %q, want %q", access.RootFrom, want)
	}
	access = parsed[*loadTask](t, "-data", folder, "-catalog-dir", "x").access
	if access.Catalog.RootPassword != "" {
		t.Errorf("with another source: password %q", access.Catalog.RootPassword)
	}
}

func TestOptionsLimits(t *testing.T) {
	t.Setenv("ROOT_PASSWORD", "x")
	refusals(t, map[string]string{
		"-addr=localhost": `-addr "localhost" is not host:port`,
		"-addr=a:1,":      `-addr "" is not host:port`,
		"-addr=a:0":       `-addr "a:0" is not host:port`,
		"-addr=" + strings.Repeat("a:1,", 64) + "b:1": "-addr names 65 servers, at most 64",
		"-concurrency=0":      "-concurrency 0 is not within 1 to 100000",
		"-concurrency=100001": "-concurrency 100001 is not within 1 to 100000",
		"-rounds=2":           "-rounds is a flag of bench compare, not of bench load",
		"-idle=-1":            "-idle -1 is not within 0 to 100000",
		"-viewers=-1":         "-viewers -1 is not within 0 to 100000",
		"-audit-only -rate=5": "-rate is a flag of bench load, ramp, compare, soak, not of bench audit",
		"-audit-only -idle=5": "-idle is a flag of bench load, ramp, compare, soak, not of bench audit",
		"-retry -audit-only":  "-retry is a flag of bench load, ramp, compare, soak, not of bench audit",
		"-ramp -orders=5":     "-orders is a flag of bench load, compare, not of bench ramp",
		"-ramp -compare=a|b":  "-compare means bench compare, but bench ramp is named",
		"-audit-only -ramp":   "-ramp means bench ramp, but bench audit is named",
		"-vs-url=a:1":         "-vs-url is a flag of bench compare, not of bench load",
		"-rate=-1":            "-rate -1 is not within 0 to 1000000",
		"-rate=NaN":           "-rate NaN is not within 0 to 1000000",
		"-orders=0":           "-orders 0 is less than 1",
		"-duration=-1s":       "-duration -1s is negative",
		"-timeout=0s":         "-timeout 0s is not within 0 to 10m0s",
		"-timeout=11m":        "-timeout 11m0s is not within 0 to 10m0s",
		"-tls-ca=/dev/null":   "-tls-ca /dev/null has no certificate in PEM",
		"-tls-ca=/none":       "cannot read -tls-ca: open /none: no such file or directory",
		"-tls -compare=a|b":   "-tls is a flag of bench load, ramp, audit, not of bench compare",
		"-tls -soak=1m":       "-tls is a flag of bench load, ramp, audit, not of bench soak",
		"compare -rounds=2":   "bench compare wants sides behind its name (bench compare -h)",
		"soak":                "bench soak wants time behind its name (bench soak -h)",
		"soak long":           `soak "long" is no duration, such as 10m`,
	})
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
		"-compare=floor|product -rate=100":      20_000,
	} {
		got, err := parse(strings.Fields(text), io.Discard)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var opt load.Options
		switch got := got.(type) {
		case *loadTask:
			opt = got.load
		case *compareTask:
			opt = got.opt.Load
		}
		if opt.Orders != want || opt.Rate != 100 {
			t.Errorf("%s: %d orders at %v", text, opt.Orders, opt.Rate)
		}
	}
	if got := parsed[*loadTask](t, "ramp", "-seed=7"); !got.ramp || got.load.Rate != 500 ||
		got.load.Duration != 3*time.Second || got.proof.line != "bench ramp -root-password=(set) -seed=7" {
		t.Errorf("ramp = %+v", got)
	}
}

// The flags with which bench was told what to do before it had subcommands mean the same, wherever they
// stand.
func TestOldFlags(t *testing.T) {
	t.Setenv("ROOT_PASSWORD", "x")
	for old, want := range map[string]string{
		"-audit-only -users 7":                            "audit -users 7",
		"-users 7 --audit-only=true":                      "audit -users 7",
		"-users 7 -audit-only=false":                      "load -users 7",
		"-ramp -rate 5":                                   "ramp -rate 5",
		"-rounds 2 -compare floor|x -seed 3":              "compare floor|x -rounds 2 -seed 3",
		"-compare=floor|x -vs-url=a:1 -seed 3 -vs-pids 1": "compare floor|x -vs-url=a:1 -seed 3 -vs-pids 1",
		"-soak 10m -rate 5 -seed 3":                       "soak 10m -rate 5 -seed 3",
		"-seed 3 --soak=10m":                              "soak 10m -seed 3",
	} {
		sub, args := choose(strings.Fields(old))
		if got := strings.Join(append([]string{sub.name}, args...), " "); got != want {
			t.Errorf("%s means %q, want %q", old, got, want)
		}
		if _, err := parse(strings.Fields(old), io.Discard); err != nil {
			t.Errorf("%s: %v", old, err)
		}
	}
}

// A seed that bench chose stands in the line that repeats the run.
func TestRandomSeedIsInTheLine(t *testing.T) {
	got := parsed[*loadTask](t, "-root-password=x")
	if want := fmt.Sprintf("bench -root-password=(set) -seed=%d", got.load.Seed); got.load.Seed == 0 ||
		got.proof.line != want {
		t.Errorf("line %q, want %q", got.proof.line, want)
	}
}

func TestOptionsOfComparison(t *testing.T) {
	got := parsed[*compareTask](t, "compare", "floor|product", "-concurrency", "64,1000", "-vs-url",
		"a:1,b:2", "-vs-pids", "7,8").opt
	if len(got.Sides) != 3 || got.Load.Orders != 20_000 || got.Load.Concurrency != 64 ||
		!slices.Equal(got.Concurrencies, []int{64, 1000}) {
		t.Errorf("options = %+v", got)
	}
	refusals(t, map[string]string{
		`compare floor`:             `compare needs two sides or more, such as "floor | product"`,
		`compare floor|x -rounds=0`: `-rounds 0 is not within 1 to 1000`,
		`compare floor|x -addr=a:1`: `-addr is a flag of bench load, ramp, audit, not of ` +
			`bench compare`,
		`compare floor|x -data=x`: `-data is a flag of bench load, ramp, audit, not of ` +
			`bench compare`,
		`compare floor|x -html=x`: `-html is a flag of bench load, ramp, audit, soak, not ` +
			`of bench compare`,
		`compare floor|x -db-host=x`: `-db-host is a flag of bench load, ramp, audit, not of ` +
			`bench compare`,
		`compare floor|x -catalog-dir=x`: `-catalog-dir is a flag of bench load, ramp, audit, not ` +
			`of bench compare`,
		`compare floor|x -audit-only`:          `-audit-only means bench audit, but bench compare is named`,
		`compare floor|x -concurrency=many`:    `-concurrency "many" is not a number`,
		`compare floor -vs-pids=1`:             `-vs-url "" is not host:port`,
		`compare floor -vs-url=a:1`:            `-vs-pids "" is not a number`,
		`compare floor -vs-url=a:1 -vs-pids=0`: `-vs-pids 0 is not within 1 to 2147483647`,
	})
}

func TestOptionsHelpNamesEveryFlag(t *testing.T) {
	for name, flags := range map[string][]string{
		"load": {"addr", "orders", "rate", "db-pass", "root-password", "contest-bodies", "retry", "json",
			"html", "tls-ca"},
		"ramp":    {"addr", "rate", "duration", "idle"},
		"audit":   {"addr", "data", "users", "json"},
		"compare": {"concurrency", "rounds", "vs-url", "stock", "orders"},
		"soak":    {"rate", "concurrency", "html"},
		"floor":   {"app-port", "workers", "foods"},
		"kernel":  {"app-port", "workers", "foods"},
	} {
		var out strings.Builder
		if _, err := parse([]string{name, "-h"}, &out); !errors.Is(err, flag.ErrHelp) {
			t.Fatal(err)
		}
		for _, name := range flags {
			if !strings.Contains(out.String(), "\n  -"+name) {
				t.Errorf("no -%s in\n%s", name, out.String())
			}
		}
	}
	var out strings.Builder
	if _, err := parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, name := range append(slices.Collect(maps.Values(oldFlags)), "load", "floor", "kernel") {
		if !strings.Contains(out.String(), "\n  "+name+" ") {
			t.Errorf("no %s in\n%s", name, out.String())
		}
	}
}

package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
)

func TestOptionsDefaults(t *testing.T) {
	opt, err := parseOptions([]string{"-root-password", "secret", "-seed", "7"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := options{servers: []string{"127.0.0.1:8080"}, concurrency: 1000, concurrencies: []int{1000}, orders: 10_000,
		timeout: 10 * time.Second, seed: 7, rounds: 5, given: map[string]bool{"root-password": true, "seed": true}, data: "flashsale-data", command: "bench -root-password=(set) -seed=7", rootFrom: "ROOT_PASSWORD or -root-password",
		catalog: catalog.Config{Users: 10000, Foods: 100, Stock: 1000, RootPassword: "secret",
			DB: catalog.Database{Port: 3306, Name: "eleme", User: "root", Password: "toor"}}}
	if !reflect.DeepEqual(opt, want) {
		t.Errorf("got  %+v\nwant %+v", opt, want)
	}
}

func TestOptionsFromEnvironment(t *testing.T) {
	t.Setenv("ADDR", "a:1,b:2")
	t.Setenv("DB_HOST", "db")
	t.Setenv("DB_PASS", "hidden")
	t.Setenv("TOKEN_IN_QUERY", "true")
	t.Setenv("ORDERS", "5")
	opt, err := parseOptions([]string{"-orders", "6"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(opt.servers, []string{"a:1", "b:2"}) || opt.catalog.DB.Host != "db" || opt.catalog.DB.Password != "hidden" ||
		!opt.style.tokenInQuery || opt.orders != 6 || opt.seed == 0 {
		t.Errorf("options = %+v", opt)
	}
}

func TestOptionsRootPasswordFile(t *testing.T) {
	folder := t.TempDir()
	if _, err := parseOptions([]string{"-data", folder}, io.Discard); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "set ROOT_PASSWORD") {
		t.Errorf("without file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "root-password"), []byte("made up\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opt, err := parseOptions([]string{"-data", folder}, io.Discard)
	if err != nil || opt.catalog.RootPassword != "made up" {
		t.Errorf("password %q, %v", opt.catalog.RootPassword, err)
	}
	if want := filepath.Join(folder, "root-password"); opt.rootFrom != want {
		t.Errorf("root's password is from %q, want %q", opt.rootFrom, want)
	}
	opt, err = parseOptions([]string{"-data", folder, "-catalog-dir", "x"}, io.Discard)
	if err != nil || opt.catalog.RootPassword != "" {
		t.Errorf("with another source: password %q, %v", opt.catalog.RootPassword, err)
	}
}

func TestOptionsLimits(t *testing.T) {
	tests := map[string]string{
		"-addr=localhost": `-addr "localhost" is not host:port`,
		"-addr=a:1,":      `-addr "" is not host:port`,
		"-addr=a:0":       `-addr "a:0" is not host:port`,
		"-addr=" + strings.Repeat("a:1,", 64) + "b:1": "-addr names 65 servers, at most 64",
		"-concurrency=0":      "-concurrency 0 is not within 1 to 100000",
		"-concurrency=100001": "-concurrency 100001 is not within 1 to 100000",
		"-concurrency=many":   `-concurrency "many" is not a number`,
		"-concurrency=1,2":    "several -concurrency belong to -compare",
		"-rounds=2":           "-rounds belongs to -compare",
		"-idle=-1":            "-idle -1 is not within 0 to 100000",
		"-audit-only -rate=5": "-rate, -ramp, -idle and -retry do not go with -audit-only, which sends no load",
		"-audit-only -ramp":   "-rate, -ramp, -idle and -retry do not go with -audit-only, which sends no load",
		"-audit-only -retry":  "-rate, -ramp, -idle and -retry do not go with -audit-only, which sends no load",
		"-ramp -orders=5":     "-ramp goes neither with -compare nor with -orders; the rate says how many orders a step takes",
		"-ramp -compare=a|b":  "-ramp goes neither with -compare nor with -orders; the rate says how many orders a step takes",
		"-vs-url=a:1":         "-vs-url belongs to -compare",
		"-rate=-1":            "-rate -1 is not within 0 to 1000000",
		"-rate=NaN":           "-rate NaN is not within 0 to 1000000",
		"-orders=0":           "-orders 0 is less than 1",
		"-duration=-1s":       "-duration -1s is negative",
		"-timeout=0s":         "-timeout 0s is not within 0 to 10m0s",
		"-timeout=11m":        "-timeout 11m0s is not within 0 to 10m0s",
		"-tls-ca=/dev/null":   "-tls-ca /dev/null has no certificate in PEM",
		"-tls-ca=/none":       "cannot read -tls-ca: open /none: no such file or directory",
		"-tls -compare=a|b":   "-tls does not go with -compare, which starts its own servers with the built-in catalogue",
		"-tls -soak=1m":       "-tls does not go with -soak, which starts its own server with the built-in catalogue",
	}
	for arg, want := range tests {
		_, err := parseOptions(append([]string{"-root-password=x"}, strings.Fields(arg)...), io.Discard)
		if !errors.Is(err, errUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestOptionsOfOpenLoop(t *testing.T) {
	for text, want := range map[string]int{
		"-rate=100 -duration=2500ms":            250,
		"-rate=100 -duration=2500ms -orders=77": 77,
		"-rate=100":                             10_000,
		"-compare=floor|product -rate=100":      20_000,
	} {
		opt, err := parseOptions(append(strings.Fields(text), "-root-password=x"), io.Discard)
		if err != nil || opt.orders != want || opt.rate != 100 {
			t.Errorf("%s: %d orders at %v, %v", text, opt.orders, opt.rate, err)
		}
	}
}

func TestOptionsOfComparison(t *testing.T) {
	opt, err := parseOptions([]string{"-compare", "floor|product", "-concurrency", "64,1000", "-vs-url", "a:1,b:2", "-vs-pids", "7,8"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(opt.sides) != 3 || opt.orders != 20_000 || opt.concurrency != 64 || !reflect.DeepEqual(opt.concurrencies, []int{64, 1000}) ||
		opt.catalog.RootPassword == "" {
		t.Errorf("options = %+v", opt)
	}
	want := side{text: "server at a:1,b:2", servers: []string{"a:1", "b:2"}, pids: []int{7, 8}}
	if !reflect.DeepEqual(opt.sides[2], want) {
		t.Errorf("foreign side = %+v", opt.sides[2])
	}
	tests := map[string][]string{
		`-compare needs two sides or more, such as "floor | product"`:                                     nil,
		`-rounds 0 is not within 1 to 1000`:                                                               {"-rounds=0"},
		`-addr does not go with -compare, which starts its own servers with the built-in catalogue`:       {"-addr=a:1"},
		`-audit-only does not go with -compare, which starts its own servers with the built-in catalogue`: {"-audit-only"},
		`-vs-url "" is not host:port`:                                                                     {"-vs-pids=1"},
		`-vs-pids "" is not a number`:                                                                     {"-vs-url=a:1"},
		`-vs-pids 0 is not within 1 to 2147483647`:                                                        {"-vs-url=a:1", "-vs-pids=0"},
	}
	for want, args := range tests {
		_, err := parseOptions(append([]string{"-compare=floor"}, args...), io.Discard)
		if !errors.Is(err, errUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestOptionsHelpNamesEveryFlag(t *testing.T) {
	var out strings.Builder
	if _, err := parseOptions([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, name := range []string{"addr", "orders", "audit-only", "db-pass", "root-password", "contest-bodies", "retry", "soak"} {
		if !strings.Contains(out.String(), "\n  -"+name) {
			t.Errorf("no -%s in\n%s", name, out.String())
		}
	}
}

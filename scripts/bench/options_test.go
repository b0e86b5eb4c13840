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
	want := options{servers: []string{"127.0.0.1:8080"}, concurrency: 1000, orders: 10_000, timeout: 10 * time.Second, seed: 7,
		data: "flashsale-data", catalog: catalog.Config{Users: 10000, Foods: 100, Stock: 1000, RootPassword: "secret",
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
		"-orders=0":           "-orders 0 is less than 1",
		"-duration=-1s":       "-duration -1s is negative",
		"-timeout=0s":         "-timeout 0s is not within 0 to 10m0s",
		"-timeout=11m":        "-timeout 11m0s is not within 0 to 10m0s",
	}
	for arg, want := range tests {
		_, err := parseOptions([]string{"-root-password=x", arg}, io.Discard)
		if !errors.Is(err, errUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestOptionsHelpNamesEveryFlag(t *testing.T) {
	var out strings.Builder
	if _, err := parseOptions([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, name := range []string{"addr", "orders", "audit-only", "db-pass", "root-password", "contest-bodies"} {
		if !strings.Contains(out.String(), "\n  -"+name) {
			t.Errorf("no -%s in\n%s", name, out.String())
		}
	}
}

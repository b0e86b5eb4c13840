package config

import (
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// clearEnvironment hides the settings in the machine's environment.
func clearEnvironment(t *testing.T) {
	t.Helper()
	newConfig().flags.set.VisitAll(func(f *flag.Flag) {
		if value, set := os.LookupEnv(envName(f.Name)); set {
			t.Setenv(envName(f.Name), value) // restores it after the test
			os.Unsetenv(envName(f.Name))
		}
	})
}

func parse(t *testing.T, args ...string) *Config {
	t.Helper()
	c, err := Parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	clearEnvironment(t)
	c := parse(t)
	if c.Address() != "127.0.0.1:8080" || c.Redis.Address != "" || c.Catalog.Users != 10_000 ||
		c.Catalog.Foods != 100 ||
		c.Catalog.Stock != 1000 || c.Redis.Timeout != 3*time.Second || c.TokenTTL != 24*time.Hour {
		t.Errorf("defaults %+v", c)
	}
	if got := c.String(); got != "all defaults" {
		t.Errorf("String() = %q", got)
	}
}

func TestContestEnvironment(t *testing.T) {
	clearEnvironment(t)
	for name, value := range map[string]string{
		"APP_HOST": "0.0.0.0", "APP_PORT": "9090", "REDIS_HOST": "cache", "REDIS_PORT": "6380",
		"DB_HOST": "db", "DB_PORT": "3307", "DB_NAME": "shop", "DB_USER": "me", "DB_PASS": "hush",
		"ROOT_PASSWORD": "rootpw", "TOKEN_SECRET": strings.Repeat("s", 32),
		"LEDGER": "me:quiet@tcp(db)/shop", "SERVICE_TOKEN": strings.Repeat("v", 32),
		"OPERATORS": "operators.csv", "OIDC_ISSUER": "http://127.0.0.1:81/staff", "OIDC_CLIENT": "us",
		"OIDC_SECRET": "whisper", "OIDC_RETURN": "http://[::1]:8080/",
	} {
		t.Setenv(name, value)
	}
	c := parse(t, "-app-port", "9091")
	if c.Address() != "0.0.0.0:9091" {
		t.Errorf("address %s: a flag must win over the environment", c.Address())
	}
	if c.Redis.Network != "tcp" || c.Redis.Address != "cache:6380" {
		t.Errorf("redis %s %s", c.Redis.Network, c.Redis.Address)
	}
	if db := c.Catalog.DB; db.Host != "db" || db.Port != 3307 || db.Name != "shop" || db.User != "me" ||
		db.Password != "hush" {
		t.Errorf("database %+v", db)
	}
	shown := c.String()
	for _, hidden := range []string{"hush", "rootpw", "ssss", "quiet", "vvvv", "whisper"} {
		if strings.Contains(shown, hidden) {
			t.Errorf("%q shows a secret", shown)
		}
	}
	if !strings.Contains(shown, "db-pass=(set)") || !strings.Contains(shown, "app-port=9091") {
		t.Errorf("String() = %q", shown)
	}
}

const (
	noRedis = "-redis-host (REDIS_HOST) or -redis (REDIS) or -redis-cluster (REDIS_CLUSTER) " +
		"or -redis-sentinel (REDIS_SENTINEL); set both, or neither"
	oidc    = "-oidc-client c "
	noName  = "; it must be UTF-8 with at most 32 characters that can be seen, and no space at its ends"
	safeURL = "it must be a URL with https, or with http on localhost"
	noPort  = "; it must be host:port, as 127.0.0.1:6060, with a port from 1 to 65534"
)

func TestRefusals(t *testing.T) {
	clearEnvironment(t)
	for args, want := range map[string]string{
		"-app-prot": "flag provided but not defined: -app-prot; did you mean -app-port? (-h lists all " +
			"flags)",
		"-nonsense":                   "flag provided but not defined: -nonsense (-h lists all flags)",
		"-workers":                    "flag needs an argument: -workers (-h lists all flags)",
		"-workers many":               `-workers is "many"; it must be a whole number`,
		"-users 99999999999999999999": "-users is 99999999999999999999; it must be from 1 to 10000000",
		"-drain 5":                    `-drain is "5"; it must be a time with its unit, as in 5s or 200ms`,
		"-require-durable=maybe":      `-require-durable is "maybe"; it must be true or false`,
		"-redis-host a:6379":          "-redis-host is a:6379; it must be a host without port (-redis-port)",
		"-redis-host [::1]:1":         "-redis-host is [::1]:1; it must be a host without port (-redis-port)",
		"-workers -1":                 "-workers is -1; it must be from 1 to 256",
		"-workers 0":                  "-workers is 0; it must be from 1 to 256",
		"-log-format xml":             `-log-format is "xml"; it must be text or json`,
		"-app-port 65536":             "-app-port is 65536; it must be from 0 to 65535",
		"-drain 0s":                   "-drain is 0s; it must be from 1ms to 1h0m0s",
		"-redis-timeout 2m":           "-redis-timeout is 2m0s; it must be from 1ms to 1m0s",
		"-opens-at tomorrow": `-opens-at is "tomorrow"; it must be a time with a zone, such as ` +
			"2026-11-22T10:00:00+01:00",
		"-closes-at 2026-11-22T10:00:00": `-closes-at is "2026-11-22T10:00:00"; it must be a time with a zone, ` +
			"such as 2026-11-22T10:00:00+01:00",
		"-opens-at 2026-11-22T10:00:00+01:00 -closes-at 2026-11-22T09:00:00Z": "-closes-at is not after -opens-at",
		"-snapshot-interval 2s":  "-snapshot-interval is 2s; it must be from 1ms to 1s",
		"-repeats-window 1500ms": "-repeats-window is 1.5s; it must be a whole number of seconds",
		"-repeats-window 745h":   "-repeats-window is 745h0m0s; it must be from 1s to 744h0m0s",
		"-repeats -vk-token x": "-vk-token is set without -vk-confirmation (VK_CONFIRMATION); " +
			"set both, or neither",
		"-vk-token x -vk-secret y -vk-confirmation z": "-vk-confirmation is set without " +
			"-repeats (REPEATS); set both, or neither",
		"-repeats-window 1h": "-repeats-window is set without -repeats (REPEATS); set both, or neither",
		"-vk-queue 5": "-vk-queue is set without -vk-confirmation (VK_CONFIRMATION) or -vk-groups (VK_GROUPS); " +
			"set both, or neither",
		"-repeats -vk-groups f -vk-confirmation c": "-vk-confirmation (VK_CONFIRMATION) and -vk-groups " +
			"(VK_GROUPS) are both set; set one of them",
		"-repeats -repeats-memory 0": "-repeats-memory is 0; it must be from 1 to 1000000",
		"-repeats -vk-confirmation c -vk-api vk.com": `-vk-api is "vk.com"; ` +
			"it must be a URL, as https://api.vk.com",
		"-chat -push-url https://push.example": `-push-url is "https://push.example"; ` +
			"it must be the URL of a websocket, as wss://push.shop.example/connection/websocket",
		"-oidc-claim email": "-oidc-claim is set without -oidc-issuer (OIDC_ISSUER); " +
			"set both, or neither",
		"-oidc-issuer https://x -oidc-client c":               errOIDC.Error(),
		oidc + "-oidc-issuer http://x -oidc-return https://y": `-oidc-issuer is "http://x"; ` + safeURL,
		oidc + "-oidc-issuer x -oidc-return https://y":        `-oidc-issuer is "x"; ` + safeURL,
		oidc + "-oidc-issuer https://x -oidc-return https://y?z": `-oidc-return is "https://y?z"; ` +
			safeURL,
		"-shop-name " + strings.Repeat("é", 33): `-shop-name is "` + strings.Repeat("é", 33) + `"` + noName,
		"-shop-name a\u202eb":                   `-shop-name is "a\u202eb"` + noName,
		"-shop-name a\xffb":                     `-shop-name is "a\xffb"` + noName,
		"-shop-name a\x1bb":                     `-shop-name is "a\x1bb"` + noName,
		"-shop-logo a.png": "-shop-logo is set without -shop-name (SHOP_NAME); " +
			"set both, or neither",
		"-vk-queue 0":          "-vk-queue is 0; it must be from 1 to 1000000",
		"-service-token short": "-service-token (SERVICE_TOKEN) has 5 bytes; it must have at least 32",
		"-service-token " + strings.Repeat("é", 16): "-service-token (SERVICE_TOKEN) must be " +
			"visible ASCII characters: it is sent in a header",
		"-token-secret short": "-token-secret (TOKEN_SECRET) has 5 bytes; it must have at least 32",
		"-redis nowhere": `-redis is "nowhere"; ` +
			"it must be host:port, several of them with commas between, or the absolute path of a unix socket",
		"-redis-host a -redis-port 0": "-redis-port is 0; it must be from 1 to 65535",
		"-redis a:1 -redis-host b":    "-redis and -redis-host are both set; choose one",
		"-catalog-dir a -db-host b":   "-catalog-dir and -db-host are both set; choose one",
		"-stock -5":                   "-stock is -5; it must be from 0 to 1000000000",
		"-max-conns -1":               "-max-conns is -1; it must be from 0 to 10000000",
		"-max-conns-per-ip -1":        "-max-conns-per-ip is -1; it must be from 0 to 10000000",
		"-tls-cert c.pem": "only one of -tls-cert and -tls-key is set; " +
			"set both, or none for plain HTTP",
		"-tls-key k.pem": "only one of -tls-cert and -tls-key is set; " +
			"set both, or none for plain HTTP",
		"-trusted-proxies 10.0.0.0/33": `-trusted-proxies has "10.0.0.0/33"; ` +
			"it must list addresses or networks, as 10.0.0.1,fd00::/8",
		"-trusted-proxies ::1,proxy": `-trusted-proxies has "proxy"; ` +
			"it must list addresses or networks, as 10.0.0.1,fd00::/8",
		"-data=":               "-data is empty; it must name a folder",
		"-token-ttl 10000000h": "-token-ttl is 10000000h; it must be from 1s to 87600h0m0s",
		"-token-ttl 10000000": `-token-ttl is "10000000"; ` +
			"it must be a time with its unit, as in 5s or 200ms",
		"-cart-ttl 1500ms":           "-cart-ttl is 1.5s; it must be a whole number of seconds",
		"-users 2 -version":          "-version stands alone: flashsale -version prints which build this is",
		"--version=true":             "-version stands alone: flashsale -version prints which build this is",
		"-sale=":                     "-sale is empty; name a sale, or leave it out to join or open any",
		"-pprof x":                   `-pprof is "x"` + noPort,
		"-pprof :x":                  `-pprof is ":x"` + noPort,
		"-pprof :0":                  `-pprof is ":0"` + noPort,
		"-pprof :65535":              `-pprof is ":65535"` + noPort,
		"-ops 9100":                  `-ops is "9100"; it must be host:port, as 127.0.0.1:9100`,
		"-ops :x":                    `-ops is ":x"; it must be host:port, as 127.0.0.1:9100`,
		"-ops :65536":                `-ops is ":65536"; it must be host:port, as 127.0.0.1:9100`,
		"-redis-port 19050":          "-redis-port is set without " + noRedis,
		"-redis-port 6379":           "-redis-port is set without " + noRedis,
		"-redis-password x":          "-redis-password is set without " + noRedis,
		"-redis-username x":          "-redis-username is set without " + noRedis,
		"-redis-host= -redis-port 1": "-redis-port is set without " + noRedis,
		"-db-port 1":                 "-db-port is set without -db-host (DB_HOST); set both, or neither",
		"-db-name x -catalog-dir y":  "-db-name is set without -db-host (DB_HOST); set both, or neither",
		"-db-user x":                 "-db-user is set without -db-host (DB_HOST); set both, or neither",
		"-db-pass x":                 "-db-pass is set without -db-host (DB_HOST); set both, or neither",
		"serve":                      `unexpected argument "serve" (-h lists all flags)`,
	} {
		fields := append([]string{"-workers", "2"}, strings.Fields(args)...)
		if _, err := Parse(fields, io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", args, err, want)
		}
	}
}

// A wrong value in the environment is named by its variable; a flag takes precedence over it.
func TestRefusedEnvironment(t *testing.T) {
	for variable, want := range map[string]string{
		"WORKERS=many":          `WORKERS is "many"; it must be a whole number`,
		"WORKERS=2 4":           `WORKERS is "2 4"; it must be a whole number`,
		"DRAIN=5":               `DRAIN is "5"; it must be a time with its unit, as in 5s or 200ms`,
		"REQUIRE_DURABLE=maybe": `REQUIRE_DURABLE is "maybe"; it must be true or false`,
		"WORKERS=-1":            "WORKERS is -1; it must be from 1 to 256",
		"REDIS_TIMEOUT=2m":      "REDIS_TIMEOUT is 2m0s; it must be from 1ms to 1m0s",
		"REDIS_PORT=0":          "REDIS_PORT is 0; it must be from 1 to 65535",
		"REDIS=nowhere": `REDIS is "nowhere"; it must be host:port, several of them with commas ` +
			"between, or the absolute path of a unix socket",
		"TOKEN_TTL=10000000h": "TOKEN_TTL is 10000000h; it must be from 1s to 87600h0m0s",
		"SALE=":               "SALE is empty; name a sale, or leave it out to join or open any",
		"REDIS_PORT=19050":    "REDIS_PORT is set without " + noRedis,
		"REDIS_PASSWORD=x":    "REDIS_PASSWORD is set without " + noRedis,
		"DB_PASS=x":           "DB_PASS is set without -db-host (DB_HOST); set both, or neither",
		"SHOP_NAME=Huang's ":  `SHOP_NAME is "Huang's "` + noName,
		"REDIS_HOST=a:6379":   "REDIS_HOST is a:6379; it must be a host without port (REDIS_PORT)",
	} {
		t.Run(variable, func(t *testing.T) {
			clearEnvironment(t)
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
			if _, err := Parse(nil, io.Discard); err == nil || err.Error() != want {
				t.Errorf("\n got %v\nwant %s", err, want)
			}
		})
	}
	clearEnvironment(t)
	t.Setenv("SALE", "")
	if c := parse(t, "-sale", "abcdefgh"); c.Sale != "abcdefgh" {
		t.Errorf("sale %q", c.Sale)
	}
	os.Unsetenv("SALE")
	t.Setenv("REDIS_PORT", "") // an empty variable counts as unset
	parse(t, "-redis-password", "")
	t.Setenv("WORKERS", "many")
	if c := parse(t, "-workers", "3"); c.Workers != 3 {
		t.Errorf("%d workers, want 3", c.Workers)
	}
	_, err := Parse([]string{"-workers", "-1"}, io.Discard)
	if err == nil || err.Error() != "-workers is -1; it must be from 1 to 256" {
		t.Errorf("a flag above the environment: %v", err)
	}
}

// Of several things that are wrong the same one is named each time: the first in the order of the help.
func TestRefusalsComeInOrder(t *testing.T) {
	clearEnvironment(t)
	wrong := []struct{ arg, want string }{
		{"-workers=0", "-workers is 0; "},
		{"-tls-key=k.pem", "only one of -tls-cert and -tls-key is set; "},
		{"-data=", "-data is empty; "},
		{"-stock=-5", "-stock is -5; "},
		{"-token-secret=short", "-token-secret (TOKEN_SECRET) has 5 bytes; "},
		{"-token-secret-previous=short", "-token-secret-previous (TOKEN_SECRET_PREVIOUS) has 5 bytes; "},
		{"-cart-ttl=0s", "-cart-ttl is 0s; "},
		{"-log-format=xml", `-log-format is "xml"; `},
	}
	for first := range wrong {
		var args []string
		for _, w := range wrong[first:] {
			args = append([]string{w.arg}, args...)
		}
		if _, err := Parse(args, io.Discard); err == nil || !strings.HasPrefix(err.Error(), wrong[first].want) {
			t.Errorf("%v:\n got %v\nwant %s...", args, err, wrong[first].want)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/help.txt anew")

// The help is in testdata/help.txt, where people read it too; go test ./internal/config -update writes it.
func TestHelp(t *testing.T) {
	clearEnvironment(t)
	var out strings.Builder
	if _, err := Parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v, want flag.ErrHelp", err)
	}
	const golden = "testdata/help.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the help is not what %s holds (-update writes it anew):\n%s", golden, out.String())
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	clearEnvironment(t)
	var out strings.Builder
	if _, err := Parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v, want flag.ErrHelp", err)
	}
	parse(t).flags.set.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(out.String(), "  -"+f.Name+" ") || !strings.Contains(out.String(),
			"["+envName(f.Name)+"]") {
			t.Errorf("the help does not name -%s and %s", f.Name, envName(f.Name))
		}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			return // it takes no value
		}
		unit, _ := flag.UnquoteUsage(f)
		if slices.Contains([]string{"", "value", "int", "string", "duration"}, unit) {
			t.Errorf("-%s has no unit", f.Name)
		}
	})
	if strings.Contains(out.String(), "toor") {
		t.Error("the help shows a password")
	}
}

// A flag that holds a secret is registered as one.
func TestSecretFlags(t *testing.T) {
	f := newConfig().flags
	f.set.VisitAll(func(found *flag.Flag) {
		named := strings.Contains(found.Name, "secret") || strings.Contains(found.Name, "pass") ||
			slices.Contains([]string{"ledger", "operators", "payment-key", "service-token", "vk-token"}, found.Name)
		if f.secret(found.Name) != named {
			t.Errorf("-%s is a secret: %v, want %v", found.Name, !named, named)
		}
	})
}

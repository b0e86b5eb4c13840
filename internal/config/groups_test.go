package config

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

func TestRedisAddress(t *testing.T) {
	clearEnvironment(t)
	for _, tc := range []struct{ args, network, address string }{
		{"-redis 10.0.0.1:7000", "tcp", "10.0.0.1:7000"},
		{"-redis [::1]:7000", "tcp", "[::1]:7000"},
		{"-redis /run/redis.sock", "unix", "/run/redis.sock"},
		{"-redis-host cache", "tcp", "cache:6379"},
		{"-redis-host ::1 -redis-port 7", "tcp", "[::1]:7"},
	} {
		if c := parse(t, strings.Fields(tc.args)...); c.Redis.Network != tc.network ||
			c.Redis.Address != tc.address {
			t.Errorf("%s: %s %s, want %s %s", tc.args, c.Redis.Network, c.Redis.Address, tc.network, tc.address)
		}
	}
}

// What a server may hold is shared out among its workers.
func TestSharesOfWorkers(t *testing.T) {
	clearEnvironment(t)
	for args, want := range map[string][2]int{
		"-workers 3": {6666, 6666},
		"-workers 1": {20_000, 20_000},
		"-workers 3 -max-conns 0 -live-viewers 2": {0, 1},
		"-workers 3 -max-conns 2 -live-viewers 0": {1, 0},
	} {
		c := parse(t, strings.Fields(args)...)
		if got := [2]int{c.WorkerConns(), c.WorkerViewers()}; got != want {
			t.Errorf("%s: %d connections and viewers for each worker, want %d", args, got, want)
		}
	}
}

func TestPushHidden(t *testing.T) {
	clearEnvironment(t)
	for _, test := range []struct {
		args, sale, push string
		want             bool
	}{
		{"-chat", "0.0.0.0:8080", "127.0.0.1:8090", true}, {"-chat", "127.0.0.1:8080", "127.0.0.1:8090", false},
		{"-chat", "0.0.0.0:8080", "0.0.0.0:8090", false}, {"", "0.0.0.0:8080", "", false},
		{"-chat -push-url WSS://push.example/x", "0.0.0.0:8080", "127.0.0.1:8090", false},
	} {
		if got := parse(t, strings.Fields(test.args)...).PushHidden(test.sale, test.push); got != test.want {
			t.Errorf("%q on %s and %s: %v, want %v", test.args, test.sale, test.push, got, test.want)
		}
	}
}

func TestGuessable(t *testing.T) {
	clearEnvironment(t)
	for _, test := range []struct {
		args, address string
		want          bool
	}{
		{"", "127.0.0.1:8080", false}, {"", "127.0.0.3:8080", false}, {"", "[::1]:8080", false},
		{"", "0.0.0.0:8080", true}, {"", "[::]:8080", true}, {"", "10.0.0.1:8080", true}, {"",
			"[fe80::1%eth0]:1", true}, {"", "?", true},
		{"-users 1", "0.0.0.0:8080", false}, // root, who has a password of his own
		{"-catalog-dir x", "0.0.0.0:8080", false}, {"-db-host x", "0.0.0.0:8080", false},
	} {
		if got := parse(t, strings.Fields(test.args)...).Guessable(test.address); got != test.want {
			t.Errorf("%q on %s: %v, want %v", test.args, test.address, got, test.want)
		}
	}
}

// A file of rules that is empty or cut off is a fault; off must be written.
func TestLimitRules(t *testing.T) {
	clearEnvironment(t)
	file := t.TempDir() + "/rules"
	c := parse(t, "-limits-file", file)
	const cut = " ends in the middle of line %d; end it with a line break if it is whole"
	for _, step := range []struct {
		text  string
		rules int
		off   bool
		want  string
	}{
		{"x by user 100/m\n", 16, false, ""}, // and the default ones
		{"login_failed by ip 9/m\n", 15, false, ""},
		{"x by user 10", 0, false, fmt.Sprintf(cut, 1)},
		{"# mine\nx by user 10/m", 0, false, fmt.Sprintf(cut, 2)},
		{"", 0, false, " has no rules; write off for none"},
		{"\n# none\n", 0, false, " has no rules; write off for none"},
		{"off\n", 0, true, ""},
	} {
		if err := os.WriteFile(file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		rules, off, err := c.LimitRules()
		if step.want == "" != (err == nil) || err != nil && err.Error() != file+step.want {
			t.Errorf("%q: %v, want %s", step.text, err, step.want)
		}
		if len(rules) != step.rules || off != step.off {
			t.Errorf("%q: %d rules, off %v", step.text, len(rules), off)
		}
	}
	if _, err := Parse([]string{"-limits", ""}, io.Discard); err == nil ||
		!strings.HasSuffix(err.Error(), "-limits has no rules; write off for none") {
		t.Errorf("no rules in the flag: %v", err)
	}
}

func TestTrustedProxies(t *testing.T) {
	clearEnvironment(t)
	for list, want := range map[string]string{
		"": "[]", "10.0.0.1": "[10.0.0.1/32]", "10.0.0.0/8, fd00::1,::1/128": "[10.0.0.0/8 fd00::1/128 ::1/128]",
	} {
		c := parse(t, "-trusted-proxies", list)
		if got := fmt.Sprint(c.TrustedProxies); got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
	if shown := parse(t, "-trusted-proxies", "::1").String(); shown != "trusted-proxies=::1" {
		t.Errorf("String() = %q", shown)
	}
}

func TestAccessLog(t *testing.T) {
	clearEnvironment(t)
	for part, want := range map[string]int{"": 0, "off": 0, "1": 1, "all": 1, "1/1": 1, "1/100": 100,
		"1/1000000000": 1e9} {
		if got := parse(t, "-access-log", part).AccessLog; got != want {
			t.Errorf("-access-log %s: one in %d, want %d", part, got, want)
		}
	}
	for _, part := range []string{"0", "2", "1/0", "1/-5", "1/+5", "1/", "/5", "2/5", "1/1000000001",
		"1/99999999999999999999", "100%", "0.01", "ALL", "1/1e3", " 1", "1/ 2"} {
		want := fmt.Sprintf("-access-log is %q; it must be off, all, 1, or 1/n with n from 1 to 1000000000", part)
		if _, err := Parse([]string{"-access-log", part}, io.Discard); err == nil || err.Error() != want {
			t.Errorf("\n got %v\nwant %s", err, want)
		}
	}
	t.Setenv("ACCESS_LOG", "1/7")
	t.Setenv("REQUEST_IDS", "true")
	if c := parse(t); c.AccessLog != 7 || !c.RequestIDs {
		t.Errorf("from the environment: one in %d, every request an ID: %v", c.AccessLog, c.RequestIDs)
	}
}

func TestTraffic(t *testing.T) {
	clearEnvironment(t)
	c := parse(t)
	if !c.Traffic() || fmt.Sprint(c.TrafficZone) != "UTC" || c.TrafficKeys != 10_000 ||
		len(c.TrafficTiers) != 5 {
		t.Errorf("defaults: %v, %v, %d, %v", c.Traffic(), c.TrafficZone, c.TrafficKeys, c.TrafficTiers)
	}
	c = parse(t, "-traffic", "off", "-traffic-tz", "Asia/Kolkata", "-traffic-retention", "5m:1d,1h")
	if c.Traffic() || fmt.Sprint(c.TrafficZone) != "Asia/Kolkata" || len(c.TrafficTiers) != 2 {
		t.Errorf("set: %v, %v, %v", c.Traffic(), c.TrafficZone, c.TrafficTiers)
	}
	for args, want := range map[string]string{
		"-traffic maybe":                    `-traffic is "maybe"; it must be on or off`,
		"-traffic-keys 0":                   "-traffic-keys is 0; it must be from 1 to 1000000",
		"-traffic-tz Mars":                  `-traffic-tz is "Mars"; it must be a time zone, as Europe/Berlin`,
		"-traffic-tz=":                      `-traffic-tz is ""; it must be a time zone, as Europe/Berlin`,
		"-traffic-retention 1m:2d":          `-traffic-retention: tier "1m:2d": every tier but`,
		"-traffic-retention 1h:2d,5m":       "-traffic-retention: buckets of 1h do not make up whole ones of 5m",
		"-traffic-retention 1m:2d,5m:1d,1h": "-traffic-retention: tier 5m is kept for 1d, which is no longer",
	} {
		if _, err := Parse(strings.Fields(args), io.Discard); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// A provider of payments needs held orders, a key and secrets; Stripe needs half an hour and a page to
// return to.
func TestPayments(t *testing.T) {
	clearEnvironment(t)
	const url = "-payment https://pay.example/x -hold 30m "
	const stripe = " -payment stripe -payment-return https://x/"
	for _, test := range []struct{ args, want string }{
		{"-payment stripe", "-payment is set without -hold (HOLD): only held orders are paid"},
		{"-hold 1h -payment-key x", "-payment-key is set without -payment (PAYMENT); set both, or neither"},
		{"-hold 1h -payment Stripe", `-payment is "Stripe"; it must be stripe or an http or https URL`},
		{"-hold 1h -payment stripe+", `-payment is "stripe+"; it must be stripe or an http or https URL`},
		{"-hold 1h -payment stripe", "-payment needs -payment-return (PAYMENT_RETURN), an http or https URL"},
		{"-hold 29m" + stripe, "-hold is 29m0s; with Stripe it must be at least 30m0s"},
		{"-hold 1h -payment-session 29m" + stripe,
			"-payment-session is 29m0s; Stripe gives a buyer at least 30m0s"},
		{"-hold 1h -payment-session 25h" + stripe, "-payment-session is 25h0m0s; it must be from 1m0s to 24h0m0s"},
	} {
		if _, err := Parse(strings.Fields(test.args), io.Discard); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.args, err, test.want)
		}
	}
	file := t.TempDir() + "/secrets"
	const first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	const second = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0LCBsb25nIGVub3VnaA=="
	const both = "[" + first + " " + second + "]"
	const noKey = ": a secret is not whsec_ and the base64 of 24 to 64 bytes; to make one: " +
		"echo whsec_$(openssl rand -base64 24)"
	long := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65))
	short := file + "-short"
	for name, second := range map[string]string{file: second, short: "whsec_MjMgYnl0ZXMsIG9uZSB0b28gZmV3Li4="} {
		if err := os.WriteFile(name, []byte("# of the shop\n"+first+"\n\n"+second+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ args, want string }{
		{"", "-payment is set without -payment-key (PAYMENT_KEY)"},
		{"-payment-key k", "-payment is set without -payment-secrets (PAYMENT_SECRETS)"},
		{"-payment-key k -payment-secrets whsec_not-base64!!!!!!!!", "-payment-secrets, secret 1" + noKey},
		{"-payment-key k -payment-secrets whsec_AAAAAAAAAA==", "-payment-secrets, secret 1" + noKey},
		{"-payment-key k -payment-secrets " + first + "," + long, "-payment-secrets, secret 2" + noKey},
		{"-payment-key k -payment-secrets whsec_short" + stripe,
			"-payment-secrets, secret 1: a secret has less than 16 characters"},
		{"-payment-key k -payment-secrets whsec_no-base64!" + stripe, "[whsec_no-base64!]"},
		{"-payment-key k -payment-secrets /no/such/file",
			"cannot read the file of -payment-secrets: no such file or directory"},
		{"-payment-key k -payment-secrets " + file, both},
		{"-payment-key k -payment-secrets " + short, "the file of -payment-secrets, line 4" + noKey},
		{"-payment-key k -payment-secrets " + first + "," + second, both},
	} {
		_, secrets, err := parse(t, strings.Fields(url+test.args)...).PaymentSecrets()
		got := fmt.Sprint(secrets.List)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.args, got, test.want)
		}
	}
}

package config

import (
	"errors"
	"flag"
	"io"
	"net"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// FuzzParse reads any words as arguments, one a line, behind others that set every secret and the hosts
// they are for. A refusal is
// one line, accepted values are within the limits, and no secret is shown.
func FuzzParse(f *testing.F) {
	for _, words := range []string{
		"", "-h", "-workers\n0", "--workers=257", "-app-port=-1", "-redis\n/x", "-redis-host=\n-redis\n/x",
		"-redis-host=\n-redis=a:1", "-redis\na:1\n-redis-host\nb", "-drain=1",
		"-drain=1h1ns",
		"-token-secret=short", "-db-pass", "-data=", "-catalog-dir=a\n-db-host=b", "-pprof=:1", "-sale=",
		"-ops=:1",
		"-cart-ttl=1.5s", "-users=0x10", "-stock=1_000", "--", "--\nx", "-", "-=", "-redis=:1"} {
		f.Add(words)
	}
	secret := strings.Repeat("hush", 8)
	secrets := []string{"-redis-host", "cache", "-db-host", "db",
		"-db-pass", secret, "-root-password", secret, "-redis-password", secret,
		"-token-secret", secret, "-token-secret-previous", secret}
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, words string) {
		if strings.Contains(words, "\r") {
			return // package flag repeats the name of an unknown flag as it is
		}
		clearEnvironment(t)
		args := append(secrets, strings.Split(words, "\n")...)
		c, err := Parse(args, io.Discard)
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: error %q", words, err)
			}
			return
		}
		if strings.Contains(c.String(), secret) {
			t.Errorf("%q: %s shows a secret", words, c)
		}
		if err := c.flags.check(); err != nil {
			t.Errorf("%q: accepted, %v", words, err)
		}
		_, _, err = net.SplitHostPort(c.Redis.Address)
		if c.Redis.Network == "tcp" && err != nil || c.Redis.Network == "unix" && c.Redis.Address[0] != '/' {
			t.Errorf("%q: Redis at %s %q", words, c.Redis.Network, c.Redis.Address)
		}
		if again, err := Parse(args, io.Discard); err != nil || again.String() != c.String() {
			t.Errorf("%q: %s at first, then %s, %v", words, c, again, err)
		}
	})
}

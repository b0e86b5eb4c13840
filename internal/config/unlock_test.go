package config

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

func TestParseUnlock(t *testing.T) {
	clearEnvironment(t)
	u, err := ParseUnlock([]string{"alice", "-redis", "10.0.0.1:6379"}, io.Discard)
	if err != nil || u.Name != "alice" || u.Redis.Address != "10.0.0.1:6379" {
		t.Errorf("%+v, %v", u, err)
	}
	for args, want := range map[string]string{
		"":                 "no name is given",
		"-redis a:1":       "no name is given",
		"alice -no-flag":   "flag provided but not defined: -no-flag",
		"alice bob":        `"bob"`,
		"alice -workers x": `-workers is "x"`,
	} {
		_, err := ParseUnlock(strings.Fields(args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	var out strings.Builder
	if _, err := ParseUnlock([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(out.String(), "flashsale unlock NAME") || strings.Contains(out.String(), "-workers") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

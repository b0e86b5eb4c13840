package config

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseStatus(t *testing.T) {
	t.Setenv("OPS", "")
	t.Setenv("WATCH", "")
	for _, test := range []struct {
		args     string
		servers  string
		watch    bool
		interval time.Duration
	}{
		{"", "127.0.0.1:9100", false, time.Second},
		{"-watch", "127.0.0.1:9100", true, time.Second},
		{"-watch 5s", "127.0.0.1:9100", true, 5 * time.Second},
		{"--watch 200ms -ops a:1,b:2", "a:1 b:2", true, 200 * time.Millisecond},
		{"-watch -ops [::1]:9100", "[::1]:9100", true, time.Second},
		{"-watch=false", "127.0.0.1:9100", false, time.Second},
	} {
		s, err := ParseStatus(strings.Fields(test.args), io.Discard)
		if err != nil || !slices.Equal(s.Servers, strings.Fields(test.servers)) || s.Watch != test.watch ||
			s.Interval != test.interval {
			t.Errorf("%q: %+v, %v", test.args, s, err)
		}
	}
}

func TestParseStatusRefuses(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-ops 9100", `-ops has "9100"; it must be host:port, as 127.0.0.1:9100`},
		{"-ops a:1,", `-ops has ""; it must be host:port, as 127.0.0.1:9100`},
		{"-ops a:", `-ops has "a:"; it must be host:port, as 127.0.0.1:9100`},
		{"-ops a:1,b:1,a:1", "-ops has a:1 twice"},
		{"-watch 5", `unexpected argument "5" (-h lists all flags)`},
		{"-watch 0s", "the interval of -watch is 0s; it must be from 200ms to 1m0s"},
		{"-watch 1h", "the interval of -watch is 1h0m0s; it must be from 200ms to 1m0s"},
		{"-redis x", "flag provided but not defined: -redis (-h lists all flags)"},
	} {
		if _, err := ParseStatus(strings.Fields(test.args), io.Discard); err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.args, err, test.want)
		}
	}
}

func TestStatusHelp(t *testing.T) {
	var out strings.Builder
	if _, err := ParseStatus([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{statusUsage, "\n  -ops address  [OPS]\n", "\n  -watch  [WATCH]\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help has no %q:\n%s", want, out.String())
		}
	}
}

package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// FuzzOptions reads any words as arguments, one a line: what is refused is bad usage in one line, what is
// accepted is within the limits, and root's password is not shown.
func FuzzOptions(f *testing.F) {
	for _, words := range []string{
		"", "-h", "-addr\na:1,[::1]:2", "-addr=a:65536", "-concurrency=1,2\n-compare=floor|product",
		"-compare=A=b STORE=tcp product -workers 1|floor", "-compare=|", "-rate=1e9", "-rate=NaN", "-ramp",
		"-duration=1h\n-rate=5",
		"-seed=18446744073709551615", "-orders=0", "-timeout=-1s", "-vs-url=a:1\n-vs-pids=1\n-compare=floor",
		"-retry\n-audit-only"} {
		f.Add(words)
	}
	const secret = "hushhushhush"
	f.Setenv("ROOT_PASSWORD", secret)
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, words string) {
		if strings.Contains(words, "\r") {
			return // package flag repeats the name of an unknown flag as it is
		}
		got, err := parse(strings.Split(words, "\n"), io.Discard)
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		if err != nil {
			if !errors.Is(err, sale.ErrUsage) || strings.ContainsAny(err.Error(), "\r\n") ||
				strings.Contains(err.Error(), secret) {
				t.Errorf("%q: error %q", words, err)
			}
			return
		}
		var opt load.Options
		switch got := got.(type) {
		case *loadTask:
			opt = got.load
			if n := len(opt.Servers); n == 0 || n > sale.ServersMax ||
				strings.Contains(got.proof.line, secret) {
				t.Errorf("%q: %+v, %+v", words, opt, got.proof)
			}
		case *compareTask:
			opt = got.opt.Load
			if n := len(got.opt.Sides); n < 2 || n > compare.SidesMax+1 {
				t.Errorf("%q: sides %+v", words, got.opt.Sides)
			}
		case *soakTask:
			opt = got.opt.Load
		default:
			return
		}
		if err := opt.Resolve(nil); err != nil || opt.Concurrency < 1 ||
			opt.Concurrency > load.ConcurrencyMax {
			t.Errorf("%q: accepted %+v, %v", words, opt, err)
		}
	})
}

package repeats

import (
	"errors"
	"flag"
	"io"
	"regexp"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/scripts/bench/sale"
)

// parse reads flags as bench does.
func parse(args ...string) (opt Options, err error) {
	fs := flag.NewFlagSet("repeats", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	opt.Register(fs)
	if err := fs.Parse(args); err != nil {
		return opt, err
	}
	return opt, opt.Check()
}

func TestRun(t *testing.T) {
	testkit.Need(t, "redis-server")
	opt, err := parse("-texts", "3", "-messages", "300", "-many", "500", "-calls", "200", "-callers", "8")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Run(t.Context(), opt, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`(?m)^plain INCR +\d\.\d+ s +[\d.]+ +\d+\.\d\d +\d\.\d+ s +[\d.]+ +\d+\.\d\d$`,
		`(?m)^best: nothing expired +\d\.\d+ s`, `(?m)^worst: all expired +\d\.\d+ s`,
		`(?m)^500 texts +\d\.\d+ s`, `(?m)^memory of a text that came once +[1-9]\d+ bytes$`,
	} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", line, &out)
		}
	}
}

func TestRefusals(t *testing.T) {
	if _, err := parse(); err != nil {
		t.Error(err)
	}
	for _, args := range []string{"-texts=0", "-messages=86401", "-many=-1", "-calls=0", "-callers=257"} {
		if _, err := parse(args); !errors.Is(err, sale.ErrUsage) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

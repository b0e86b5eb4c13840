package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
)

func TestParseOptionsRefuses(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-only nothing", `"nothing" is no drill (-list lists all)`},
		{"-only worker-killed+worker-killed", `is no drill`},
		{"-only worker-killed+redis-killed-own", "cannot be made at once"},
		{"-pairs -1", "-pairs -1 is not within 0 to 1000"},
		{"-pairs 1001", "-pairs 1001 is not within 0 to 1000"},
		{"-slack 0", "-slack 0 is not within 1 to 100"},
		{"-seed x", "-h lists all flags"},
		{"worker-killed", `"worker-killed" is not a flag`},
	} {
		_, err := parseOptions(strings.Fields(test.args), io.Discard)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
}

func TestHelpListsFlags(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"go run ./scripts/drill", "-only", "-seed", "-long", "-pairs", "-list"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help has no %q", want)
		}
	}
}

func TestListNamesEveryDrill(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-list"}, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(drills) {
		t.Fatalf("%d lines for %d drills", len(lines), len(drills))
	}
	for i, line := range lines {
		if d := drills[i]; !strings.HasPrefix(line, d.name+" ") || strings.HasSuffix(line,
			"(not in pairs)") != d.alone() {
			t.Errorf("line %q for %s", line, d.name)
		}
	}
}

func turnsOf(t *testing.T, args string) []turn {
	t.Helper()
	opt, err := parseOptions(strings.Fields(args), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return opt.turns()
}

func names(turns []turn) (names []string) {
	for _, t := range turns {
		names = append(names, t.drill.name)
	}
	return names
}

func TestTurns(t *testing.T) {
	for _, test := range []struct {
		args string
		want int
	}{
		{"", len(drills)},
		{"-only reset,emptied", 2},
		{"-pairs 3", 3},
		{"-only reset -pairs 3", 4},
		{"-long", longRounds*len(drills) + longPairs},
		{"-long -only reset", longRounds},
		{"-long -pairs 3", longRounds*len(drills) + 3},
	} {
		if got := turnsOf(t, test.args); len(got) != test.want {
			t.Errorf("%q: %d turns, want %d: %v", test.args, len(got), test.want, names(got))
		}
	}
}

// The same seed chooses the same pairs and falls the same in each drill, whatever runs beside it; another
// seed does not.
func TestSeedDecides(t *testing.T) {
	first, again, other := turnsOf(t, "-pairs 20 -seed 1"), turnsOf(t, "-pairs 20 -seed 1"), turnsOf(t,
		"-pairs 20 -seed 2")
	if strings.Join(names(first), " ") != strings.Join(names(again), " ") {
		t.Error("the same seed chooses other pairs")
	}
	if strings.Join(names(first), " ") == strings.Join(names(other), " ") {
		t.Error("another seed chooses the same pairs")
	}
	all, alone := turnsOf(t, "-seed 5"), turnsOf(t, "-only reset,emptied -seed 5")
	for _, one := range alone {
		for _, turn := range all {
			if turn.drill.name == one.drill.name && turn.dice().Uint64() != one.dice().Uint64() {
				t.Errorf("%s falls otherwise alone than among all", one.drill.name)
			}
		}
	}
	if alone[0].dice().Uint64() == alone[1].dice().Uint64() {
		t.Error("two drills have the same dice")
	}
}

func TestPairsAreDifferentAndPossible(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range choosePairs(60, 9) {
		a, b, _ := strings.Cut(d.name, "+")
		if seen[d.name] || a == b {
			t.Errorf("pair %s comes again or is no pair", d.name)
		}
		seen[d.name] = true
		if d.setup.own || d.setup.everysec || d.setup.servers < 1 {
			t.Errorf("pair %s has the stack %+v", d.name, d.setup)
		}
		if found, err := findDrill(d.name); err != nil || found.setup != d.setup {
			t.Errorf("-only %s: %+v, %v", d.name, found.setup, err)
		}
	}
}

// The drills do not set -redis-timeout, and judge answers by its default.
func TestRedisTimeoutIsTheDefault(t *testing.T) {
	help, err := os.ReadFile("../../internal/config/testdata/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, about, found := strings.Cut(string(help), "-redis-timeout time")
	about, _, _ = strings.Cut(about, "\n  -")
	if want := "(default " + redisTimeout.String() + ")"; !found || !strings.Contains(about, want) {
		t.Errorf("the help has %q for -redis-timeout, want %s in it", about, want)
	}
}

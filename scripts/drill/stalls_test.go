package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func TestStallLengths(t *testing.T) {
	for _, long := range []bool{false, true} {
		lengths := stallLengths(long, rand.New(rand.NewPCG(7, 7)))
		if want := map[bool]int{false: 3, true: stallsLong}[long]; len(lengths) != want {
			t.Errorf("long %v: %d stalls, want %d", long, len(lengths), want)
		}
		if lengths[0] != stallMin || lengths[2] != stallMax {
			t.Errorf("long %v: %v, want the shortest and the longest among the first three", long, lengths)
		}
		for _, one := range lengths {
			if one < stallMin || one > stallMax {
				t.Errorf("long %v: a stall of %v", long, one)
			}
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

package main

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestMoreOrdersThanUsers(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-orders", "202")
	want := "bench: 201 users buy, -orders asks for 202; 0 of 201 have an order already and are skipped\n"
	if code != 0 || stderr != want || rep.Load.Placed != 201 {
		t.Errorf("exit %d, stderr %q, load %+v", code, stderr, rep.Load)
	}
}

// A wrong flag is named as such, before a sale and in the middle of one, with a load and without: it is no
// violation.
func TestWrongFlagsAreNoViolation(t *testing.T) {
	flags := map[string]string{
		"-foods=9":    "sells 10 foods, bench was told 9",
		"-foods=11":   "sells 10 foods, bench was told 11",
		"-users=200":  "has 201 users, bench was told 200",
		"-stock=1":    "began with 1000 pieces of food 1 (%d left + %d sold), bench was told 1",
		"-stock=5000": "began with 1000 pieces of food 1 (%d left + %d sold), bench was told 5000",
	}
	s := newShop(builtIn(t, 10, 1000), honest)
	s.users = 201
	addresses := []string{s.open(t)}
	for _, sale := range []string{"new", "old"} {
		left := s.foods[0].Stock
		var runs sync.WaitGroup // at once, because a wrong stock takes the whole lag to be believed
		for flag, want := range flags {
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, left, 1000-left)
			}
			want := "bench: bad usage: " + addresses[0] + " " + want +
				"; give bench the server's catalogue settings (-users, -foods, -stock, ...)\n"
			for _, mode := range []string{"load", "audit"} {
				runs.Go(func() {
					if _, stderr, code := bench(t, addresses, 10, 1000, mode, flag); code != exitUsage ||
						stderr != want {
						t.Errorf("%s sale, %s %s: exit %d, stderr %q, want %q", sale, mode, flag,
							code, stderr, want)
					}
				})
			}
		}
		runs.Wait()
		if _, stderr, code := bench(t, addresses, 10, 1000); code != 0 || s.foods[0].Stock == 1000 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
}

// What went wrong in the sale is no wrong flag: it differs from food to food.
func TestAuditOnlyFindsOversell(t *testing.T) {
	s := newShop(builtIn(t, 10, 3), sellsTwice)
	addresses := []string{s.open(t)}
	for _, mode := range []string{"load", "audit"} {
		rep, stderr, code := bench(t, addresses, 10, 3, mode)
		if code != exitAudit || len(failed(rep.Audit)) != 2 {
			t.Errorf("%s: exit %d: %s %+v", mode, code, stderr, rep.Audit)
		}
	}
}

func TestCommandLineInReport(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	s.users = 201
	address := s.open(t)
	t.Setenv("DB_PASS", "hidden")
	t.Setenv("TIMEOUT", "5s")
	rep, stderr, code := bench(t, []string{address}, 10, 1000, "-retry", "-html", "/dev/null")
	want := "bench -addr=" + address + " -concurrency=8 -db-pass=(set) -foods=10 -html=/dev/null " +
		"-json=true -orders=100 -retry=true -root-password=(set) -seed=7 -timeout=5s -users=201"
	if code != 0 || rep.Command != want {
		t.Errorf("exit %d: %s\ngot  %s\nwant %s", code, stderr, rep.Command, want)
	}
	if ready := rep.Readiness[address]; !reflect.DeepEqual(ready,
		map[string]any{"sale": "shop", "users": 201.0}) {
		t.Errorf("readiness %v", rep.Readiness)
	}
}

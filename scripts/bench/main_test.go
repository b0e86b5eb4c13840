package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
)

// TestMain lets the test binary be the floor as well, which bench starts as a copy of itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compare.FloorProgram {
		main()
	}
	testkit.AtOnce(4)
	os.Exit(m.Run())
}

// builtIn returns the foods of the built-in catalogue as a server offers them.
func builtIn(t *testing.T, foods, stock int) []audit.Offer {
	t.Helper()
	list, err := catalog.Read(t.Context(),
		catalog.Config{Users: 2, Foods: foods, Stock: stock, RootPassword: "secret"},
		func(catalog.User) error { return nil })
	testkit.Must(t, err)
	offers := make([]audit.Offer, len(list))
	for i, f := range list {
		offers[i] = audit.Offer{ID: f.ID, Price: f.Price, Stock: f.Stock}
	}
	return offers
}

// bench loads the shop at the addresses with 201 users, or runs another subcommand that args begin with, and
// returns report, text on stderr and exit code.
func bench(t *testing.T, addresses []string, foods, stock int, args ...string) (Report, string, int) {
	t.Helper()
	line := []string{"-json", "-addr", strings.Join(addresses, ","), "-users", "201", "-foods",
		strconv.Itoa(foods),
		"-stock", strconv.Itoa(stock), "-root-password", "secret"}
	name := "load"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if name == "load" {
		line = append(line, "-concurrency", "8", "-orders", "100", "-seed", "7")
	}
	var stdout, stderr bytes.Buffer
	code := exitCode(run(slices.Concat([]string{name}, line, args), &stdout, &stderr), &stderr)
	var rep Report
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
			t.Fatalf("report is not JSON: %v\n%s", err, stdout.Bytes())
		}
	}
	return rep, stderr.String(), code
}

// failed lists the names of the checks with violations.
func failed(checks []audit.Check) []string {
	var names []string
	for _, c := range checks {
		if c.Violations > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestHonestShopInEveryStyle(t *testing.T) {
	none := func(requestLook) bool { return true }
	styles := map[string]struct {
		args        []string
		connections int64 // at least
		look        func(requestLook) bool
	}{
		"default": {nil, 2, func(l requestLook) bool {
			return l.tokenInQuery == 0 && l.tokenInHeader > 400 && l.bodies == 0
		}},
		"token in query": {[]string{"-token-in-query"}, 2,
			func(l requestLook) bool { return l.tokenInQuery > 400 }},
		"new connections": {[]string{"-new-connections"}, 500, none}, // one for each request
		"contest bodies": {[]string{"-contest-bodies"}, 2,
			func(l requestLook) bool { return l.bodies == 200 }},
		"TLS":              {[]string{"-tls"}, 2, none},
		"TLS, verified":    {[]string{"-tls-ca", "the shop's"}, 2, none},
		"at a given rate":  {[]string{"-rate", "4000"}, 2, none},
		"retried, no need": {[]string{"-retry"}, 2, none},
	}
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			s := newShop(builtIn(t, 10, 1000), honest)
			addresses, args := []string{s.open(t), s.open(t)}, slices.Clone(style.args)
			if strings.HasPrefix(name, "TLS") {
				address, caFile := s.openTLS(t)
				addresses = []string{address, address}
				if len(args) == 2 {
					args[1] = caFile
				}
			}
			rep, stderr, code := bench(t, addresses, 10, 1000, args...)
			if code != 0 {
				t.Fatalf("exit %d: %s %+v", code, stderr, rep.Audit)
			}
			l := rep.Load
			if l.Placed != 100 || l.Refused != 0 || l.Unknown != 0 || len(l.Refusals) != 0 ||
				len(l.Faults) != 0 {
				t.Errorf("load = %+v", l)
			}
			if l.Connections < style.connections || l.Reconnects != 0 || l.BytesSent == 0 ||
				l.BytesReceived == 0 {
				t.Errorf("traffic = %+v", l.Traffic)
			}
			if len(s.orders) != 100 || !style.look(s.seen) {
				t.Errorf("shop has %d orders and saw %+v", len(s.orders), s.seen)
			}
			checks := 10
			if l.Settling != nil {
				checks++
			}
			if len(rep.Audit) != checks || len(failed(rep.Audit)) != 0 {
				t.Errorf("audit = %+v", rep.Audit)
			}
		})
	}
}

func TestSeedDecidesPieces(t *testing.T) {
	var pieces [3]map[uint32][]audit.Item
	for i, seed := range []string{"7", "7", "8"} {
		s := newShop(builtIn(t, 10, 1000), honest)
		if _, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-seed", seed); code != 0 {
			t.Fatal(stderr)
		}
		pieces[i] = map[uint32][]audit.Item{}
		for _, o := range s.orders {
			pieces[i][o.UserID] = o.Items
		}
	}
	if !reflect.DeepEqual(pieces[0], pieces[1]) || reflect.DeepEqual(pieces[0], pieces[2]) {
		t.Error("pieces do not follow the seed")
	}
}

func TestSoldOutShopRefuses(t *testing.T) {
	s := newShop(builtIn(t, 2, 20), honest)
	rep, stderr, code := bench(t, []string{s.open(t)}, 2, 20)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	want := []load.EventCount{{Step: "order", Name: "FOOD_OUT_OF_STOCK", Count: int64(100 - len(s.orders))}}
	if rep.Load.Placed != len(s.orders) || !reflect.DeepEqual(rep.Load.Refusals, want) {
		t.Errorf("placed %d of %d, refusals %+v", rep.Load.Placed, len(s.orders), rep.Load.Refusals)
	}
}

func TestSecondRunTakesOtherUsers(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	addresses := []string{s.open(t)}
	for n := range 2 {
		if rep, stderr, code := bench(t, addresses, 10, 1000); code != 0 || rep.Load.Placed != 100 {
			t.Fatalf("run %d: exit %d: %s", n, code, stderr)
		}
	}
	rep, stderr, code := bench(t, addresses, 10, 1000)
	want := "bench: 1 users buy, -orders asks for 100; 200 of 201 have an order already and are skipped\n"
	if code != 0 || stderr != want || rep.Load.Placed != 1 || rep.Load.Skipped != 200 {
		t.Errorf("exit %d, stderr %q, load %+v", code, stderr, rep.Load)
	}
	_, stderr, code = bench(t, addresses, 10, 1000)
	want = "bench: bad usage: all 201 users have an order and each buys once; open a new sale\n"
	if code != exitUsage || stderr != want {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
	addresses = append([]string{"127.0.0.1:1"}, addresses...) // where nothing answers
	rep, stderr, code = bench(t, addresses, 10, 1000, "audit")
	if code != 0 || rep.Load != nil || len(rep.Audit) != 6 || rep.Audit[0].Examined != 201 {
		t.Errorf("audit alone: exit %d: %s %+v", code, stderr, rep)
	}
}

func TestSignalEndsLoadAndAudits(t *testing.T) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt)
	defer signal.Stop(received)
	s := newShop(builtIn(t, 10, 1000), honest)
	s.onOrder = func(n int) {
		if n == 5 {
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
				t.Error(err)
			}
			<-received
		}
	}
	rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-users", "5001", "-orders", "5000")
	if code != 0 || !rep.Load.Interrupted || rep.Load.Placed < 5 || rep.Load.Placed >= 5000 ||
		len(rep.Audit) != 10 {
		t.Errorf("exit %d: %s, load %+v", code, stderr, rep.Load)
	}
}

func TestDurationEndsLoad(t *testing.T) {
	var s *shop
	var rep Report
	var stderr string
	var code int
	testkit.Until(t, "order within half a second", func() bool { // a busy machine may place none
		s = newShop(builtIn(t, 10, 1000), honest)
		rep, stderr, code = bench(t, []string{s.open(t)}, 10, 1000, "-users", "100001", "-orders", "100000",
			"-duration", "500ms")
		return len(s.orders) > 0
	})
	if code != 0 || rep.Load.Interrupted || rep.Load.Placed != len(s.orders) {
		t.Errorf("exit %d: %s, load %+v", code, stderr, rep.Load)
	}
}

func TestExitCodes(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	address := s.open(t)
	encrypted, _ := s.openTLS(t)
	_, port, _ := net.SplitHostPort(encrypted)
	_, caFile := s.openTLS(t)    // the same certificate, which is for 127.0.0.1
	const nobody = "127.0.0.1:1" // a port that nothing uses
	tests := map[string]struct {
		address string
		args    []string
		code    int
		stderr  string
	}{
		"no server": {nobody, nil, exitUnreachable, "connection refused"},
		"other password": {address, []string{"-root-password", "wrong"}, exitUsage,
			"refuses root's password (from ROOT_PASSWORD or -root-password); set ROOT_PASSWORD as for the " +
				"server, or -data to its folder\n"},
		"plain to TLS": {encrypted, nil, exitUsage, "bench: bad usage: " + encrypted +
			" speaks TLS and bench plain HTTP; add -tls\n"},
		"TLS to plain": {address, []string{"-tls"}, exitUsage, "bench: bad usage: " + address +
			" speaks plain HTTP and bench TLS; leave out -tls and -tls-ca\n"},
		"other certificate": {"localhost:" + port, []string{"-tls-ca", caFile}, exitUnreachable, "x509: "},
		"unknown flag": {address, []string{"-fast"}, exitUsage,
			"flag provided but not defined: -fast (bench load -h"},
		"stray word": {address, []string{"fast"}, exitUsage, `"fast" is not a flag`},
		"no held orders": {address, []string{"-cancel", "0.1"}, exitUsage,
			"the sale holds no orders: -cancel, -pay and -late need a server with -hold"},
		"help": {address, []string{"-h"}, 0, ""},
		"page that cannot be written": {address, []string{"-html", "/none/x.html"}, exitUsage,
			"cannot write -html"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"-addr", test.address, "-users", "201", "-foods", "10", "-root-password",
				"secret", "-seed", "8"}, test.args...)
			code := exitCode(run(args, &stdout, &stderr), &stderr)
			if code != test.code || !strings.Contains(stderr.String(), test.stderr) ||
				strings.Count(stderr.String(), "\n") > 1 {
				t.Errorf("exit %d, stderr %q", code, stderr.String())
			}
		})
	}
}

func TestLoadWithoutAnyAnswerFails(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	address := s.open(t)
	s.onOrder = func(int) { panic(http.ErrAbortHandler) }
	rep, stderr, code := bench(t, []string{address}, 10, 1000)
	if code != exitUnreachable || !strings.Contains(stderr, "not one order was answered") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
	want := []load.EventCount{{Step: "order", Name: "closed by server", Count: 100}}
	if !reflect.DeepEqual(rep.Load.Faults, want) || rep.Load.Unknown != 100 || rep.Load.Reconnects == 0 {
		t.Errorf("load = %+v", rep.Load)
	}
}

// All flows are meant to start at once and one buyer goes through them: the last one took the whole load,
// although none of its requests took long. In a closed loop it would look as fast as the first.
func TestOpenLoopCountsFromIntendedStart(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-rate", "1000000", "-concurrency", "1")
	if code != 0 {
		t.Fatal(stderr)
	}
	l := rep.Load
	flow, elapsed := l.Latency[load.StepCount], int64(l.ElapsedSeconds*1e6)
	if flow.Step != "flow" || flow.Count != 100 || flow.Max < elapsed/2 {
		t.Errorf("flow = %+v, the load took %d us", flow, elapsed)
	}
	if l.Rate != 1e6 || l.Placed != 100 || l.LateStarts+l.OwnLateness.Count != 100 || l.LateStarts == 0 {
		t.Errorf("load = %+v", l)
	}
}

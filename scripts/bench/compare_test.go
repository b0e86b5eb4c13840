package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// compared runs a comparison of 200 orders by 8 buyers in two rounds and returns the report, stderr and the
// exit code.
func compared(t *testing.T, sides string, args ...string) (compare.Report, string, int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := exitCode(run(append([]string{"compare", sides, "-json", "-rounds", "2", "-orders", "200",
		"-concurrency", "8", "-seed", "7"}, args...),
		&stdout, &stderr), &stderr)
	var rep compare.Report
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
			t.Fatalf("report is not JSON: %v\n%s", err, stdout.Bytes())
		}
	}
	return rep, stderr.String(), code
}

func TestCompareFloorWithProduct(t *testing.T) {
	requireTool(t, "redis-server")
	rep, stderr, code := compared(t, "floor | SERVERS=2 product -workers 1 | STORE=own product -workers 1",
		"-concurrency", "8,20")
	if code != 0 || len(rep.Tables) != 2 || rep.Tables[0].Concurrency != 8 ||
		rep.Tables[1].Concurrency != 20 {
		t.Fatalf("exit %d: %s %+v", code, stderr, rep)
	}
	for _, table := range rep.Tables {
		for i, name := range []string{"floor", "SERVERS=2 product -workers 1",
			"STORE=own product -workers 1"} {
			s := table.Sides[i]
			if s.Side != name || len(s.Trials) != 2 {
				t.Fatalf("side %d = %+v", i, s)
			}
			for n, trial := range s.Trials {
				sells := i > 0
				if trial.Round != n+1 || trial.Flows != 200 || trial.Placed != 200 ||
					(trial.Checks == 10) != sells ||
					trial.CPU.App <= 0 || (trial.CPU.Redis > 0) != sells || trial.CPU.Generator <= 0 ||
					trial.CPU.Total < trial.CPU.App || trial.WorkerMemory < 1<<20 ||
					trial.OrderP99 < trial.OrderP50 {
					t.Errorf("%s: trial %+v", name, trial)
				}
			}
		}
		if base := table.Sides[0]; base.CPURatio != (compare.Spread{Median: 1, Min: 1, Max: 1}) ||
			base.OrdersRatio != (compare.Spread{Median: 1, Min: 1, Max: 1}) {
			t.Errorf("base against itself: %+v, %+v", base.CPURatio, base.OrdersRatio)
		}
		product, base := table.Sides[1], table.Sides[0]
		first, second := product.Trials[0].CPU.Total/base.Trials[0].CPU.Total,
			product.Trials[1].CPU.Total/base.Trials[1].CPU.Total
		if want := compare.NewSpread([]float64{first, second}); product.CPURatio != want {
			t.Errorf("an order of the product costs %v of the floor's, want %v", product.CPURatio, want)
		}
	}
}

// The first side keeps its 8 connections, the second opens one for each of six requests.
func TestCompareStylesOfSides(t *testing.T) {
	rep, stderr, code := compared(t, "kernel -workers 1 | floor -workers 1 -new-connections")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for i, s := range rep.Tables[0].Sides {
		for _, trial := range s.Trials {
			if trial.Placed != 200 || trial.CPU.App <= 0 || trial.Checks != 0 || trial.Reconnects != 0 ||
				len(trial.Refusals)+len(trial.Faults) != 0 || (trial.Connections == 8) != (i == 0) ||
				i == 1 && (trial.Connections < 5*200 || trial.Connections > 7*200) {
				t.Errorf("%s: trial %+v", s.Side, trial)
			}
		}
	}
}

func TestCompareWithForeignServer(t *testing.T) {
	target := served(t, "floor -workers 1", "", catalog.Config{Users: 2000, Foods: 100, Stock: 1000})
	foreign := []string{"-vs-url", target.Servers[0], "-vs-pids", strconv.Itoa(target.Roots[0])}
	rep, stderr, code := compared(t, "floor -workers 1", foreign...)
	if code != 0 || len(rep.Tables) != 1 || len(rep.Tables[0].Sides) != 2 {
		t.Fatalf("exit %d: %s %+v", code, stderr, rep)
	}
	for _, trial := range rep.Tables[0].Sides[1].Trials {
		if trial.Placed != 200 || trial.CPU.Total <= 0 || trial.Checks != 0 {
			t.Errorf("trial %+v", trial)
		}
	}
	_, stderr, code = compared(t, "floor -workers 1", append(foreign, "-users", "440")...)
	want := "bench: bad usage: the server of -vs-url needs 440 users who never bought, and root, in 2 " +
		"rounds; give them to it and say so by -users, or lower -orders or -rounds (-users is 440)\n"
	if code != exitUsage || stderr != want {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestCompareReportsServerThatDoesNotStart(t *testing.T) {
	_, stderr, code := compared(t, "floor | floor -workers 0")
	want := `round 1 of side "floor -workers 0": sale unreachable: side "floor -workers 0": ` +
		"no 200 of /readyz: /proc/self/exe has ended (exit status 2)\n" +
		"bench: bad usage: -workers 0 is not within 1 to 256\n"
	if code != exitUnreachable || !strings.HasSuffix(strings.TrimRight(stderr, "\n")+"\n", want) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// What sells wrongly must not be compared.
func TestComparisonAuditFails(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), losesOrder)
	opt := load.Options{Servers: []string{s.open(t)}, Concurrency: 4, Timeout: load.TimeoutMax, Seed: 7}
	onSale, err := sale.Read(t.Context(), catalog.Config{Users: 101, Foods: 10, Stock: 1000,
		RootPassword: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	attempts := load.New(opt, onSale.Foods, onSale.Users[1:]).Run(t.Context()).Attempts
	_, err = compare.Prove(t.Context(), opt.Servers, onSale, attempts, false)
	if !errors.Is(err, audit.ErrFailed) || !strings.HasPrefix(err.Error(),
		"audit failed: "+audit.Acknowledged+": 1 violations, such as: order ") {
		t.Error(err)
	}
}

// The canned servers are fair bases only while their replies are as long as the product's.
func TestCannedRepliesAsLongAsProduct(t *testing.T) {
	requireTool(t, "redis-server")
	opt := load.Options{Concurrency: 4, Timeout: load.TimeoutMax, Seed: 7}
	catalogue := catalog.Config{Users: 1000, Foods: 100, Stock: 1000, RootPassword: "secret"}
	onSale, err := sale.Read(t.Context(), catalogue)
	if err != nil {
		t.Fatal(err)
	}
	product, err := launch.Build(t.Context(), launch.ServerSource)
	if err != nil {
		t.Fatal(err)
	}
	var received [3]int64
	for i, text := range []string{"kernel", "floor", "product"} {
		opt.Servers = served(t, text, product, catalogue).Servers
		users := onSale.Users[899:999] // ids as long as the last one's
		rep := load.New(opt, onSale.Foods, users).Run(context.Background()).Report()
		received[i] = rep.BytesReceived
		if rep.Placed != 100 {
			t.Fatalf("%s: %+v", text, rep)
		}
	}
	// Stock that sells below 1000 makes the product's food list shorter, by one byte a food at most.
	fromKernel, fromFloor, fromProduct := received[0], received[1], received[2]
	if fromKernel != fromFloor || fromFloor < fromProduct || fromFloor-fromProduct > 100*100 {
		t.Errorf("100 flows received %d bytes from the kernel side, %d from the floor, %d from the product",
			fromKernel, fromFloor, fromProduct)
	}
}

// served starts a side until the test ends.
func served(t *testing.T, text, product string, catalogue catalog.Config) *compare.Target {
	t.Helper()
	s, err := compare.ParseSide(text)
	if err != nil {
		t.Fatal(err)
	}
	target, err := s.Start(t.Context(), t.TempDir(), product, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.Stop)
	return target
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	const crowded = "IDLE=20 VIEWERS=10 SLOW=5 STORE=own product -workers 1"
	rep, stderr, code := compared(t, "floor | SERVERS=2 product -workers 1 | "+crowded,
		"-concurrency", "8,20")
	if code != 0 || len(rep.Tables) != 2 || rep.Tables[0].Concurrency != 8 ||
		rep.Tables[1].Concurrency != 20 {
		t.Fatalf("exit %d: %s %+v", code, stderr, rep)
	}
	for _, table := range rep.Tables {
		for i, name := range []string{"floor", "SERVERS=2 product -workers 1", crowded} {
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
					trial.OrderP99 < trial.OrderP50 || i == 2 && (trial.IdleHeld != 20 || trial.ViewersHeld != 10) {
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

// The floor is a fair base only while its replies are as long as the product's.
func TestFloorRepliesAsLongAsProduct(t *testing.T) {
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
	var received [2]int64
	for i, text := range []string{"floor", "product"} {
		opt.Servers = served(t, text, product, catalogue).Servers
		users := onSale.Users[899:999] // ids as long as the last one's
		rep := load.New(opt, onSale.Foods, users).Run(context.Background()).Report()
		received[i] = rep.BytesReceived
		if rep.Placed != 100 {
			t.Fatalf("%s: %+v", text, rep)
		}
	}
	// Stock that sells below 1000 makes the product's food list shorter, by one byte a food at most.
	if floor, product := received[0], received[1]; floor < product || floor-product > 100*100 {
		t.Errorf("100 flows received %d bytes from the floor, %d from the product", floor, product)
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

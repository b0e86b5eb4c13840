package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// comparison runs bench compare with these rounds and buyers at once, 200 orders each time.
func comparison(t *testing.T, sides []string, rounds, buyers string, flags ...string) *compare.Report {
	t.Helper()
	task := parsed[*compareTask](t, append([]string{"compare", strings.Join(sides, "|"), "-rounds", rounds,
		"-orders", "200", "-concurrency", buyers, "-seed", "7"}, flags...)...)
	rep, err := compare.Run(t.Context(), task.opt, io.Discard)
	testkit.Must(t, err)
	return rep
}

func TestCompareFloorWithProduct(t *testing.T) {
	requireTool(t, "redis-server")
	const crowded = "VIEWERS=10 STORE=own product -workers 1"
	names := []string{"floor", "SERVERS=2 product -workers 1", crowded, "product -slices 4",
		"REDIS=2 product -workers 1", "CLUSTER=3 product -workers 1", "REPLICAS=1 product -ack replica"}
	rep := comparison(t, names, "1", "20")
	if len(rep.Tables) != 1 {
		t.Fatalf("%+v", rep)
	}
	for i, name := range names {
		s := rep.Tables[0].Sides[i]
		if s.Side != name || len(s.Trials) != 1 {
			t.Fatalf("side %d = %+v", i, s)
		}
		sells := i > 0
		if trial := s.Trials[0]; trial.Flows != 200 || trial.Placed != 200 || (trial.Checks == 10) != sells ||
			trial.CPU.App <= 0 || (trial.CPU.Redis > 0) != sells || trial.CPU.Generator <= 0 ||
			trial.CPU.Total < trial.CPU.App || trial.WorkerMemory < 1<<20 ||
			trial.OrderP99 < trial.OrderP50 || i == 2 && trial.CrowdHeld != 10 ||
			(trial.OrdersByScript > 0) != (sells && i != 2) {
			t.Errorf("%s: trial %+v", name, trial)
		}
	}
	var out bytes.Buffer
	testkit.Must(t, writeComparison(&out, rep))
	for _, want := range []string{"20 buyers at once ", "  10 viewers: ",
		"  audit: 6 runs, 60 checks, no violation\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Held orders are paid on every side, after its load, also where holds end beside the orders.
func TestCompareHeldOrders(t *testing.T) {
	requireTool(t, "redis-server")
	const paying = "PAYMENT_KEY=key PAYMENT_SECRETS=" + benchSecret + " product -workers 1 " +
		"-payment http://127.0.0.1:1/payments -payment-session 1m -hold "
	rep := comparison(t, []string{"floor", paying + "1h", paying + "1s"}, "1", "20", "-rate", "150",
		"-pay", "0.6", "-payment-secret", benchSecret)
	for i, s := range rep.Tables[0].Sides {
		if trial := s.Trials[0]; trial.Placed != 200 || (trial.Checks == 13) != (i > 0) {
			t.Errorf("%s: trial %+v", s.Side, trial)
		}
	}
}

// Each number of buyers has a table, and each round a run of each side.
func TestCompareInRounds(t *testing.T) {
	rep := comparison(t, []string{"floor", "floor -workers 1"}, "2", "8,20")
	if len(rep.Tables) != 2 || rep.Tables[0].Concurrency != 8 || rep.Tables[1].Concurrency != 20 {
		t.Fatalf("%+v", rep)
	}
	for _, table := range rep.Tables {
		for _, s := range table.Sides {
			if len(s.Trials) != 2 || s.Trials[0].Round != 1 || s.Trials[1].Round != 2 {
				t.Errorf("%s: trials %+v", s.Side, s.Trials)
			}
		}
		if base := table.Sides[0]; base.CPURatio != (compare.Spread{Median: 1, Min: 1, Max: 1}) ||
			base.OrdersRatio != base.CPURatio {
			t.Errorf("base against itself: %+v, %+v", base.CPURatio, base.OrdersRatio)
		}
	}
}

func TestCompareReportsServerThatDoesNotStart(t *testing.T) {
	var out, stderr bytes.Buffer
	code := exitCode(run([]string{"compare", "floor | floor -workers 0", "-rounds", "1", "-orders", "10"},
		&out, &stderr), &stderr)
	if want := `round 1 of side "floor -workers 0": sale unreachable: `; code != exitUnreachable ||
		!strings.Contains(stderr.String(), want) ||
		!strings.Contains(stderr.String(), "-workers 0 is less than 1\n") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

// What sells wrongly must not be compared.
func TestComparisonAuditFails(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), losesOrder)
	opt := load.Options{Servers: []string{s.open(t)}, Concurrency: 4, Timeout: load.TimeoutMax, Seed: 7}
	onSale, err := sale.Read(t.Context(), catalog.Config{Users: 101, Foods: 10, Stock: 1000,
		RootPassword: "secret"})
	testkit.Must(t, err)
	attempts := load.New(opt, onSale.Foods, onSale.Users[1:]).Run(t.Context()).Attempts
	_, err = compare.Prove(t.Context(), opt.Servers, audit.Evidence{Sale: onSale, Attempts: attempts})
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
	testkit.Must(t, err)
	var received [2]int64
	for i, text := range []string{"floor", "product"} {
		opt.Servers = served(t, text, catalogue)
		users := onSale.Users[899:999] // ids as long as the last one's
		rep := load.New(opt, onSale.Foods, users).Run(t.Context()).Report()
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

// served starts a side until the test ends and returns its servers.
func served(t *testing.T, text string, catalogue catalog.Config) []string {
	t.Helper()
	s, err := compare.ParseSide(text)
	testkit.Must(t, err)
	target, err := s.Start(t.Context(), t.TempDir(), launch.Built(t, launch.ServerSource), catalogue)
	testkit.Must(t, err)
	t.Cleanup(target.Stop)
	return target.Servers
}

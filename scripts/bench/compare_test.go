package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/catalog"
)

func requireRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	if os.Getenv("REQUIRE_REAL") == "1" {
		t.Fatal("REQUIRE_REAL=1, but there is no redis-server on PATH: install it")
	}
	t.Skip("no redis-server on PATH: the product is not compared with the floor")
}

// compared runs a comparison of 200 orders by 8 buyers in two rounds and returns the report, stderr and the exit code.
func compared(t *testing.T, args ...string) (compareReport, string, int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := exitCode(run(append([]string{"-json", "-rounds", "2", "-orders", "200", "-concurrency", "8", "-seed", "7"}, args...),
		&stdout, &stderr), &stderr)
	var rep compareReport
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
			t.Fatalf("report is not JSON: %v\n%s", err, stdout.Bytes())
		}
	}
	return rep, stderr.String(), code
}

func TestCompareFloorWithProduct(t *testing.T) {
	requireRedis(t)
	rep, stderr, code := compared(t, "-compare", "floor | SERVERS=2 product -workers 1 | STORE=own product -workers 1", "-concurrency", "8,20")
	if code != 0 || len(rep.Tables) != 2 || rep.Tables[0].Concurrency != 8 || rep.Tables[1].Concurrency != 20 {
		t.Fatalf("exit %d: %s %+v", code, stderr, rep)
	}
	for _, table := range rep.Tables {
		for i, name := range []string{"floor", "SERVERS=2 product -workers 1", "STORE=own product -workers 1"} {
			s := table.Sides[i]
			if s.Side != name || len(s.Trials) != 2 {
				t.Fatalf("side %d = %+v", i, s)
			}
			for n, trial := range s.Trials {
				sells := i > 0
				if trial.Round != n+1 || trial.Flows != 200 || trial.Placed != 200 || (trial.Checks == 10) != sells ||
					trial.CPU.App <= 0 || (trial.CPU.Redis > 0) != sells || trial.CPU.Generator <= 0 ||
					trial.CPU.Total < trial.CPU.App || trial.WorkerMemory < 1<<20 || trial.OrderP99 < trial.OrderP50 {
					t.Errorf("%s: trial %+v", name, trial)
				}
			}
		}
		if base := table.Sides[0]; base.CPURatio != (spread{1, 1, 1}) || base.OrdersRatio != (spread{1, 1, 1}) {
			t.Errorf("base against itself: %+v, %+v", base.CPURatio, base.OrdersRatio)
		}
		product, base := table.Sides[1], table.Sides[0]
		first, second := product.Trials[0].CPU.Total/base.Trials[0].CPU.Total, product.Trials[1].CPU.Total/base.Trials[1].CPU.Total
		if want := newSpread([]float64{first, second}); product.CPURatio != want {
			t.Errorf("an order of the product costs %v of the floor's, want %v", product.CPURatio, want)
		}
	}
}

// served starts a side until the test ends.
func served(t *testing.T, text, product string, catalogue catalog.Config) *target {
	t.Helper()
	s, err := parseSide(text)
	if err != nil {
		t.Fatal(err)
	}
	target, err := s.start(t.Context(), t.TempDir(), product, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.stop)
	return target
}

// The floor is a fair base only while its replies are as long as the product's.
func TestFloorRepliesAsLongAsProduct(t *testing.T) {
	requireRedis(t)
	opt := options{concurrency: 4, orders: 100, timeout: timeoutMax, seed: 7,
		catalog: catalog.Config{Users: 1000, Foods: 100, Stock: 1000, RootPassword: "secret"}}
	sale, err := readSale(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	product, err := buildProduct(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var received [2]int64
	for i, text := range []string{"floor", "product"} {
		opt.servers = served(t, text, product, opt.catalog).servers
		result := newLoad(opt, sale.foods, sale.users[899:999]).run(context.Background()) // ids as long as the last one's
		received[i] = result.tally.traffic.BytesReceived
		if rep := newLoadReport(opt, result); rep.Placed != 100 {
			t.Fatalf("%s: %+v", text, rep)
		}
	}
	// Stock that sells below 1000 makes the product's food list shorter, by one byte a food at most.
	if floor, product := received[0], received[1]; floor < product || floor-product > 100*100 {
		t.Errorf("100 flows received %d bytes from the floor, %d from the product", floor, product)
	}
}

func TestCompareWithForeignServer(t *testing.T) {
	target := served(t, "floor -workers 1", "", catalog.Config{Users: 2000, Foods: 100, Stock: 1000})
	foreign := []string{"-compare", "floor -workers 1", "-vs-url", target.servers[0], "-vs-pids", strconv.Itoa(target.roots[0])}
	rep, stderr, code := compared(t, foreign...)
	if code != 0 || len(rep.Tables) != 1 || len(rep.Tables[0].Sides) != 2 {
		t.Fatalf("exit %d: %s %+v", code, stderr, rep)
	}
	for _, trial := range rep.Tables[0].Sides[1].Trials {
		if trial.Placed != 200 || trial.CPU.Total <= 0 || trial.Checks != 0 {
			t.Errorf("trial %+v", trial)
		}
	}
	_, stderr, code = compared(t, append(foreign, "-users", "440")...)
	want := "bench: bad usage: the server of -vs-url needs 440 users who never bought, and root, in 2 rounds; " +
		"give them to it and say so by -users, or lower -orders or -rounds (-users is 440)\n"
	if code != exitUsage || stderr != want {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestCompareReportsServerThatDoesNotStart(t *testing.T) {
	_, stderr, code := compared(t, "-compare", "floor | floor -workers 0")
	want := `round 1 of side "floor -workers 0": sale unreachable: side "floor -workers 0": server ended before it answered (exit status 2): ` +
		"bench: bad usage: the floor takes flags only, and -workers from 1 to 256\n"
	if code != exitUnreachable || !strings.HasSuffix(stderr, want) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestForeignSideSeesEachUserOnce(t *testing.T) {
	c := &comparison{used: 5}
	for id := range uint32(20) {
		c.sale.users = append(c.sale.users, catalog.User{ID: id + 1})
	}
	for foreign, want := range map[bool]string{false: "[2 3 4]", true: "[7 8 9]"} {
		s := &side{program: productProgram}
		if foreign {
			s.program = ""
		}
		var ids []uint32
		for _, u := range c.pick(s, 3) {
			ids = append(ids, u.ID)
		}
		if fmt.Sprint(ids) != want {
			t.Errorf("foreign %t: users %v, want %s", foreign, ids, want)
		}
	}
}

// What sells wrongly must not be compared.
func TestComparisonAuditFails(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), losesOrder)
	opt := options{servers: []string{s.open(t)}, concurrency: 4, timeout: timeoutMax, seed: 7,
		catalog: catalog.Config{Users: 101, Foods: 10, Stock: 1000, RootPassword: "secret"}}
	sale, err := readSale(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	attempts := newLoad(opt, sale.foods, sale.users[1:]).run(t.Context()).attempts
	c := &comparison{sale: sale}
	_, err = c.audit(t.Context(), &target{servers: opt.servers}, attempts)
	if !errors.Is(err, errAudit) || !strings.HasPrefix(err.Error(), "audit failed: every order answered 200 is there, for its user: 1 violations, such as: order ") {
		t.Error(err)
	}
}

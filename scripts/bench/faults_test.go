package main

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
)

// A load through a Redis that freezes, one that is killed and started again, and a killed worker: every user
// has an order.
func TestRetryThroughFaults(t *testing.T) {
	const users, orders = 10_001, 8000
	redis := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	product, err := launch.Build(t.Context(), launch.ServerSource)
	if err != nil {
		t.Fatal(err)
	}
	catalogue := catalog.Config{Users: users, Foods: 10, Stock: 5000, RootPassword: "secret"}
	s, err := compare.ParseSide(compare.OwnProduct +
		" -redis-timeout 200ms -workers 2 -redis " + redis.Socket)
	if err != nil {
		t.Fatal(err)
	}
	server, err := s.Start(t.Context(), t.TempDir(), product, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()

	type end struct {
		report Report
		stderr string
		code   int
	}
	ended := make(chan end, 1)
	go func() {
		defer close(ended)
		// In a closed loop by many buyers there are orders under way whenever a fault comes.
		rep, stderr, code := bench(t, server.Servers, 10, 5000, "-retry",
			"-users", strconv.Itoa(users), "-orders", strconv.Itoa(orders), "-concurrency", "50")
		ended <- end{rep, stderr, code}
	}()
	address := server.Servers[0]
	awaitKeys(t, redis, 500)
	redis.Freeze(t)
	awaitReady(t, address, false)
	redis.Thaw(t)
	awaitReady(t, address, true)
	awaitKeys(t, redis, 2000)
	redis.Kill(t)
	awaitReady(t, address, false)
	redis.Restart(t)
	awaitReady(t, address, true)
	awaitKeys(t, redis, 4000)
	killWorker(t, server)

	got := <-ended
	if got.code != 0 || len(got.report.Audit) != 11 {
		t.Fatalf("exit %d: %s %+v", got.code, got.stderr, got.report.Audit)
	}
	l := got.report.Load
	if l.Placed != orders || l.Settling.Stranded != 0 || l.Settling.Settled == 0 {
		t.Errorf("load %+v, settling %+v", l, l.Settling)
	}
	if check := got.report.Audit[10]; check.Name != audit.Settled || check.Examined != orders {
		t.Errorf("last check %+v", check)
	}
}

func awaitKeys(t *testing.T, redis *redistest.Server, least int) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("%d keys in Redis", least), func() bool {
		keys, err := strconv.Atoi(strings.TrimPrefix(redis.Do(t, "DBSIZE"), ":"))
		return err == nil && keys >= least
	})
}

func awaitReady(t *testing.T, address string, want bool) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("ready %t", want), func() bool {
		return isReady(address) == want
	})
}

// killWorker ends one of the processes that serve, at once.
func killWorker(t *testing.T, server *compare.Target) {
	t.Helper()
	table, err := proc.All()
	if err != nil {
		t.Fatal(err)
	}
	picked := proc.Tree(table, server.Roots...)
	for _, p := range picked {
		if p.PID != server.Roots[0] && compare.IsWorker(p, picked) {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no worker among %+v", picked)
}

func isReady(address string) bool {
	c := client.Client{Address: address, Timeout: time.Second, NewConnections: true}
	return c.Ready()
}

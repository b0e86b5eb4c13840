package main

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/redisx/redistest"
)

// A load through a Redis that freezes, one that is killed and started again, and a killed worker: every user has an order.
func TestRetryThroughFaults(t *testing.T) {
	const users, orders = 10_001, 8000
	redis := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	product, err := buildProduct(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	catalogue := catalog.Config{Users: users, Foods: 10, Stock: 5000, RootPassword: "secret"}
	s, err := parseSide(ownProduct + " -redis-timeout 200ms -workers 2 -redis " + redis.Socket)
	if err != nil {
		t.Fatal(err)
	}
	server, err := s.start(t.Context(), t.TempDir(), product, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()

	type end struct {
		report report
		stderr string
		code   int
	}
	ended := make(chan end, 1)
	go func() {
		defer close(ended)
		// In a closed loop by many buyers there are orders under way whenever a fault comes.
		rep, stderr, code := bench(t, server.servers, 10, 5000, "-retry",
			"-users", strconv.Itoa(users), "-orders", strconv.Itoa(orders), "-concurrency", "50")
		ended <- end{rep, stderr, code}
	}()
	address := server.servers[0]
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
	if check := got.report.Audit[10]; check.Name != settledCheck || check.Examined != orders {
		t.Errorf("last check %+v", check)
	}
}

func awaitKeys(t *testing.T, redis *redistest.Server, least int) {
	t.Helper()
	within(t, fmt.Sprintf("%d keys in Redis", least), func() bool {
		keys, err := strconv.Atoi(strings.TrimPrefix(redis.Do(t, "DBSIZE"), ":"))
		return err == nil && keys >= least
	})
}

func awaitReady(t *testing.T, address string, want bool) {
	t.Helper()
	within(t, fmt.Sprintf("ready %t", want), func() bool { return ready(t.Context(), address) == want })
}

// killWorker ends one of the processes that serve, at once.
func killWorker(t *testing.T, server *target) {
	t.Helper()
	table, err := readProcesses()
	if err != nil {
		t.Fatal(err)
	}
	picked := tree(table, server.roots)
	for _, p := range picked {
		if p.pid != server.roots[0] && isWorker(p, picked) {
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no worker among %+v", picked)
}

// within polls until the condition holds.
func within(t *testing.T, what string, condition func() bool) {
	t.Helper()
	poll := time.NewTicker(daemonPoll)
	defer poll.Stop()
	for limit := time.Now().Add(daemonStartMax); !condition(); <-poll.C {
		if time.Now().After(limit) {
			t.Fatalf("no %s within %v", what, daemonStartMax)
		}
	}
}

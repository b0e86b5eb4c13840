package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// Two servers sell out, on each kind of store, with and without a fault in the middle.
func TestSalesAreLinearizable(t *testing.T) {
	requireTool(t, "redis-server")
	onRedis := func(flags ...string) func(*testing.T) store {
		return func(t *testing.T) store {
			r := launch.NewRedis(testkit.Folder(t), onDisk...)
			testkit.Must(t, r.Start(t.Context()))
			t.Cleanup(r.Kill)
			return store{append(flags, "-redis", r.Socket), func() error {
				r.Kill()
				return r.Start(t.Context())
			}}
		}
	}
	stores := map[string]func(*testing.T) store{
		"one Redis": onRedis(), "3 slices": onRedis("-slices", "3"), "3 masters": startMasters,
	}
	for name, start := range stores {
		for _, fault := range []string{"no fault", "worker killed", "Redis killed"} {
			t.Run(name+", "+fault, func(t *testing.T) {
				t.Parallel()
				sellOut(t, start(t), fault)
			})
		}
	}
}

// store is the flags of servers on a started store, and a kill -9 of a Redis of it that comes back with its
// data.
type store struct {
	flags   []string
	restart func() error
}

var onDisk = []string{"--appendonly", "yes", "--appendfsync", "always"}

func startMasters(t *testing.T) store {
	c, err := launch.StartCluster(t.Context(), testkit.Folder(t), "redis-server", 3, 0, onDisk...)
	t.Cleanup(c.Kill)
	testkit.Must(t, err)
	return store{[]string{"-redis-cluster", c.Seeds()}, func() error {
		c.Nodes[1].Kill()
		return c.Nodes[1].Start(t.Context())
	}}
}

// sellOut loads two servers with orders for more pieces than there are and checks the history.
func sellOut(t *testing.T, s store, fault string) {
	const users, foods, stock = 1001, 10, 120
	catalogue := []string{"-users", strconv.Itoa(users), "-foods", strconv.Itoa(foods), "-stock",
		strconv.Itoa(stock)}
	env := []string{"ROOT_PASSWORD=secret", "TOKEN_SECRET=a secret that is only for this test"}
	flags := slices.Concat([]string{"-workers", "2"}, catalogue, s.flags)
	var servers []*launch.Server
	var addresses []string
	for range 2 {
		server := launch.StartServer(t, "", env, flags...)
		server.Serves(t)
		servers, addresses = append(servers, server), append(addresses, server.Address)
	}
	file := filepath.Join(t.TempDir(), "history")
	faulted := testkit.Background(t, func(ctx context.Context) error {
		if fault == "no fault" {
			return nil
		}
		err := testkit.Await(ctx, "load under way", time.Minute, func() bool {
			info, err := os.Stat(file)
			return err == nil && info.Size() > 100_000
		})
		if err != nil {
			return err
		}
		if fault == "Redis killed" {
			return s.restart()
		}
		return syscall.Kill(servers[0].Workers()[0], syscall.SIGKILL)
	})
	rep, stderr, code := bench(t, addresses, foods, stock, append(catalogue, "-history", file,
		"-restock", "50ms", "-orders", strconv.Itoa(users-1), "-concurrency", "32")...)
	faulted()
	if code != 0 || rep.Load.Placed == 0 || rep.Load.Refused == 0 {
		t.Errorf("exit %d, failed checks %q, load %+v; %s", code, failed(rep.Audit), rep.Load, stderr)
	}
	if verdict, code := check(t, file); code != 0 {
		t.Errorf("exit %d:\n%s", code, verdict)
	} else {
		t.Log(verdict)
	}
}

package e2e

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// startPair starts a Redis with a replica and returns their addresses.
func startPair(t *testing.T) (nodes [2]*launch.Redis, addresses [2]string) {
	t.Helper()
	testkit.Need(t, "redis-server")
	first, err := launch.FreePorts(2)
	testkit.Must(t, err)
	for i := range nodes {
		port := strconv.Itoa(first + i)
		addresses[i] = net.JoinHostPort("127.0.0.1", port)
		nodes[i] = launch.NewRedis(testkit.Folder(t), "--bind", "127.0.0.1", "--port", port, "--appendonly", "yes",
			"--repl-diskless-sync-delay", "0")
		testkit.Must(t, nodes[i].Start(t.Context()))
		t.Cleanup(func() { nodes[i].Kill() })
	}
	askNode(t, nodes[1], "REPLICAOF", "127.0.0.1", strconv.Itoa(first))
	testkit.Until(t, "replica in step", func() bool {
		return strings.Contains(askNode(t, nodes[1], "INFO", "replication"), "master_link_status:up")
	})
	return nodes, addresses
}

func askNode(t *testing.T, node *launch.Redis, words ...string) string {
	t.Helper()
	reply, err := launch.AskRedis(node.Socket, redistest.Timeout, words...)
	testkit.Must(t, err)
	return reply
}

// With -ack replica the server demands its settings at the start; check-store tells what is wrong. While the
// replica does not answer, an order is a 503, not a 200, and so is GET /orders.
func TestAckReplica(t *testing.T) {
	t.Parallel()
	nodes, addresses := startPair(t)
	args := []string{"-users", "9", "-workers", "1", "-redis", addresses[0], "-ack", "replica",
		"-redis-timeout", "5s"} // as long as an order without the replica takes
	const missing = `min-replicas-to-write is "0", -ack replica needs 1 or more`
	refused := setup{args: args}.launch(t)
	if code := refused.ExitCode(t); code != 1 || refused.Logged(t, missing) != 1 {
		t.Errorf("exit code %d, %q; want 1 and %q", code, testkit.ReadFile(t, refused.Log), missing)
	}
	check := []string{"check-store", "-redis", addresses[0], "-ack", "replica"}
	code, text, _ := run(t, launch.ServerSource, nil, check...)
	if code != 1 || strings.Count(text, missing) != 2 {
		t.Errorf("check-store: %d, %s", code, text)
	}
	for _, node := range nodes {
		askNode(t, node, "CONFIG", "SET", "min-replicas-to-write", "1")
	}
	code, text, _ = run(t, launch.ServerSource, nil, check...)
	if code != 0 || strings.Contains(text, "RISK") {
		t.Errorf("check-store: %d, %s", code, text)
	}
	if code, _, text := run(t, launch.ServerSource, nil, "check-store", "-redis", "127.0.0.1:1"); code != 2 {
		t.Errorf("check-store without a node: %d, %s", code, text)
	}

	s := setup{args: args}.serve(t)
	if store := s.Banner(t, "store"); !strings.Contains(store, "-ack replica: ") {
		t.Errorf("store %q", store)
	}
	c := s.client(t)
	_, err := c.Buy(2, item(1, 1))
	testkit.Must(t, err)
	testkit.Must(t, c.LoginUser(3))
	cart, err := c.Fill(item(1, 1))
	testkit.Must(t, err)
	nodes[1].Send(t, syscall.SIGSTOP)
	if id, err := c.Order(cart); !client.IsRefused(err, 503, "SERVICE_UNAVAILABLE") {
		t.Errorf("an order without the replica: %q, %v", id, err)
	}
	if found, err := c.Orders(); !client.IsRefused(err, 503, "SERVICE_UNAVAILABLE") {
		t.Errorf("the orders without the replica: %v, %v", found, err)
	}
	nodes[1].Send(t, syscall.SIGCONT)
	testkit.Until(t, "orders with the replica", func() bool {
		found, err := c.Orders()
		return err == nil && len(found) == 1 // it was carried out, and now it is safe
	})
}

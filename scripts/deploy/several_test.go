package deploy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// TestGuideCluster carries out what the guide says about a cluster.
func TestGuideCluster(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.desk(t, "secrets")
	s.desk(t, "cluster")
	s.desk(t, "servers")
	s.checkStore(t)
	s.survive(t, []string{"24", "25", "26"}, func() { s.desk(t, "replace") })
	if state := s.ask(t, "21", "INFO replication"); !strings.Contains(state, "role:slave") {
		t.Errorf("the new machine is no replica:\n%s", state)
	}
	if nodes := s.ask(t, "22", "CLUSTER NODES"); strings.Contains(nodes, "fail") {
		t.Errorf("the lost node is not forgotten:\n%s", nodes)
	}
}

// TestGuideSentinel carries out what the guide says about Sentinel.
func TestGuideSentinel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.desk(t, "secrets")
	s.desk(t, "sentinel")
	s.desk(t, "servers")
	s.checkStore(t)
	s.survive(t, []string{"22", "23"}, func() {})
}

// checkStore runs the command that looks at all nodes: none may be at risk.
func (s *site) checkStore(t *testing.T) {
	t.Helper()
	t.Log(run(t, s.desktop, s.env, "bash", "-c", "set -a; . ./flashsale.env; ./flashsale check-store"))
}

// survive loses the machine 21, a master, with its disk, and replaces it when a replica is elected.
// All orders have to be there, and more are placed.
func (s *site) survive(t *testing.T, replicas []string, replace func()) {
	t.Helper()
	const before, after = 20, 40 // users who order before and after: some of them in each slice
	ids := map[int]string{}
	for user := 2; user < before; user++ {
		ids[user] = s.buy(t, user)
	}
	for _, service := range []string{"redis-server", "redis-sentinel"} {
		if p := s.service(onMachine(service, s.machine("21"))); p != nil {
			p.Kill()
		}
	}
	s.install(t, "21")
	testkit.Until(t, "a replica is elected", func() bool {
		return slices.ContainsFunc(replicas, func(last string) bool { // a sentinel cuts connections meanwhile
			return strings.Contains(s.ask(t, last, "INFO replication || true"), "role:master")
		})
	})
	replace()
	for user := 2; user < before; user++ {
		s.expectOrder(t, user, ids[user])
	}
	for user := before; user < after; user++ {
		s.buy(t, user)
	}
}

// TestGuideTwoRedis runs a sale on two plain Redis.
func TestGuideTwoRedis(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.desk(t, "secrets")
	s.desk(t, "two")
	s.desk(t, "servers")
	for user := 2; user < 20; user++ {
		s.buy(t, user)
	}
	for _, last := range []string{"21", "22"} {
		if s.ask(t, last, "KEYS o_*") == "" {
			t.Errorf("no user has ordered at the Redis %s", last)
		}
	}
}

// TestGuideMove moves a sale from one Redis to a cluster while it sells.
func TestGuideMove(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.desk(t, "secrets")
	testkit.WriteFile(t, s.path("flashsale.env"), testkit.ReadFile(t, s.path("flashsale.env"))+"SLICES=6\n")
	s.desk(t, "redis")
	s.desk(t, "servers")
	addresses := fmt.Sprintf("%s:8080,%s:8080", s.machine("11"), s.machine("12"))
	root := []string{"ROOT_PASSWORD=" + s.setting(t, "ROOT_PASSWORD")}
	bench := start(t, root, s.path("bench"), "-addr", addresses, "-catalog-dir", s.desktop,
		"-retry", "-concurrency", "20", "-rate", "20", "-orders", "4900")
	testkit.Until(t, "the load has begun", func() bool { return s.ask(t, "10", "KEYS o_*") != "" })
	s.desk(t, "move")
	bench.Send(t, os.Interrupt) // it ends the load early and audits
	if code := bench.ExitCode(t); code != 0 {
		t.Errorf("bench ends with %d:\n%s", code, bench.Written(t))
	}
	for i, last := range []string{"10", "21", "22"} {
		run(t, s.desktop, s.env, "sh", "replace.sh", s.machine(fmt.Sprint(23+i)), s.machine("10"))
		if n := strings.Count(s.ask(t, last, "KEYS stock_*"), "stock_"); n != 2 {
			t.Errorf("the master %s has %d of 6 slices, want 2", last, n)
		}
	}
	run(t, s.desktop, s.env, "bash", "-c", s.place(". ./operator.env; redis-cli --cluster call 10.0.0.10:6379 "+
		"CONFIG SET min-replicas-to-write 1; sed -i 1iACK=replica flashsale.env"))
	s.desk(t, "upgrade")
	s.buy(t, 4999)
}

// buy places an order of a user.
func (s *site) buy(t *testing.T, user int) (id string) {
	t.Helper()
	b := s.shopper(t, user)
	testkit.Until(t, fmt.Sprintf("order of user %d", user), func() bool {
		cart, err := b.Fill(client.Pieces(1, 1))
		if err == nil {
			id, err = b.Order(cart)
		}
		if client.IsRefused(err, 403, "ORDER_OUT_OF_LIMIT") { // one that was answered 503 exists
			return true
		}
		return err == nil
	})
	return id
}

// expectOrder checks that a user has an order.
func (s *site) expectOrder(t *testing.T, user int, id string) {
	t.Helper()
	b := s.shopper(t, user)
	var orders []client.Order
	testkit.Until(t, "answer about an order", func() (known bool) {
		var err error
		orders, err = b.Orders()
		return err == nil
	})
	if len(orders) != 1 || orders[0].ID != id {
		t.Errorf("user %d has the orders %v, want %s", user, orders, id)
	}
}

// shopper is a user who has logged in at the first server.
func (s *site) shopper(t *testing.T, user int) *client.Client {
	t.Helper()
	b := newBuyer(t, s.machine("11")+":8080")
	testkit.Must(t, b.Login(fmt.Sprintf("user%d", user), fmt.Sprintf("secret%d", user)))
	return b
}

// ask sends a command to the Redis of a machine as the operator.
func (s *site) ask(t *testing.T, last, command string) string {
	t.Helper()
	return strings.TrimSpace(run(t, s.desktop, s.env, "bash", "-c",
		s.place(". ./operator.env; redis-cli -h 10.0.0."+last+" "+strings.ReplaceAll(command, "*", `\*`))))
}

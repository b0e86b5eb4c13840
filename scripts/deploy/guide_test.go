package deploy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

// block returns the text that the guide marks with a name.
func block(t *testing.T, name string) string {
	t.Helper()
	fenced := regexp.MustCompile("(?s)<!-- block: " + regexp.QuoteMeta(name) + " -->\n```[a-z]*\n(.*?)```")
	found := fenced.FindStringSubmatch(testkit.ReadFile(t, "README.md"))
	if found == nil {
		t.Fatalf("the guide has no block %q", name)
	}
	return found[1]
}

// Every block is in a test: a new one is not forgotten.
func TestGuideHasNoOtherBlocks(t *testing.T) {
	guide := testkit.ReadFile(t, "README.md")
	tests := testkit.ReadFile(t, "guide_test.go") + testkit.ReadFile(t, "several_test.go")
	marks := regexp.MustCompile("<!-- block: (.*) -->\n```").FindAllStringSubmatch(guide, -1)
	if fences := strings.Count(guide, "\n```") / 2; fences != len(marks) {
		t.Errorf("%d fenced blocks, %d of them with a name", fences, len(marks))
	}
	for _, mark := range marks {
		if !strings.Contains(tests, `"`+mark[1]+`"`) {
			t.Errorf("block %q is in no test", mark[1])
		}
		// The shell reads such a block to its end before it begins: ssh, which takes its input, cannot swallow
		// the rest of what was pasted.
		text := strings.TrimSpace(block(t, mark[1]))
		if strings.Contains(text, "\n") && !strings.HasPrefix(text, "(") {
			t.Errorf("block %q is more than one command", mark[1])
		}
	}
	for _, name := range shipped(t) {
		if !strings.Contains(guide, name) {
			t.Errorf("the guide does not name %s", name)
		}
	}
}

// A script that needs arguments tells which, and does nothing without them.
func TestGuideScriptsTellUsage(t *testing.T) {
	for script, arguments := range map[string]string{"install": "ADDRESS", "move": "ADDRESS...",
		"redis": "ADDRESS [FILE...]", "replace": "ADDRESS OTHER", "sentinel": "ADDRESS"} {
		cmd := exec.Command("sh", script+".sh")
		output, _ := cmd.CombinedOutput()
		want := "usage: sh " + script + ".sh " + arguments + "\n"
		if string(output) != want || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%s.sh: %q, exit code %d; want %q, 2", script, output, cmd.ProcessState.ExitCode(), want)
		}
	}
}

// The log lines that the guide tells to look for are those of the program.
func TestGuideNamesLogLines(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	lines := row.FindAllStringSubmatch(testkit.ReadFile(t, "README.md"), -1)
	if len(lines) < 5 {
		t.Fatalf("the guide names %d lines", len(lines))
	}
	program := run(t, "../..", nil, "grep", "-rh", "--include=*.go", "--exclude=*_test.go", `"`, ".")
	for _, line := range lines {
		if !strings.Contains(program, line[1]) {
			t.Errorf("no log line of the program has %q", line[1])
		}
	}
}

// TestGuide carries out the guide: what is a machine there is an address of this one.
func TestGuide(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.desk(t, "secrets")
	s.desk(t, "redis")
	s.desk(t, "servers")
	s.desk(t, "certificate")
	s.desk(t, "haproxy")
	s.checkList(t)
	s.trial(t)
	s.watch(t)
	if out := s.desk(t, "sale"); !strings.Contains(out, `"state":"open"`) {
		t.Errorf("the sale is not open again:\n%s", out)
	}
	s.upgrade(t)
	s.desk(t, "backup")
	orders := s.countOrders(t)
	if out, want := s.desk(t, "drill"), fmt.Sprintf("orders: %d\n", orders); !strings.Contains(out, want) {
		t.Errorf("the copy has other orders, want %s:\n%s", want, out)
	}
	s.loseRedis(t, orders)
	s.desk(t, "nginx")
	s.nextSale(t)
	s.desk(t, "check")
	s.keepSecondSale(t)
}

// trial loads a sale of its own before the real one is opened.
func (s *site) trial(t *testing.T) {
	t.Helper()
	s.desk(t, "trial")
	if n := s.countOrders(t); n != 1000 {
		t.Errorf("%d orders in the trial, want 1000", n)
	}
	s.deskFails(t, "check") // a sale with orders does not begin
	s.putAway(t)
	s.desk(t, "check")
}

// keepSecondSale loses the disk of Redis in a later sale: the sale before must not come back.
func (s *site) keepSecondSale(t *testing.T) {
	t.Helper()
	b := s.buyer(t)
	cart, err := b.Fill(client.Pieces(1, 1))
	testkit.Must(t, err)
	_, err = b.Order(cart)
	testkit.Must(t, err)
	s.deskFails(t, "restore") // there is no backup of this sale, and nothing is touched
	s.awaitReady(t)
	s.desk(t, "backup")
	s.loseRedis(t, 1)
	sale := "sale " + s.setting(t, "SALE") + ", orders: 1\n"
	if out := s.desk(t, "drill"); !strings.Contains(out, sale) {
		t.Errorf("no %q in the drill:\n%s", sale, out)
	}
}

func (s *site) checkList(t *testing.T) {
	t.Helper()
	if out := s.desk(t, "check"); !strings.Contains(out, "ready to sell: [{\"id\":1,") {
		t.Errorf("the check list ends with\n%s", out)
	}
	server := s.machine("12")
	s.control(t, server, "stop flashsale")
	s.deskFails(t, "check")
	s.control(t, server, "start flashsale")
	s.awaitReady(t)
	s.desk(t, "check")
}

func (s *site) watch(t *testing.T) {
	t.Helper()
	out := s.desk(t, "watch")
	for _, want := range []string{
		s.machine("11") + " 200 ", s.machine("13") + " 200 ", "used_memory_human:", "maxmemory_human:4.00G",
		"connected_clients:", "instantaneous_ops_per_sec:", "aof_last_write_status:ok",
		"aof_last_bgrewrite_status:ok", "aof_delayed_fsync:", "evicted_keys:0",
		"rejected_connections:", "1\t500\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in what the guide watches:\n%s", want, out)
		}
	}
	if strings.Contains(out, "note") {
		t.Errorf("a row that is no food:\n%s", out)
	}
}

// upgrade restarts the servers one by one, with another program and a further user, while clients buy
// through the front.
func (s *site) upgrade(t *testing.T) {
	t.Helper()
	program := testkit.ReadFile(t, s.path("flashsale")) + "\x00" // an ELF file may have more at its end
	testkit.WriteFile(t, s.path("flashsale"), program)
	catalogue := t.TempDir() // that of the load, without the new user
	for _, name := range []string{"users.csv", "foods.csv"} {
		testkit.WriteFile(t, catalogue+"/"+name, testkit.ReadFile(t, s.path(name)))
	}
	testkit.WriteFile(t, s.path("users.csv"), testkit.ReadFile(t, s.path("users.csv"))+"5001,late,comer\n")
	before := s.programs(t)
	root := []string{"ROOT_PASSWORD=" + s.setting(t, "ROOT_PASSWORD")}
	bench := start(t, root, s.path("bench"), "-addr", s.machine("9")+":8443", "-tls",
		"-catalog-dir", catalogue, "-retry", "-concurrency", "20", "-rate", "200", "-orders", "4900")
	testkit.Until(t, "the load has begun", func() bool { return s.countOrders(t) > 100 })
	s.desk(t, "upgrade")
	bench.Send(t, os.Interrupt) // it ends the load early and audits
	if code := bench.ExitCode(t); code != 0 {
		t.Errorf("bench ends with %d:\n%s", code, bench.Written(t))
	}
	for server, program := range s.programs(t) {
		if program == before[server] {
			t.Errorf("%s runs the program from before", server)
		}
	}
	for _, last := range []string{"11", "12", "13"} {
		if err := newBuyer(t, s.machine(last)+":8080").Login("late", "comer"); err != nil {
			t.Errorf("server %s does not know the new user: %v", last, err)
		}
	}
}

// loseRedis takes the disk of Redis away and brings the newest backup back, on a new machine. It has this
// number of orders.
func (s *site) loseRedis(t *testing.T, orders int) {
	t.Helper()
	s.service(onMachine("redis-server", s.machine("10"))).Kill()
	s.install(t, "10")
	s.desk(t, "redis") // empty
	b := s.buyer(t)
	testkit.Until(t, "the servers have noticed", func() bool {
		status, _ := call(b, "GET", "/orders", "")
		return status == http.StatusServiceUnavailable
	})
	if status, _ := call(b, "GET", "/foods", ""); status != http.StatusOK {
		t.Errorf("GET /foods without the sale: %d", status)
	}
	s.desk(t, "restore")
	testkit.Until(t, "orders go on", func() bool {
		status, _ := call(b, "GET", "/orders", "")
		return status == http.StatusOK
	})
	if n := s.countOrders(t); n != orders {
		t.Errorf("%d orders after the restore, want %d", n, orders)
	}
	s.awaitReady(t)
}

// nextSale ends the sale and opens the next one, with a further food, beside its orders.
func (s *site) nextSale(t *testing.T) {
	t.Helper()
	last, orders := s.setting(t, "SALE"), s.countOrders(t)
	s.deskFails(t, "next") // it is not closed
	for range 2 {
		s.desk(t, "after")
	}
	list := s.path("orders-" + last + ".csv")
	if listed := strings.Count(testkit.ReadFile(t, list), "\r\n") - 1; listed != orders {
		t.Errorf("the list has %d orders, Redis %d", listed, orders)
	}
	testkit.WriteFile(t, s.path("foods.csv"), testkit.ReadFile(t, s.path("foods.csv"))+"51,500,9\n")
	s.desk(t, "next")
	s.deskFails(t, "next") // once
	s.desk(t, "servers")
	if id := s.setting(t, "SALE"); id == last || s.countOrders(t) != 0 {
		t.Errorf("sale %q after %q, with %d orders", id, last, s.countOrders(t))
	}
	again := run(t, s.desktop, s.env, "bash", "-c", s.place("set -a; . ./flashsale.env; export CATALOG_DIR=.; "+
		"./flashsale sale export -sale "+last))
	if kept := strings.Count(again, "\r\n") - 1; kept != orders {
		t.Errorf("%d orders are kept, want %d", kept, orders)
	}
}

// putAway puts the sale away and opens another one.
func (s *site) putAway(t *testing.T) {
	t.Helper()
	last := s.setting(t, "SALE")
	home := s.tree(s.machine("13")) + "/root"
	testkit.Must(t, os.Rename(home, home+"-away")) // a server that ssh does not reach
	s.deskFails(t, "away")
	testkit.Must(t, os.Rename(home+"-away", home))
	s.desk(t, "away")
	before := testkit.ReadFile(t, s.path("flashsale.env"))
	testkit.WriteFile(t, s.path("flashsale.env"), before+"SALE="+last+"\n") // as if it had failed at its end
	s.desk(t, "away")
	if text := testkit.ReadFile(t, s.path("flashsale.env")); strings.Contains(text, "SALE=") {
		t.Errorf("the settings still name a sale:\n%s", text)
	}
	s.desk(t, "servers")
	if id := s.setting(t, "SALE"); id == last || id == "" || s.countOrders(t) != 0 {
		t.Errorf("sale %q after %q, with %d orders", id, last, s.countOrders(t))
	}
	kept := s.tree(s.machine("10")) + "/var/lib/redis/sale-" + last
	if _, err := os.Stat(kept + "/appendonly.aof.manifest"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept + "/appendonlydir"); err == nil {
		t.Error("the second run has moved the next sale's files as well")
	}
}

// buyer is a buyer who has logged in through the front.
func (s *site) buyer(t *testing.T) *client.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(testkit.ReadFile(t, s.path("sale.crt")))) {
		t.Fatal("no certificate in sale.crt")
	}
	b := newBuyer(t, s.machine("9")+":8443")
	b.TLS = &tls.Config{RootCAs: roots, ServerName: s.machine("9")}
	testkit.Must(t, b.Login("user2", "secret2"))
	return b
}

func (s *site) service(name string) *launch.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.services[name]
}

// setting is a value in the file of settings.
func (s *site) setting(t *testing.T, name string) string {
	t.Helper()
	values := settings(testkit.ReadFile(t, s.path("flashsale.env")), name)
	if len(values) != 1 {
		t.Fatalf("%s has the values %q", name, values)
	}
	return values[0]
}

// countOrders counts the keys of orders in Redis.
func (s *site) countOrders(t *testing.T) int {
	t.Helper()
	out := run(t, s.desktop, nil, "sh", "-c",
		`. ./operator.env; redis-cli -h $redis --scan --pattern 'o_*' | wc -l`)
	n, err := strconv.Atoi(strings.TrimSpace(out))
	testkit.Must(t, err)
	return n
}

// programs are the inodes of the programs that the servers run.
func (s *site) programs(t *testing.T) map[string]string {
	t.Helper()
	programs := map[string]string{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, p := range s.services {
		if strings.HasPrefix(name, "flashsale") {
			programs[name] = inode(p.Pid())
		}
	}
	return programs
}

// inode tells the files apart that processes run; "" when the process has ended.
func inode(pid int) string {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino)
}

package e2e

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
)

// scrape reads the metrics of a server by name and labels, without "flashsale_".
func scrape(t *testing.T, s *server) map[string]float64 {
	t.Helper()
	r, err := http.Get(s.Banner(t, "metrics"))
	testkit.Must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	testkit.Must(t, err)
	if r.StatusCode != 200 {
		t.Fatalf("/metrics: %d %s", r.StatusCode, text)
	}
	values := map[string]float64{}
	lines := regexp.MustCompile(`(?m)^flashsale_(.*) (\S+)$`).FindAllStringSubmatch(string(text), -1)
	for _, line := range lines {
		value, err := strconv.ParseFloat(line[2], 64)
		testkit.Must(t, err)
		values[line[1]] = value
	}
	return values
}

// isCounter reports whether a metric must never go back.
func isCounter(name string) bool {
	name, _, _ = strings.Cut(name, "{")
	for _, suffix := range []string{"_total", "_bucket", "_count", "_sum"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// checkCounters reports each counter that went back.
func checkCounters(t *testing.T, when string, before, after map[string]float64) {
	t.Helper()
	for name, value := range before {
		if now, found := after[name]; isCounter(name) && (!found || now < value) {
			t.Errorf("%s %s went from %v to %v", when, name, value, now)
		}
	}
}

// opsArgs start a server with metrics for a load.
var opsArgs = append([]string{"-workers", "2", "-ops", "127.0.0.1:0"}, loadArgs...)

// While buyers buy, all workers are replaced: no counter goes back, and each order is counted once.
func TestMetricsOutliveReplacedWorkers(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := setup{args: opsArgs}.serve(t)
	l := startLoad(t, s, loadClients, true)
	l.awaitOrders(t, 50)
	before := scrape(t, s)
	if before["workers"] != 2 || before["redis_up"] != 1 || before["orders_placed_total"] < 50 {
		t.Errorf("%v workers, redis_up %v, %v orders", before["workers"], before["redis_up"],
			before["orders_placed_total"])
	}
	old := s.Workers()
	s.Send(t, syscall.SIGHUP)
	testkit.Until(t, "new workers", func() bool { return s.Logged(t, "all workers are replaced") == 1 })
	l.awaitOrders(t, 50)
	replaced := scrape(t, s)
	checkCounters(t, "after SIGHUP", before, replaced)
	l.audit(t, s)
	awaitEnd(t, old...)
	var end map[string]float64
	testkit.Until(t, "two workers", func() bool { // the kernel ends the threads of the others one by one
		end = scrape(t, s)
		return end["workers"] == 2
	})
	checkCounters(t, "at the end", replaced, end)
	orders := float64(len(s.orders(t)))
	placed, answered := end["orders_placed_total"], end[`requests_total{call="POST /orders",code="200"}`]
	if placed != orders || answered != orders {
		t.Errorf("%v orders are counted in %v requests, want %v", placed, answered, orders)
	}
	for _, worker := range []string{"0", "1"} {
		if n := end[`worker_starts_total{worker="`+worker+`"}`]; n != 2 {
			t.Errorf("worker %s was started %v times, want 2", worker, n)
		}
	}
	if end["workers"] != 2 || end["sale_pieces_sold"] != loadFoods*loadStock-end["stock_pieces"] {
		t.Errorf("%v workers, %v pieces sold, %v left", end["workers"], end["sale_pieces_sold"],
			end["stock_pieces"])
	}
}

// The rooms of a server show in its metrics: the bot's queue, the blocklist, the certificate and its
// replacement, and who was refused.
func TestMetricsOfRooms(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(time.Hour)
	old := certtest.Write(t, testkit.Folder(t), end)
	renewed := certtest.Write(t, testkit.Folder(t), end.Add(time.Hour))
	list := makeList(t)
	args := append(slices.Clip(botArgs), "-workers", "2", "-ops", "127.0.0.1:0",
		"-tls-cert", old.ChainFile, "-tls-key", old.KeyFile, "-blocklist", list, "-limits", "sms by user 1/d")
	s := setup{env: botEnv, args: args}.serve(t)
	s.trust = certtest.Trust(old, renewed)
	c := s.client(t)
	testkit.Must(t, c.LoginUser(2))
	for _, call := range [][2]string{{"/repeats", `{"text":"hi"}`}, {"/vk/callback",
		`{"type":"message_new","event_id":"e","secret":"key","object":{"message":{"peer_id":1,"text":"hi"}}}`}} {
		if r, err := c.Do("POST", call[0], call[1]); err != nil || r.Status != 200 {
			t.Fatalf("%s: %+v, %v", call[0], r, err)
		}
	}
	for range 2 { // the second one is refused
		_, err := c.Do("POST", "/limits/check", `{"event":"sms","features":{"user":"2"}}`)
		testkit.Must(t, err)
	}
	var got map[string]float64
	testkit.Until(t, "blocklist and Redis", func() bool {
		got = scrape(t, s)
		return got["blocklist_documents"] > 0 && got["redis_up"] == 1
	})
	for name, want := range map[string]float64{
		"repeats_counted_total": 2, "vk_replies_waiting": 1, `limits_refused_total{event="sms"}`: 1,
		"traffic_keys_max":                                10000,
		"blocklist_refresh_seconds":                       86400,
		"certificate_expiry_timestamp_seconds":            float64(old.Leaf.NotAfter.Unix()),
		`requests_total{call="POST /repeats",code="200"}`: 1, `refusals_total{reason="TOO_MANY_REQUESTS"}`: 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if age := got["blocklist_age_seconds"]; age <= 0 || age > 3600 {
		t.Errorf("the blocklist is %v s old", age)
	}
	testkit.Must(t, os.Rename(renewed.ChainFile, old.ChainFile))
	testkit.Must(t, os.Rename(renewed.KeyFile, old.KeyFile))
	s.awaitRoll(t, 1)
	want := float64(renewed.Leaf.NotAfter.Unix())
	if ends := scrape(t, s)["certificate_expiry_timestamp_seconds"]; ends != want {
		t.Errorf("the certificate ends %v, want %v", ends, want)
	}
}

// The examples of the room's README answer what it shows.
func TestOpsREADME(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "curl")
	readme := testkit.ReadFile(t, root+"internal/observe/ops/README.md")
	s := setup{args: []string{"-workers", "2", "-ops", "127.0.0.1:0"}}.serve(t)
	testkit.Until(t, "redis_up 1", func() bool { return scrape(t, s)["redis_up"] == 1 })
	address := strings.TrimSuffix(strings.TrimPrefix(s.Banner(t, "metrics"), "http://"), "/metrics")
	list := examples(readme)
	if len(list) != 2 {
		t.Fatalf("%d examples, want 2", len(list))
	}
	for _, example := range list {
		command := strings.ReplaceAll(example[0], "localhost:9100", address)
		got, err := exec.Command("sh", "-c", command).Output()
		if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(example[1]) {
			t.Errorf("%s\n got %s (%v)\nwant %s", example[0], got, err, example[1])
		}
	}
}

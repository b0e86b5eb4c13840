package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// saleCommand runs flashsale sale with a verb and flags.
func saleCommand(t *testing.T, of []string, verb string, more []string) (code int, stdout, stderr string) {
	t.Helper()
	return run(t, module, nil, slices.Concat([]string{"sale", verb}, of, more)...)
}

// saleDone runs flashsale sale, which must succeed, and returns what it prints.
func saleDone(t *testing.T, of []string, verb string, more ...string) string {
	t.Helper()
	code, stdout, stderr := saleCommand(t, of, verb, more)
	if code != 0 {
		t.Fatalf("flashsale sale %s %q %q: exit code %d\n%s%s", verb, of, more, code, stdout, stderr)
	}
	return stdout
}

// saleRefused runs flashsale sale, which must end with this code and message.
func saleRefused(t *testing.T, code int, want string, of []string, verb string, more ...string) {
	t.Helper()
	got, _, stderr := saleCommand(t, of, verb, more)
	if got != code || !strings.Contains(stderr, want) {
		t.Errorf("flashsale sale %s %q %q: exit code %d, want %d\n got %swant %s", verb, of, more, got, code,
			stderr, want)
	}
}

// readExport reads an export in CSV: pieces by food, by order id.
func readExport(t *testing.T, text string) map[string]map[int]int {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	testkit.Must(t, err)
	orders := map[string]map[int]int{}
	for _, row := range rows[1:] {
		items := map[int]int{}
		for _, item := range strings.Fields(row[3]) {
			var food, count int
			if _, err := fmt.Sscanf(item, "%d=%d", &food, &count); err != nil {
				t.Errorf("row %q: %v", row, err)
			}
			items[food] += count
		}
		if _, twice := orders[row[0]]; twice || len(items) == 0 {
			t.Errorf("row %q: twice %v, items %v", row, twice, items)
		}
		orders[row[0]] = items
	}
	return orders
}

// A sale is run from a terminal, with the store of its own server, beside that server and without it.
func TestSaleCommand(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	args := []string{"-workers", "1", "-users", "20", "-foods", "3", "-stock", "5"}
	s := setup{args: args}.serve(t)
	of := append([]string{"-data", s.Data}, args...)
	first := s.Sale(t)
	c := s.client(t)
	_, err := c.Buy(2, item(1, 2), item(3, 1))
	testkit.Must(t, err)

	if status := saleDone(t, of, "status"); !strings.HasPrefix(status, "sale "+first+": open\n") ||
		!strings.Contains(status, "\n  pieces     12 left, 3 sold (0 restocked)\n  orders     1\n") {
		t.Errorf("status\n%s", status)
	}
	if out := saleDone(t, of, "pause"); !strings.HasPrefix(out, "sale "+first+": paused\n") {
		t.Errorf("pause prints %s", out)
	}
	if _, err := c.Buy(3, item(1, 1)); !client.IsRefused(err, 403, "SALE_PAUSED") {
		t.Errorf("an order while the sale is paused: %v", err)
	}
	saleRefused(t, 1, "the sale cannot close at a time that is over: it is 20", of, "close", "-at",
		"2020-01-01T00:00:00Z")
	saleDone(t, of, "open")
	saleRefused(t, 1, "the sale cannot open at a time that is over: it is 20", of, "open", "-at",
		"2020-01-01T00:00:00Z")
	saleDone(t, of, "open", "-at", "2100-01-02T00:00:00Z")
	saleRefused(t, 1, "it is scheduled, and only an open sale can be paused", of, "pause")
	saleRefused(t, 1, "the sale would close before it opens: it opens at 2100-01-02T00:00:00Z; -at must be "+
		"later\n", of, "close", "-at", "2100-01-01T00:00:00Z")
	saleDone(t, of, "close", "-at", "2100-01-03T00:00:00Z")
	saleRefused(t, 1, "it closes at 2100-01-03T00:00:00Z; -at must be earlier, or move that with flashsale "+
		"sale close -at\n", of, "open", "-at", "2100-01-04T00:00:00Z")
	saleDone(t, of, "open")
	testSaleLists(t, of, first)
	testSaleSums(t, of, first)
	saleRefused(t, 1, "the sale is not closed; run flashsale sale close, then export, or add -force", of, "new")
	saleRefused(t, 2, "redis holds another sale", of, "close", "-sale", "aaaaaaaa")
	saleRefused(t, 2, "redis holds a sale of other foods", of, "status", "-foods", "4")
	saleRefused(t, 2, `"opne" is no verb of flashsale sale; did you mean open? (flashsale sale -h)`, nil,
		"opne")
	if code, _, stderr := run(t, module, nil, "sale"); code != 2 ||
		!strings.HasPrefix(stderr, "flashsale sale: a verb is missing\nflashsale sale status|open|") ||
		strings.Count(stderr, "\n  ") != 11 {
		t.Errorf("flashsale sale alone: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, module, nil, "stauts"); code != 2 ||
		stderr != "flashsale: \"stauts\" is no command; did you mean status? (flashsale -h)\n" {
		t.Errorf("a typing error: exit code %d, %s", code, stderr)
	}
	saleDone(t, of, "close")
	saleRefused(t, 1, "run flashsale sale export -o FILE, or add -force", of, "new")
	testkit.Until(t, "the server logs that the sale is closed", func() bool {
		return s.Logged(t, " by=terminal ") > 0 && s.Logged(t, " before=open after=closed") == 1
	})

	s.End(t)
	file := filepath.Join(t.TempDir(), "orders.csv")
	saleDone(t, of, "export", "-o", file)
	csv := regexp.MustCompile(`^order_id,user_id,user_name,items,prices,total,placed_at\r\n` + first +
		`-2,2,user2,1=2 3=1,1=\d+ 3=\d+,\d+,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\r\n$`)
	if text := testkit.ReadFile(t, file); !csv.MatchString(text) {
		t.Errorf("the export is %q", text)
	}
	var line struct {
		ID       string
		User     int `json:"user_id"`
		Username string
		Total    int
	}
	testkit.Must(t, json.Unmarshal([]byte(saleDone(t, of, "export", "-format", "jsonl")), &line))
	if line.ID != first+"-2" || line.User != 2 || line.Username != "user2" || line.Total == 0 {
		t.Errorf("the export as JSON is %+v", line)
	}
	saleRefused(t, 2, "no flag names the foods of the next sale", []string{"-data", s.Data}, "new")
	second := openNext(t, of)
	if kept := saleDone(t, of, "export", "-sale", first); !csv.MatchString(kept) {
		t.Errorf("the export of the sale before is %q", kept)
	}
	s = setup{data: s.Data, args: args}.serve(t)
	if s.Sale(t) != second {
		t.Errorf("the server joins sale %s, want %s", s.Sale(t), second)
	}
	if r, err := s.client(t).Buy(2, item(1, 1)); err != nil || r != second+"-2" {
		t.Errorf("an order of the same user in the next sale: %v, %v", r, err)
	}
}

// testSaleLists restocks a sale with one order, of user2, and looks at its log and its orders.
func testSaleLists(t *testing.T, of []string, sale string) {
	t.Helper()
	for range 2 {
		if out := saleDone(t, of, "restock", "-food", "2", "-add", "7", "-key", "monday"); out !=
			"sale "+sale+": food 2 has 12 pieces left\n" {
			t.Errorf("restock prints %s", out)
		}
	}
	saleRefused(t, 1, "the idempotency key was used for another restock", of, "restock", "-food", "1", "-add",
		"7", "-key", "monday")
	saleRefused(t, 1, "not enough stock: 12 pieces of food 2 are left, and -add -1000 would take back more\n",
		of, "restock", "-food", "2", "-add", "-1000")
	saleRefused(t, 2, "there is no food 17: sale "+sale+" has 3 foods\n", of, "restock", "-food", "17", "-add",
		"1")
	saleRefused(t, 2, "-food and -add are needed, as in -food 17 -add 500\n", of, "restock", "-food", "2")
	saleDone(t, of, "restock", "-food", "2", "-add", "-7")

	const at = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
	log := regexp.MustCompile(`^` + at + `  terminal  the sale begins with 15 pieces; no opening time, ` +
		`no closing time
` + at + `  terminal  paused, before open
` + at + `  terminal  open, before paused
(?s:.*)` + at + `  terminal  opens at \S+, closes at 2100-01-03T00:00:00Z; before: opens at ` +
		`2100-01-02T00:00:00Z, closes at 2100-01-03T00:00:00Z
` + at + `  terminal  open, before scheduled
` + at + `  terminal  food 2: \+7, 12 left, before 5
` + at + `  terminal  food 2: -7, 5 left, before 12
$`)
	if text := saleDone(t, of, "log"); !log.MatchString(text) {
		t.Errorf("the log is\n%s", text)
	}
	order := regexp.MustCompile(`^` + at + `  ` + sale + `-2 +user 2 +"user2" +food=pieces 1=2 3=1 +total \d+
1 orders, 3 pieces, \d+ in total
$`)
	for _, flags := range [][]string{nil, {"-user", "2"}, {"-user", "user2"}, {"-food", "3"}} {
		if text := saleDone(t, of, "orders", flags...); !order.MatchString(text) {
			t.Errorf("the orders with %q are\n%s", flags, text)
		}
	}
	for _, flags := range [][]string{{"-user", "3"}, {"-user", "nobody"}, {"-user", "user2", "-food", "2"},
		{"-food", "2"}} {
		if text := saleDone(t, of, "orders", flags...); text != "0 orders, 0 pieces, 0 in total\n" {
			t.Errorf("the orders with %q are\n%s", flags, text)
		}
	}
}

// testSaleSums sums up that sale, and writes it by item.
func testSaleSums(t *testing.T, of []string, sale string) {
	t.Helper()
	sums := regexp.MustCompile(`^ *food +initial +restocked +left +sold +revenue +sold out after +` +
		`refused orders +refused pieces +name
 +1 +5 +0 +3 +2 +\d+ +- +0 +0 +香辣拉面
(?s:.*) +all +15 +0 +12 +3 +\d+ +- +0 +0 *
$`)
	if text := saleDone(t, of, "sums", "-language", "zh"); !sums.MatchString(text) {
		t.Errorf("the sums are\n%s", text)
	}
	items := saleDone(t, of, "export", "-rows", "items", "-bom")
	rows, err := csv.NewReader(strings.NewReader(items)).ReadAll()
	if err != nil || len(rows) != 3 || !strings.HasPrefix(rows[0][0], "\uFEFFplaced_at") ||
		!slices.Equal(rows[1][1:7], []string{sale + "-2", "2", "user2", "1", "Spicy noodles", "2"}) {
		t.Errorf("the items are %q, %v", items, err)
	}
}

// A command that waits for a Redis which does not answer is ended by Ctrl-C.
func TestInterruptEndsACommand(t *testing.T) {
	for _, command := range [][]string{{"sale", "status"}, {"audit", "-ledger", "root@tcp(127.0.0.1:1)/none"},
		{"unlock", "root"}} {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		testkit.Must(t, err)
		defer silent.Close()
		args := append(command, "-redis", silent.Addr().String(), "-redis-timeout", "1m")
		p := program(t, module, nil, args...)
		conn, err := silent.Accept()
		testkit.Must(t, err)
		defer conn.Close()
		testkit.Must(t, p.Signal(os.Interrupt))
		testkit.Until(t, "end of the command", func() bool { return !p.Running() })
	}
}

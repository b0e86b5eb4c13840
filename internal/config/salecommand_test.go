package config

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func TestParseSale(t *testing.T) {
	clearEnvironment(t)
	for name, value := range map[string]string{"O": "x", "AT": "never", "FORCE": "true", "DELETE": "true",
		"FORMAT": "xml", "REDIS_HOST": "cache", "OPENS_AT": "2026-11-01T00:00:00Z",
		"CLOSES_AT": "2026-11-02T00:00:00Z"} {
		t.Setenv(name, value)
	}
	at := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		args string
		want SaleCommand
	}{
		{"status", SaleCommand{}},
		{"open", SaleCommand{}},
		{"open -at 2026-11-22T10:00:00+08:00", SaleCommand{At: at}},
		{"open -at 2026-11-22T10:00:00.0001+08:00", SaleCommand{At: at.Add(time.Millisecond)}}, // rounded up
		{"pause -data d", SaleCommand{}},
		{"close -at 2026-11-22T02:00:00Z", SaleCommand{At: at}},
		{"restock -food 17 -add -500 -key k", SaleCommand{Food: 17, Add: -500, Key: "k"}},
		{"log", SaleCommand{}},
		{"orders -user ann -food 2", SaleCommand{User: "ann", Food: 2}},
		{"events -follow -after c", SaleCommand{Follow: true, After: "c"}},
		{"export", SaleCommand{Format: "csv", Rows: "orders"}},
		{"export -o f.jsonl -format jsonl -sale abcdefgh",
			SaleCommand{Format: "jsonl", Rows: "orders", Output: "f.jsonl"}},
		{"export -rows items -bom -language zh",
			SaleCommand{Format: "csv", Rows: "items", BOM: true, Language: "zh"}},
		{"sums -language zh", SaleCommand{Language: "zh"}},
		{"new -keep -foods 3", SaleCommand{}},
		{"new -delete -force", SaleCommand{Delete: true, Force: true}},
		{"new -closes-at 2026-11-22T02:00:00Z", SaleCommand{}},
	} {
		c, err := ParseSale(strings.Fields(test.args), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}
		if c.Redis.Address != "cache:6379" || c.Verb != strings.Fields(test.args)[0] {
			t.Errorf("%s: verb %s, Redis at %s", test.args, c.Verb, c.Redis.Address)
		}
		if !c.At.Equal(test.want.At) || c.Output != test.want.Output || c.Format != test.want.Format ||
			c.Food != test.want.Food || c.Add != test.want.Add || c.Key != test.want.Key ||
			c.Rows != test.want.Rows || c.BOM != test.want.BOM || c.Language != test.want.Language ||
			c.Follow != test.want.Follow || c.After != test.want.After ||
			c.User != test.want.User || c.Delete != test.want.Delete || c.Force != test.want.Force {
			t.Errorf("%s: %+v, want %+v", test.args, c, test.want)
		}
		// The next sale has none of the times that the servers were given for this one.
		if next := c.Verb == SaleNew; next != c.Times.OpensAt.IsZero() ||
			next && c.Times.ClosesAt.Equal(at) != strings.Contains(test.args, "-closes-at") {
			t.Errorf("%s: times %v", test.args, c.Times)
		}
	}
}

func TestParseSaleRefuses(t *testing.T) {
	clearEnvironment(t)
	for _, test := range []struct{ args, want string }{
		{"", "a verb is missing\n" + saleVerbs.help()},
		{"begin", `"begin" is no verb of flashsale sale; say status, open, pause, close, restock, log, orders, ` +
			`events, sums, export or new (flashsale sale -h)`},
		{"opne", `"opne" is no verb of flashsale sale; did you mean open? (flashsale sale -h)`},
		{"restok", `"restok" is no verb of flashsale sale; did you mean restock? (flashsale sale -h)`},
		{"Order", `"Order" is no verb of flashsale sale; did you mean orders? (flashsale sale -h)`},
		{"now", `"now" is no verb of flashsale sale; did you mean new? (flashsale sale -h)`},
		{"restock -food 1", "-food and -add are needed, as in -food 17 -add 500"},
		{"restock -food 1 -add 1000000000000", "-add is 1000000000000; it must be from -1000000000 to 1000000000"},
		{"log -food 1", "flag provided but not defined: -food (-h lists all flags)"},
		{"open -at tomorrow", `-at is "tomorrow"; it must be a time with a zone, such as ` +
			`2026-11-22T10:00:00+01:00`},
		{"pause -at 2026-11-22T02:00:00Z", "flag provided but not defined: -at (-h lists all flags)"},
		{"export -format xml", `-format is "xml"; it must be csv or jsonl`},
		{"new -keep -delete", "-keep and -delete are both set; choose one"},
		{"status now", `unexpected argument "now" (-h lists all flags)`},
	} {
		if _, err := ParseSale(strings.Fields(test.args), io.Discard); err == nil || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", test.args, err, test.want)
		}
	}
}

// Each help has its own flags, without names of the environment, then one line about those of the servers.
func TestSaleHelp(t *testing.T) {
	clearEnvironment(t)
	for args, flags := range map[string]string{"-h": "", "status -h": "", "open -h": "at", "close -h": "at",
		"restock -h": "food add key", "log -h": "", "orders -h": "user food", "sums -h": "language",
		"export -h": "o format rows bom language",
		"new -h":    "keep delete force opens-at closes-at"} {
		var out strings.Builder
		if _, err := ParseSale(strings.Fields(args), &out); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", args, err)
		}
		text := out.String()
		if end := "\n\nFlags of the server are taken too"; strings.Contains(text, end) != (args != "-h") ||
			args != "-h" && strings.Count(text[strings.LastIndex(text, end):], "\n") != 3 {
			t.Errorf("the help of %s has not one line about the flags of the server at its end:\n%s", args, text)
		}
		if got := strings.Count(text, "\n  -"); got != len(strings.Fields(flags)) {
			t.Errorf("the help of %s has %d flags, want %s", args, got, flags)
		}
		for name := range strings.FieldsSeq(flags) {
			at := strings.Index(text, "\n  -"+name)
			if at < 0 || at > strings.Index(text, "-redis") || strings.Contains(text, "["+envName(name)+"]") {
				t.Errorf("the help of %s has -%s at %d:\n%.600s", args, name, at, text)
			}
		}
		if strings.Contains(text, "default) (default") {
			t.Errorf("the help of %s has two defaults of a flag:\n%s", args, text)
		}
		if !strings.Contains(text, "Exit code: 0 done, ") {
			t.Errorf("the help of %s names no exit codes", args)
		}
	}
}

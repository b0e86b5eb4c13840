package config

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

func TestParseAccount(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("NAME", "x")
	t.Setenv("AFTER", "7")
	for args, want := range map[string]AccountCommand{
		"list":                      {Verb: AccountList},
		"list -name ann -after 3":   {Verb: AccountList, Name: "ann", After: 3},
		"reset ann -redis cache:1":  {Verb: AccountReset, User: "ann"},
		"close 2147483648 -data to": {Verb: AccountClose, User: "2147483648"},
	} {
		c, err := ParseAccount(strings.Fields(args), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if c.Config = nil; *c != want {
			t.Errorf("%s: %+v, want %+v", args, *c, want)
		}
	}
	for args, want := range map[string]string{
		"": "a verb is missing\n" + accountVerbs.help(),
		"open": `"open" is no verb of flashsale account; say list, reset or close ` +
			`(flashsale account -h)`,
		"list ann":            `unexpected argument "ann" (-h lists all flags)`,
		"reset":               "say flashsale account reset USER [flags]",
		"close -redis x":      "say flashsale account close USER [flags]",
		"reset ann -after 3":  "flag provided but not defined: -after (-h lists all flags)",
		"list -after x":       `-after is "x"; it must be a whole number`,
		"close ann -data a b": `unexpected argument "b" (-h lists all flags)`,
	} {
		if _, err := ParseAccount(strings.Fields(args), io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", args, err, want)
		}
	}
}

// Each help tells how the command is called, and has the flags of its own.
func TestAccountHelp(t *testing.T) {
	clearEnvironment(t)
	for args, test := range map[string]struct {
		begin string
		flags int
	}{
		"-h":           {"flashsale account list|reset|close [flags] looks after ", 0},
		"list -h":      {"flashsale account list [flags] prints ", 2},
		"reset -h":     {"flashsale account reset USER [flags] makes ", 0},
		"close ann -h": {"flashsale account close USER [flags] closes ", 0},
	} {
		var out strings.Builder
		if _, err := ParseAccount(strings.Fields(args), &out); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", args, err)
		}
		if text := out.String(); !strings.HasPrefix(text, test.begin) ||
			strings.Count(text, "\n  -") != test.flags || !strings.Contains(text, "Exit code: 0 done, ") {
			t.Errorf("the help of %s:\n%s", args, text)
		}
	}
}

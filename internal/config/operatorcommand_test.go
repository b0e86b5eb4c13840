package config

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"flashsale/internal/rooms/operators"
)

func TestParseOperator(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OPERATORS", "o.csv")
	t.Setenv("ROLE", "admin")
	t.Setenv("OFF", "true")
	const dsn = "a:b@tcp(db:3306)/people"
	for args, want := range map[string]OperatorCommand{
		"add ann":                {Verb: OperatorAdd, Name: "ann", Operators: "o.csv", Role: operators.Operates},
		"add ann -role admin":    {Verb: OperatorAdd, Name: "ann", Operators: "o.csv", Role: operators.Admin},
		"passwd ann":             {Verb: OperatorPasswd, Name: "ann", Operators: "o.csv"},
		"totp ann -off":          {Verb: OperatorTOTP, Name: "ann", Operators: "o.csv", Off: true},
		"remove ann":             {Verb: OperatorRemove, Name: "ann", Operators: "o.csv"},
		"list -operators " + dsn: {Verb: OperatorList, Operators: dsn},
	} {
		c, err := ParseOperator(strings.Fields(args), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if *c != want {
			t.Errorf("%s: %+v, want %+v", args, *c, want)
		}
	}
	for args, want := range map[string]string{
		"": "a verb is missing\n" + operatorVerbs.help(),
		"ad": `"ad" is no verb of flashsale operator; did you mean add? (flashsale operator ` +
			`-h)`,
		"add":                    "say flashsale operator add NAME [flags]",
		"add ann secret":         `unexpected argument "secret" (-h lists all flags)`,
		"add ann -role boss":     `-role is "boss"; it must be operator or viewer or admin`,
		"passwd ann -role admin": "flag provided but not defined: -role (-h lists all flags)",
		"list -operators=":       "no list of operators is named: -operators FILE (OPERATORS)",
		"add ann -operators " + dsn: "the list is in a database, which this command does not change: " +
			"make a row in a file and copy it into the table operators",
	} {
		if _, err := ParseOperator(strings.Fields(args), io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", args, err, want)
		}
	}
	for _, args := range []string{"-h", "add -h", "totp ann -h"} {
		var out strings.Builder
		_, err := ParseOperator(strings.Fields(args), &out)
		text := out.String()
		if !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(text, "flashsale operator ") ||
			!strings.Contains(text, "Exit code: 0 ") {
			t.Errorf("%s: %v\n%s", args, err, text)
		}
	}
}

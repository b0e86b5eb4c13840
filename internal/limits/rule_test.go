package limits

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func TestParseRules(t *testing.T) {
	rules, err := ParseRules("f", "# rules\nlogin_failed by user 5/m 10/d; a by ip 2/10s shadow closed\n\n"+
		"a by ip of fd00::7 unlimited # us\nb by email of Me@X.example 3/15m precise\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "[{login_failed user  [5/m 10/d] false false false} {a ip  [2/10s] true true false} " +
		"{a ip fd00:: [] false false false} {b email me@x.example [3/15m] false false true}]"
	if got := fmt.Sprint(rules); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestParseRulesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"\nx by user":                            "f:2: \"x by user\" is no rule; it must be <event>",
		"X by user 1/s":                          "f:1: event \"X\"; it must be at most 64 lower-case letters",
		"x by shoe 1/s":                          "f:1: feature \"shoe\"; it must be ip, user, email",
		"x by user shadow":                       "f:1: x by user has no rates, as 5/m",
		"x by user many":                         "f:1: \"many\" is no rate; it must be as 5/m",
		"x by user 0/s":                          "f:1: rate 0/s: a window may have from 1 to 4000000 calls",
		"x by user 1/61s":                        "f:1: rate 1/61s: a window may have from 1 to 60s",
		"x by user 1/2d":                         "f:1: rate 1/2d: a window may have from 1 to 1d",
		"x by user 1/w":                          "f:1: rate 1/w: the window must be s, m, h or d",
		"x by user unlimited":                    "f:1: unlimited is for a rule of one value",
		"x by ip of y 1/s":                       "f:1: wrong feature: ip \"y\" is no address",
		"x by user of a 1/s\nx by user of a 2/s": "f:2: x by user of a has a rule already",
		"x by user 1/s 2/s 3/s 4/s 5/s 6/s 7/s 8/s 9/s": "f:1: x by user has 9 rates; it may have 8",
	} {
		if _, err := ParseRules("f", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// No value is stored under the name of another.
func TestKeysDiffer(t *testing.T) {
	l := &limit{event: "x", feature: "user"}
	long := strings.Repeat("a", valueKeyMax+1)
	sum := sha256.Sum256([]byte(long))
	seen := map[string]string{}
	for _, value := range []string{"a", long, "{a}", long[1:], hex.EncodeToString(sum[:]),
		"#" + hex.EncodeToString(sum[:])} {
		if other, taken := seen[l.key(value)]; taken {
			t.Errorf("%q and %q have the same key", value, other)
		}
		seen[l.key(value)] = value
	}
}

// What is read is written so that it is read again as the same.
func FuzzParseRules(f *testing.F) {
	f.Add(DefaultRules)
	f.Add("a by ip of fd00::7 unlimited\nb by email of me 3/15m precise closed # x")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules("f", text)
		if err != nil {
			return
		}
		for _, rule := range rules {
			for _, rate := range rule.Rates {
				if again, err := parseRate(rate.String()); err != nil || again != rate {
					t.Errorf("%v is read as %v, %v", rate, again, err)
				}
			}
		}
		newRuleset(rules)
	})
}

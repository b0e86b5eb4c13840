package limits

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

func TestParseRules(t *testing.T) {
	rules, err := ParseRules("f", "# rules\nlogin_failed by user 5/m 10/d; a by ip 2/10s shadow closed\n\n"+
		"a by ip of fd00::7 unlimited # us\nb by email of Me@X.example 3/15m precise\n")
	testkit.Must(t, err)
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
		"x by shoe 1/s":                          "f:1: feature \"shoe\"; it must be ip, user, email, vk",
		"x by user shadow":                       "f:1: x by user has no rates, as 5/m",
		"x by user many":                         "f:1: \"many\" is no rate (5/m, 10/15m, 2/s, ",
		"x by user 0/s":                          "f:1: rate 0/s: a window may have from 1 to 4000000 calls",
		"x by user 1/61s":                        "f:1: rate 1/61s: a window in s may have from 1 to 60 of them",
		"x by user 1/2d":                         "f:1: rate 1/2d: a window in d may have from 1 to 1 of them",
		"x by user 1/w":                          "f:1: rate 1/w: the window must be s, m, h or d",
		"x by user unlimited 1/s":                "f:1: x by user is unlimited and has rates",
		"x by user 1/m 2/60s":                    "f:1: x by user has two rates with the window of 2/m",
		"x by user 1/h\nx by user 2/s 2/h":       "f:2: x by user has two rates with the window of 2/h",
		"x by ip of y 1/s":                       "f:1: wrong feature: ip \"y\" is no address",
		"x by vk of y 1/s":                       "f:1: wrong feature: vk \"y\" is no id",
		"x by user of a 1/s\nx by user of a 2/s": "f:2: x by user of a has a rule already",
		"x by user 1/s 2/s 3/s 4/s 5/s 6/s 7/s 8/s 9/s": "f:1: x by user has 9 rates; it may have 8",
	} {
		if _, err := ParseRules("f", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A default rule holds unless another one of its event and feature refuses in its place.
func TestWithDefaults(t *testing.T) {
	const login, register = "login_failed by user, login_failed by ip, ", "register by user, register by ip, "
	const chat = "invite by user, invite by ip, chat by user, chat by ip, logout by user, " +
		"payment by user, payment by ip, coupon by user, coupon by ip, "
	const message = "message by user, message by ip, " + register + chat
	for text, want := range map[string]string{
		"":                  login + message,
		"order by user 2/s": login + message + "order by user, ",
		"x by ip 1/s shadow; login_failed by ip 9/m": "login_failed by user, " + message +
			"x by ip, login_failed by ip, ",
		"login_failed by user unlimited":         "login_failed by ip, " + message + "login_failed by user, ",
		"login_failed by user 1/m shadow":        login + message + "login_failed by user, ",
		"message by vk 20/h":                     login + message + "message by vk, ",
		"message by user of 7 unlimited":         login + message + "message by user, ",
		"message by ip 1/s; message by user 1/s": login + register + chat + "message by ip, message by user, ",
	} {
		got := ""
		for _, rule := range WithDefaults(parse(t, text)) {
			got += rule.Event + " by " + rule.Feature + ", "
		}
		if got != want {
			t.Errorf("%q: %s want %s", text, got, want)
		}
	}
	s := newRuleset(WithDefaults(parse(t, "login_failed by user unlimited; login_failed by ip unlimited")))
	if s.own[LoginFailed] != nil {
		t.Error("the login is guarded, although its rules are unlimited")
	}
	parse(t, "x by user 1/h; x by user 2/h shadow; x by user 3/h precise; x by ip 1/h; y by user 1/h")
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

package handlers

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// FuzzIdempotencyKey orders under one key, again under it, and then under another one: the order is placed
// once and found under its own key only.
func FuzzIdempotencyKey(f *testing.F) {
	f.Add("k", "K")
	f.Add("a b", "a  b")
	f.Add(" k ", "k")
	f.Add("1:1,2:2", "")
	f.Add(strings.Repeat("键", idempotencyKeyMax), strings.Repeat("k", idempotencyKeyMax+1))
	f.Add("%d+ (.*)", "\x00")
	redis := redistest.Start(f)
	shops := []*shop{open(f, "unix", redis.Socket), openOnLoop(f, "unix", redis.Socket)}
	redis.Do(f, fmt.Sprintf("HSET stock_%s 1 1000000000", shops[0].cfg.Sale.ID()))
	var users atomic.Uint32
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, key, other string) {
		if strings.ContainsAny(key+other, "\r\n") || len(key)+len(other) > 4*idempotencyKeyMax {
			return // not one header line, or more than a head may be
		}
		for _, s := range shops {
			s.checkKeys(t, users.Add(1), key, other)
		}
	})
}

// checkKeys orders for a user without an order.
func (s *shop) checkKeys(t *testing.T, user uint32, key, other string) {
	t.Helper()
	body := s.fill(t, user, 1, 1)
	expect := func(key string, status int, want string) {
		t.Helper()
		if refusal := keyRefusal(key); refusal != "" {
			status, want = 400, refusal
		}
		if gotStatus, got := s.orderRaw(t, user, body, key); gotStatus != status || got != want {
			t.Errorf("keys %q and %q, now %q: %d %s, want %d %s", key, other, key, gotStatus, got, status, want)
		}
	}
	expect(key, 200, s.orderID(user))
	if keyRefusal(key) != "" {
		return
	}
	if first := strings.Trim(key, " \t"); first == "" {
		expect(key, 403, oneOrder)
		expect(other, 403, oneOrder)
	} else if expect(key, 200, s.orderID(user)); first == strings.Trim(other, " \t") {
		expect(other, 200, s.orderID(user))
	} else {
		expect(other, 403, oneOrder)
	}
}

// keyRefusal is the body with which a key is refused, "" for a good one.
func keyRefusal(key string) string {
	for _, c := range []byte(key) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return badSyntax
		}
	}
	if utf8.RuneCountInString(strings.Trim(key, " \t")) > idempotencyKeyMax {
		return badKey
	}
	return ""
}

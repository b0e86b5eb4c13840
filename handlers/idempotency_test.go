package handlers

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

const (
	badKey    = `{"code":"INVALID_IDEMPOTENCY_KEY","message":"Idempotency-Key 须为1至255个字符"}`
	badSyntax = `{"code":"BAD_REQUEST","message":"无法解析请求"}`
)

// orderID is the answer to the user's order.
func (s *shop) orderID(user uint32) string {
	return fmt.Sprintf(`{"id":"%s-%d"}`, s.cfg.Sale.ID(), user)
}

// orderRaw orders with this text as the key's header line, which net/http would not send as it is.
func (s *shop) orderRaw(tb testing.TB, user uint32, body, key string) (int, string) {
	tb.Helper()
	c, err := s.dial()
	testkit.Must(tb, err)
	defer c.Close()
	_, err = fmt.Fprintf(c,
		"POST /orders HTTP/1.1\r\nHost: shop\r\nAccess-Token: %s\r\n"+
			"Idempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		s.token(user), key, len(body), body)
	testkit.Must(tb, err)
	reply, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		tb.Fatalf("key %.40q: %v", key, err)
	}
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		tb.Fatalf("key %.40q: %v", key, err)
	}
	return reply.StatusCode, string(text)
}

// FuzzIdempotencyKey orders under one key, again under it, and then under another one: the order is placed
// once and found under its own key only. A key is any text that a header may hold, up to the limit in
// characters; it is compared byte by byte, without the white space around it, and two are refused.
func FuzzIdempotencyKey(f *testing.F) {
	for _, keys := range [][2]string{
		{"k", "K"}, {"a b", "a  b"}, {" k ", "k"}, {"k", " \tk "}, {"1:1,2:2", ""}, {"%d+ (.*)", "\x00"},
		{"a\tb", "a b"}, {`"quoted"`, "quoted"}, {"$3", "*1"}, {"é", "e"}, {"键", "x"}, {"\xe9", "\x80\xff"},
		{strings.Repeat("键", idempotencyKeyMax), strings.Repeat("k", idempotencyKeyMax+1)},
		{strings.Repeat("\xff", idempotencyKeyMax), strings.Repeat("\xff", idempotencyKeyMax-1)},
		{"k", "a\x1fb"}, {"\x7f", "k"},
	} {
		f.Add(keys[0], keys[1])
	}
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
	if gotStatus, got := s.orderRaw(t, user, body, key+"\r\nIdempotency-Key: "+key); gotStatus != 400 ||
		got != badSyntax {
		t.Errorf("key %q twice: %d %s", key, gotStatus, got)
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

// What is checked before the key stays so, a refused order does not use its key up, and the key answers for
// the order that was placed under it, whatever cart comes with it.
func TestIdempotencyKeyAndCarts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		key := []string{"Idempotency-Key", "k"}
		mine := s.fill(t, 2, 1, 3)
		// each under the same key, which means nothing to the others
		for user, count := range map[uint32]int{3: 3, 4: 3, 5: 2} {
			s.expect(t, user, "POST", "/orders", s.fill(t, user, 1, count), 200, s.orderID(user), key...)
		}
		s.expect(t, 2, "POST", "/orders", mine, 403, outOfStock, key...)
		s.fill(t, 2, 1, -1)
		s.expect(t, 2, "POST", "/orders", mine, 200, s.orderID(2), key...)

		other := string(s.keys.AppendCart(nil, 2, 99))
		s.expect(t, 2, "PATCH", "/carts/"+other, `{"food_id":2,"count":2}`, 204, "")
		otherBody := `{"cart_id":"` + other + `"}`
		s.expect(t, 2, "POST", "/orders", otherBody, 200, s.orderID(2), key...)
		s.expect(t, 2, "POST", "/orders", otherBody, 403, oneOrder, "Idempotency-Key", "K")
		s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+s.cartOf(3)+`"}`, 401, notYours, key...)
		s.expect(t, 2, "POST", "/orders", `{"cart_id":"-1"}`, 404, noCart, key...)
		s.expect(t, 2, "POST", "/orders", "{}", 400, malformed, key...)
		s.expect(t, 0, "POST", "/orders", mine, 401, invalidToken, key...)
		keyless := s.fill(t, 6, 3, 1) // an order without a key is not found under any
		s.expect(t, 6, "POST", "/orders", keyless, 200, s.orderID(6))
		s.expect(t, 6, "POST", "/orders", keyless, 403, oneOrder, key...)
		s.expect(t, 2, "GET", "/orders", "", 200,
			fmt.Sprintf(`[{"id":"%s-2","items":[{"food_id":1,"count":2}],"total":%d}]`, s.cfg.Sale.ID(),
				2*s.price(1)))
		if found, err := s.cfg.Sale.Snapshot(); err != nil || found.Left[0] != 0 || found.Left[1] != 10 {
			t.Errorf("stock %v, %v; want 0 and 10", found.Left, err)
		}
	})
}

// The same order at the same moment on three servers: under one key all are answered with it, under
// different keys one is.
func TestIdempotencyKeyOnSeveralServers(t *testing.T) { onEngines(t, testKeyOnSeveralServers) }

func testKeyOnSeveralServers(t *testing.T, open opener) {
	redis := redistest.Start(t)
	servers := []*shop{open(t, "unix", redis.Socket), open(t, "unix", redis.Socket),
		open(t, "unix", redis.Socket)}
	const tries = 30
	s := servers[0]
	for user := uint32(2); user <= 9; user++ {
		oneKey := user%2 == 0
		body := s.fill(t, user, 1, 1)
		var placed, limited atomic.Int64
		var wg sync.WaitGroup
		for i := range tries {
			wg.Go(func() {
				key := "k"
				if !oneKey {
					key = fmt.Sprint("k", i)
				}
				switch status, got, _ := servers[i%len(servers)].call(t, user, "POST", "/orders", body,
					"Idempotency-Key", key); {
				case status == 200 && got == s.orderID(user):
					placed.Add(1)
				case status == 403 && got == oneOrder:
					limited.Add(1)
				default:
					t.Errorf("user %d: %d %s", user, status, got)
				}
			})
		}
		wg.Wait()
		if want := int64(tries); oneKey && placed.Load() != want || !oneKey &&
			(placed.Load() != 1 || limited.Load() != want-1) {
			t.Errorf("user %d, one key %t: %d were placed, %d refused", user, oneKey, placed.Load(),
				limited.Load())
		}
	}
	if found, err := s.cfg.Sale.Snapshot(); err != nil || found.Left[0] != 10-8 {
		t.Errorf("stock %v, %v; want 2", found.Left, err)
	}
}

// An order that was carried out is answered 503 if its reply was lost; the same key then shows that it was
// placed.
func TestIdempotencyKeyAfterLostReply(t *testing.T) { onEngines(t, testKeyAfterLostReply) }

func testKeyAfterLostReply(t *testing.T, open opener) {
	redis, err := launch.StartProxy("unix", redistest.Start(t).Socket)
	testkit.Must(t, err)
	t.Cleanup(redis.Stop)
	s := open(t, "tcp", redis.Address())
	body := s.fill(t, 2, 1, 2)
	// behind it no reply is due any more, also not that to the cart's lifetime
	s.awaitRedis(t)
	redis.BreakNext(launch.Cut{Replies: true})
	h := s.expect(t, 2, "POST", "/orders", body, 503, unavailable, "Idempotency-Key", "k")
	if h.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q, want 1", h.Get("Retry-After"))
	}
	s.awaitRedis(t)
	s.expect(t, 2, "POST", "/orders", body, 403, oneOrder)
	s.expect(t, 2, "POST", "/orders", body, 403, oneOrder, "Idempotency-Key", "another")
	s.expect(t, 2, "POST", "/orders", body, 200, s.orderID(2), "Idempotency-Key", "k")
	if found, err := s.cfg.Sale.Snapshot(); err != nil || found.Left[0] != 8 {
		t.Errorf("stock %v, %v; want 8", found.Left, err)
	}
}

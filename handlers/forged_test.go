package handlers

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"flashsale/tokens"
)

// forgeries are strings made of two right ones of the same kind, of different users, without knowledge of
// the secret.
func forgeries(t *testing.T, mine, theirs string) map[string]string {
	t.Helper()
	flip := func(at int) string {
		raw, err := base64.RawURLEncoding.DecodeString(mine)
		if err != nil {
			t.Fatal(err)
		}
		raw[(at+len(raw))%len(raw)] ^= 1
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	swapCase := func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}
	half := len(mine) / 2
	return map[string]string{
		"first bit": flip(0), "user": flip(3), "behind the user": flip(4), "last bit": flip(-1),
		"other case": strings.Map(swapCase, mine),
		"one short":  mine[:len(mine)-1], "first cut": mine[1:], "half": mine[:half],
		"one character": mine[:1],
		"extended":      mine + "A", "before": "A" + mine, "twice": mine + mine, "padded": mine + "=",
		"head of another": theirs[:half] + mine[half:], "end of another": mine[:half] + theirs[half:],
		"reversed halves": mine[half:] + mine[:half], "zeros": strings.Repeat("A", tokens.Length),
	}
}

// strangeKeys returns keys with another secret.
func strangeKeys(t *testing.T) *tokens.Keys {
	t.Helper()
	keys, err := tokens.New(bytes.Repeat([]byte("o"), tokens.SecretMin))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestForgedTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		forged := forgeries(t, s.token(2), s.token(1))
		forged["expired now"] = string(s.keys.AppendAccess(nil, 2, time.Now()))
		forged["long expired"] = string(s.keys.AppendAccess(nil, 1, time.Unix(0, 0)))
		forged["other secret"] = string(strangeKeys(t).AppendAccess(nil, 1, time.Now().Add(time.Hour)))
		forged["cart"] = s.cartOf(2)
		order := s.fill(t, 2, 1, 1)
		for name, token := range forged {
			for _, c := range []struct{ method, path, body string }{
				{"GET", "/foods", ""}, {"POST", "/carts", ""},
				{"PATCH", "/carts/" + s.cartOf(2), `{"food_id":1,"count":1}`},
				{"POST", "/orders", order}, {"GET", "/orders", ""}, {"GET", "/admin/orders", ""},
			} {
				t.Run(name+" "+c.method+c.path, func(t *testing.T) {
					s.expect(t, 0, c.method, c.path, c.body, 401, invalidToken, "Access-Token", token)
					s.expect(t, 0, c.method, c.path+"?access_token="+token, c.body, 401, invalidToken)
					s.expect(t, 0, c.method, c.path+"?access_token="+token, c.body, 401, invalidToken,
						"Access-Token", token)
				})
			}
		}
		// None of them has changed anything.
		s.expect(t, 1, "GET", "/admin/orders", "", 200, "[]")
		s.expect(t, 2, "POST", "/orders", order, 200, s.orderID(2))
		s.expect(t, 2, "GET", "/orders", "", 200,
			fmt.Sprintf(`[{"id":"%s-2","items":[{"food_id":1,"count":1}],"total":%d}]`, s.cfg.Sale.ID(),
				s.price(1)))
	})
}

func TestForgedCarts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		mine, theirs := s.fill(t, 2, 1, 1), s.fill(t, 3, 2, 2)
		refused := func(t *testing.T, cart string, status int, want string) {
			t.Helper()
			s.expect(t, 2, "PATCH", "/carts/"+cart, `{"food_id":1,"count":1}`, status, want)
			s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+cart+`"}`, status, want)
		}
		forged := forgeries(t, s.cartOf(2), s.cartOf(3))
		forged["other secret"] = string(strangeKeys(t).AppendCart(nil, 2, 2))
		forged["token"] = s.token(2)
		for name, cart := range forged {
			t.Run(name, func(t *testing.T) { refused(t, cart, 404, noCart) })
		}
		t.Run("of another user", func(t *testing.T) { refused(t, s.cartOf(3), 401, notYours) })

		// None of them has changed anything.
		for user, body := range map[uint32]string{2: mine, 3: theirs} {
			s.expect(t, user, "POST", "/orders", body, 200, s.orderID(user))
		}
		s.expect(t, 2, "GET", "/orders", "", 200,
			fmt.Sprintf(`[{"id":"%s-2","items":[{"food_id":1,"count":1}],"total":%d}]`, s.cfg.Sale.ID(),
				s.price(1)))
		s.expect(t, 3, "GET", "/orders", "", 200,
			fmt.Sprintf(`[{"id":"%s-3","items":[{"food_id":2,"count":2}],"total":%d}]`, s.cfg.Sale.ID(),
				2*s.price(2)))
	})
}

package e2e

import (
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// Who registers at one server of a sale logs in and buys at another one; who logs out everywhere at one is
// refused by every worker of the other.
func TestRegisteredUser(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	start := setup{env: []string{"TOKEN_SECRET=" + sharedSecret},
		args: []string{"-redis", redis.Socket, "-users", "5", "-workers", "2", "-chat",
			"-push-address", "127.0.0.1:0"}}
	one, other := start.serve(t), start.serve(t)
	at := one.client(t)
	const name, password = "Алиса", "correct horse"
	const body = `{"name":"` + name + `","password":"` + password + `"}`
	var session struct {
		User  uint32 `json:"user_id"`
		Token string `json:"access_token"`
	}
	testkit.Must(t, at.Call("POST", "/users", body, &session))
	if session.User != redisx.FirstRegistered {
		t.Errorf("the first user who registers is %d", session.User)
	}
	if err := other.client(t).Call("POST", "/users", body, nil); !client.IsRefused(err, 409, "NAME_TAKEN") {
		t.Errorf("the same name at the other server: %v", err)
	}
	buyer := other.client(t)
	testkit.Must(t, buyer.Login("алиса", password))
	cart, err := buyer.Fill(item(1, 2))
	testkit.Must(t, err)
	id, err := buyer.Order(cart)
	testkit.Must(t, err)
	if _, err := buyer.Order(cart); !client.IsRefused(err, 403, "ORDER_OUT_OF_LIMIT") {
		t.Errorf("a second order: %v", err)
	}
	at.Token = session.Token
	if own, err := at.Orders(); err != nil || len(own) != 1 || own[0].ID != id {
		t.Errorf("its order at the first server: %v, %v", own, err)
	}
	if all := one.orders(t); all[int(session.User)].ID != id {
		t.Errorf("all orders: %v", all)
	}

	refusedEverywhere := func(s *server, token string) bool {
		for range 20 { // by all workers
			c := s.client(t)
			c.Token = token
			if err := c.Call("GET", "/foods", "", nil); !client.IsRefused(err, 401, "INVALID_ACCESS_TOKEN") {
				return false
			}
			c.HangUp()
		}
		return true
	}
	testkit.Must(t, at.Call("DELETE", "/users/me/tokens", "", nil))
	testkit.Until(t, "refusal", func() bool { return refusedEverywhere(other, session.Token) })
	for range 5 {
		testkit.Must(t, buyer.Login(name, password))
		testkit.Must(t, buyer.Call("GET", "/foods", "", nil))
	}

	for _, s := range []*server{one, other} {
		s.End(t)
	}
}

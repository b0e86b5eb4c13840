package handlers

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"flashsale/internal/credentials"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const makeOne = `{"password":null}`

const accountClosed = `{"code":"ACCOUNT_CLOSED","message":"账户已注销"}`

// adminUser is a path of a registered user's account.
func adminUser(user uint32, rest string) string { return fmt.Sprintf("/admin/users/%d%s", user, rest) }

var moments = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)

// expectUsers compares a list of registered users, in which "T" stands for each time.
func (s *shop) expectUsers(t *testing.T, query, want string) {
	t.Helper()
	status, body, _ := s.call(t, 1, "GET", "/admin/users"+query, "")
	if got := moments.ReplaceAllString(body, `"T"`); status != 200 || got != want {
		t.Errorf("%s: %d\n got %s\nwant %s", query, status, got, want)
	}
}

// Only root may call.
func TestOperatorOfAccounts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		calls := map[string]string{"/admin/users": "GET", adminUser(first, "/password"): "PUT",
			adminUser(first, ""): "DELETE"}
		s.withAccounts(t)
		s.expectSession(t, "/users", registration("alice", "password"), 201, first, "alice")
		for path, method := range calls {
			s.expect(t, 0, method, path, "{}", 401, invalidToken)
			s.expect(t, 2, method, path, "{}", 403, notAllowed)
			s.expect(t, first, method, path, "{}", 403, notAllowed)
			s.expect(t, 0, method, path, "{}", 401, invalidToken, "Authorization", "Bearer "+serviceToken)
			h := s.expect(t, 1, "PATCH", path, "{}", 405,
				`{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`)
			if allow := h.Get("Allow"); !strings.Contains(allow, method) {
				t.Errorf("PATCH %s: Allow %q", path, allow)
			}
		}
		s.expectSession(t, "/login", login("alice", "password"), 200, first, "alice")
	})
}

func TestListRegistered(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		s.expectUsers(t, "", `{"users":[],"next":0}`)
		s.expectSession(t, "/users", `{"name":"Zoë","password":"password","email":"z@z.example"}`, 201, first,
			"Zoë")
		s.expectSession(t, "/users", registration("bob", "password"), 201, first+1, "bob")
		const open = `,"created_at":"T","closed_at":null}`
		const zoe = `{"user_id":2147483648,"username":"Zoë","email":"z@z.example"` + open
		const bob = `{"user_id":2147483649,"username":"bob","email":""` + open
		for query, want := range map[string]string{
			"":                          `{"users":[` + zoe + `,` + bob + `],"next":0}`,
			"?limit=1":                  `{"users":[` + zoe + `],"next":2147483648}`,
			"?limit=1&after=2147483648": `{"users":[` + bob + `],"next":0}`,
			"?after=4294967295":         `{"users":[],"next":0}`,
			"?name=ZO%C3%8B":            `{"users":[` + zoe + `],"next":0}`,
			"?name=bo":                  `{"users":[],"next":0}`,
			"?name=user2":               `{"users":[],"next":0}`, // of the catalogue
		} {
			s.expectUsers(t, query, want)
		}
		for _, query := range []string{"limit=0", "limit=101", "limit=x", "after=-1", "after=4294967296"} {
			s.expect(t, 1, "GET", "/admin/users?"+query, "", 400, badPage)
		}
	})
}

// Root sets a password or has one made; the tokens of before end.
func TestResetPassword(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		path := adminUser(first, "/password")
		token := s.expectSession(t, "/users", registration("Alice", "password"), 201, first, "Alice")
		s.expect(t, 1, "PUT", "/admin/users/aLICE/password", `{"password":"password two"}`, 204, "")
		s.expect(t, 0, "GET", "/orders", "", 401, invalidToken, "Access-Token", token)
		s.expect(t, 0, "POST", "/login", login("Alice", "password"), 403, authFail)
		token = s.expectSession(t, "/login", login("Alice", "password two"), 200, first, "Alice")

		status, body, _ := s.call(t, 1, "PUT", path, `{"password":null}`)
		made := regexp.MustCompile(`^{"password":"([A-Z2-7]{26})"}$`).FindStringSubmatch(body)
		if status != 200 || made == nil {
			t.Fatalf("%d %s", status, body)
		}
		s.expect(t, 0, "GET", "/orders", "", 401, invalidToken, "Access-Token", token)
		s.expectSession(t, "/login", login("Alice", made[1]), 200, first, "Alice")

		for body, want := range strictBodies(`{"password":"password two"}`, "password") {
			s.expect(t, 1, "PUT", path, body, 400, want)
		}
		for _, body := range []string{`{"password":1}`, `{"password":true}`, `{"password":"null \ud800"}`} {
			s.expect(t, 1, "PUT", path, body, 400, malformed)
		}
		s.expect(t, 1, "PUT", path, `{"password":"short"}`, 400, badPassword)
		s.expect(t, 1, "PUT", path, `{"password":""}`, 400, badPassword)
		s.expect(t, 1, "PUT", "/admin/users/user2/password", makeOne, 403, catalogueUser)
		for _, user := range []string{"nobody", "99", "2147483649", "99999999999"} {
			s.expect(t, 1, "PUT", "/admin/users/"+user+"/password", makeOne, 404, string(nobody(user).body))
		}
		s.expectSession(t, "/login", login("Alice", made[1]), 200, first, "Alice")
	})
}

// Who has a closed account cannot log in; the name stays, and so do the orders.
func TestCloseAccount(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		token := s.expectSession(t, "/users", registration("Alice", "password"), 201, first, "Alice")
		cart := s.cartOf(first)
		s.expect(t, first, "PATCH", "/carts/"+cart, `{"food_id":1,"count":2}`, 204, "")
		if status, body, _ := s.call(t, first, "POST", "/orders", `{"cart_id":"`+cart+`"}`); status != 200 {
			t.Fatalf("order: %d %s", status, body)
		}
		s.call(t, first, "PUT", "/contacts/2", `{"nickname":"two"}`)
		for range 2 {
			s.expect(t, 1, "DELETE", adminUser(first, ""), "", 204, "")
		}
		s.expect(t, 0, "GET", "/orders", "", 401, invalidToken, "Access-Token", token)
		s.expect(t, 0, "POST", "/login", login("Alice", "password"), 403, authFail)
		s.expect(t, 0, "POST", "/users", registration("alice", "password"), 409, nameIsTaken)
		s.expect(t, 1, "PUT", adminUser(first, "/password"), makeOne, 409, accountClosed)
		s.expectUsers(t, "", `{"users":[{"user_id":2147483648,"username":"Alice","email":"",`+
			`"created_at":"T","closed_at":"T"}],"next":0}`)
		if _, list, _ := s.call(t, 1, "GET", "/admin/orders?format=csv", ""); !strings.Contains(list,
			"-2147483648,2147483648,Alice,1=2,") {
			t.Errorf("the export: %s", list)
		}
		s.expect(t, 1, "DELETE", "/admin/users/2", "", 403, catalogueUser)
		s.expect(t, 1, "DELETE", "/admin/users/root", "", 403, catalogueUser)
		for _, user := range []string{"nobody", "99", "2147483649", "99999999999"} {
			s.expect(t, 1, "DELETE", "/admin/users/"+user, "", 404, string(nobody(user).body))
		}
	})
}

// What an operator is told when too much is asked for, or Redis is away.
func TestOperatorIsRefused(t *testing.T) {
	server := redistest.New(t)
	orders := redistest.Start(t)
	s := openOnLoop(t, "unix", orders.Socket)
	orders.Do(t, `EVAL "redis.call('SET', 'o_2147483648', '2:1,|key\\n1800000000123') return 1" 0`)
	a := s.newAccounts(t, func(cfg *accounts.Config) {
		cfg.Redis[0].Address = server.Socket
		cfg.Hash = func(password, salt []byte) ([32]byte, error) {
			if string(password) == "too many" {
				return [32]byte{}, credentials.ErrBusy
			}
			return testkit.FastHash(password, salt)
		}
	})
	s.join(Accounts(a))
	s.expectSession(t, "/users", registration("alice", "password"), 201, first, "alice")
	h := s.expect(t, 1, "PUT", adminUser(first, "/password"), `{"password":"too many"}`, 429, tooMany)
	if h.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", h.Get("Retry-After"))
	}
	server.Do(t, fillSessions)
	s.expect(t, 1, "PUT", adminUser(first, "/password"), makeOne, 429, tooManyEnds)
	s.expect(t, 1, "DELETE", adminUser(first, ""), "", 429, tooManyEnds)
	server.Kill(t)
	testkit.Until(t, "end of the connection", func() bool { return !a.Up() })
	s.expect(t, 1, "GET", "/admin/users", "", 503, unavailable)
	s.expect(t, 1, "GET", "/admin/users?name=alice", "", 503, unavailable)
	s.expect(t, 1, "PUT", adminUser(first, "/password"), makeOne, 503, unavailable)
	s.expect(t, 1, "DELETE", adminUser(first, ""), "", 503, unavailable)
	s.expect(t, 1, "GET", "/admin/orders?format=csv", "", 503, unavailable)
}

package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/internal/credentials"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const (
	first = redisx.FirstRegistered // the id of the first user who registers

	badName        = `{"code":"INVALID_NAME","message":"用户名须为3至32个可见字符，且不能全为数字"}`
	mixedName      = `{"code":"MIXED_NAME","message":"用户名不能混用不同文字的字母"}`
	badPassword    = `{"code":"INVALID_PASSWORD","message":"密码须为8个字符至256字节"}`
	badEmail       = `{"code":"INVALID_EMAIL","message":"邮箱地址无效"}`
	nameIsTaken    = `{"code":"NAME_TAKEN","message":"用户名已被使用"}`
	accountsFull   = `{"code":"ACCOUNTS_FULL","message":"注册人数已满"}`
	catalogueUser  = `{"code":"CATALOGUE_USER","message":"目录用户由目录管理"}`
	noBuyer        = `{"code":"REGISTERED_NOT_ALLOWED","message":"注册用户不能参加本次抢购"}`
	noContact      = `{"code":"CONTACT_NOT_FOUND","message":"联系人不存在"}`
	badContact     = `{"code":"INVALID_CONTACT","message":"联系人不能是自己，备注最多64个可见字符"}`
	badPage        = `{"code":"INVALID_PAGE","message":"分页参数无效"}`
	noMoreContacts = `{"code":"CONTACTS_OUT_OF_LIMIT","message":"联系人不能超过1000个"}`
)

// newAccounts makes the room of a shop and what change sets.
func (s *shop) newAccounts(t *testing.T, change func(*accounts.Config)) *accounts.Accounts {
	t.Helper()
	names := s.cfg.Catalog.Names()
	cfg := accounts.Config{Redis: []pipeline.Config{s.redis.Config}, UsersMax: 100, Hash: testkit.FastHash,
		UserOf: s.cfg.Catalog.UserOf, NameOf: names.Name, EachName: s.cfg.Catalog.EachName}
	if change != nil {
		change(&cfg)
	}
	ended := s.withSessions(t, cfg.Redis[0])
	cfg.EndSessions = func(user uint32) error { return ended.EndAll(sessions.User(user)) }
	cfg.NoteEnd = func(user uint32) error { return ended.NoteAll(sessions.User(user)) }
	a := accounts.New(cfg)
	testkit.Background(t, a.Run)
	testkit.Until(t, "connection of the room", a.Up)
	return a
}

func (s *shop) withAccounts(t *testing.T) *accounts.Accounts {
	a := s.newAccounts(t, nil)
	s.join(Accounts(a))
	return a
}

func registration(name, password string) string {
	body, _ := json.Marshal(map[string]string{"name": name, "password": password})
	return string(body)
}

// expectSession sends a login or a registration, compares the reply and returns the token in it.
func (s *shop) expectSession(t *testing.T, path, body string, status int, user uint32, name string,
) (token string) {
	t.Helper()
	got, reply, h := s.call(t, 0, "POST", path, body)
	want := regexp.MustCompile(fmt.Sprintf(
		`^{"user_id":%d,"username":"%s","access_token":"([-\w]{32})"}$`, user, name))
	found := want.FindStringSubmatch(reply)
	if got != status || found == nil || h.Get("Content-Type") != "application/json" {
		t.Fatalf("%s %s: %d %s %s", path, body, got, h.Get("Content-Type"), reply)
	}
	return found[1]
}

func login(name, password string) string {
	return fmt.Sprintf(`{"username":%q,"password":%q}`, name, password)
}

func TestRegister(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		s.expectSession(t, "/users", registration("Алиса", "correct horse"), 201, first, "Алиса")
		s.expectSession(t, "/users",
			`{"name":"b\u006fb","password":"12345678","email":"bob@b.example"}`, 201, first+1, "bob")
		for _, name := range []string{"Алиса", "аЛИСА", "BOB", "user2", "USER2", "Ｒｏｏｔ"} {
			s.expect(t, 0, "POST", "/users", registration(name, "12345678"), 409, nameIsTaken)
		}
		for _, name := range []string{"", "ab", "1234", "a\tb", "a\u200bbc", strings.Repeat("x", 33)} {
			s.expect(t, 0, "POST", "/users", registration(name, "12345678"), 400, badName)
		}
		s.expect(t, 0, "POST", "/users", registration("r\u043eot", "12345678"), 400, mixedName)
		for _, password := range []string{"", "1234567", strings.Repeat("p", 257)} {
			s.expect(t, 0, "POST", "/users", registration("carol", password), 400, badPassword)
		}
		s.expect(t, 0, "POST", "/users", `{"name":"carol","password":"12345678","email":"x"}`, 400, badEmail)
		for body, want := range strictBodies(registration("carol", "12345678"), "name", "password", "email") {
			s.expect(t, 0, "POST", "/users", body, 400, want)
		}
		for _, body := range []string{`{"name":1,"password":"12345678"}`, `{"name":"carol"}`,
			`{"name":"carol","password":null}`, `{"name":"carol","password":"12345678","email":7}`,
			`{"name":"car\ud800","password":"12345678"}`} {
			s.expect(t, 0, "POST", "/users", body, 400, malformed)
		}
		s.expect(t, 2, "PUT", "/users/me/password", `{"old":"a","password":"b"}`, 400,
			unknownTo("password", "old", "new"))
	})
}

// A registered user logs in under his name in any case; a wrong password and an unknown name get the same.
func TestLoginOfRegistered(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		s.expectSession(t, "/users", registration("Zoë", "correct horse"), 201, first, "Zoë")
		for _, name := range []string{"Zoë", "zoë", "ZOË", "Zoe\u0308"} {
			s.expectSession(t, "/login", login(name, "correct horse"), 200, first, "Zoë")
		}
		for _, body := range []string{login("Zoë", "wrong horse"), login("Zoe", "correct horse"), login("", ""),
			login("user2", "correct horse"), login("1234", "correct horse")} {
			s.expect(t, 0, "POST", "/login", body, 403, authFail)
		}
		s.expectSession(t, "/login", login("user2", "pass2"), 200, 2, "user2")
	})
}

// A registered user buys as any other one does, unless the sale is for users of the catalogue.
func TestRegisteredBuys(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		s.expectSession(t, "/users", registration("alice", "password"), 201, first, "alice")
		cart := s.cartOf(first)
		order := `{"cart_id":"` + cart + `"}`
		id := fmt.Sprintf(`"id":"%s"`, redisx.AppendOrderID(nil, s.cfg.Sale.ID(), first, 0))
		const items = `"items":[{"food_id":1,"count":2}],"total":`
		s.expect(t, first, "PATCH", "/carts/"+cart, `{"food_id":1,"count":2}`, 204, "")
		s.expect(t, first, "POST", "/orders", order, 200, "{"+id+"}")
		s.expect(t, first, "POST", "/orders", order, 403, oneOrder)
		if _, own, _ := s.call(t, first, "GET", "/orders", ""); !strings.HasPrefix(own, "[{"+id+","+items) {
			t.Errorf("own orders: %s", own)
		}
		_, all, _ := s.call(t, 1, "GET", "/admin/orders", "")
		if want := fmt.Sprintf(`"user_id":%d,`, uint32(first)); !strings.Contains(all, want) {
			t.Errorf("all orders: %s, want %s", all, want)
		}
		s.do(func() { s.cfg.CatalogueBuyers = true })
		s.expect(t, first, "POST", "/carts", "", 403, noBuyer)
		s.expect(t, first, "PATCH", "/carts/"+cart, `{"food_id":1,"count":1}`, 403, noBuyer)
		s.expect(t, first, "POST", "/orders", order, 403, noBuyer)
		s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(2), `{"food_id":1,"count":1}`, 204, "")
	})
}

// After a change of the password a token of before is refused and a login right afterwards works.
func TestSetPassword(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		with := func(token, method, path, body string, status int, want string) {
			t.Helper()
			s.expect(t, 0, method, path, body, status, want, "Access-Token", token)
			if status == 401 {
				s.expect(t, 0, method, path+"?access_token="+token, body, status, want)
			}
		}
		alice := s.expectSession(t, "/users", registration("alice", "password one"), 201, first, "alice")
		const change = `{"old":"password one","new":"password two"}`
		with(alice, "PUT", "/users/me/password", `{"old":"wrong","new":"password two"}`, 403, authFail)
		with(alice, "PUT", "/users/me/password", `{"old":"password one","new":"short"}`, 400, badPassword)
		with(alice, "PUT", "/users/me/password", `{"old":"password one"}`, 400, malformed)
		with(alice, "PUT", "/users/me/password", change, 204, "")
		with(alice, "GET", "/orders", "", 401, invalidToken)
		s.expect(t, 0, "POST", "/login", login("alice", "password one"), 403, authFail)
		alice = s.expectSession(t, "/login", login("alice", "password two"), 200, first, "alice")
		with(alice, "GET", "/orders", "", 200, "[]")
		user2 := s.expectSession(t, "/login", login("user2", "pass2"), 200, 2, "user2")
		with(user2, "PUT", "/users/me/password", `{"old":"pass2","new":"password two"}`, 403, catalogueUser)
		s.expect(t, 0, "PUT", "/users/me/password", change, 401, invalidToken)
	})
}

func TestContacts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		s.expectSession(t, "/users", registration("Alice", "password"), 201, first, "Alice")
		alice := fmt.Sprintf(`{"user_id":%d,"username":"Alice","blocked":true,"nickname":""}`, uint32(first))
		const bob = `{"user_id":3,"username":"user3","blocked":false,"nickname":"Böb"}`
		s.expect(t, 2, "GET", "/contacts", "", 200, `{"contacts":[],"next":0}`)
		s.expect(t, 2, "GET", "/contacts/3", "", 404, noContact)
		for range 2 {
			s.expect(t, 2, "PUT", "/contacts/user3", `{"blocked":false,"nickname":"Böb"}`, 200, bob)
			s.expect(t, 2, "PUT", "/contacts/aLICE", `{"blocked":true,"nickname":""}`, 200, alice)
		}
		s.expect(t, 2, "GET", "/contacts/3", "", 200, bob)
		s.expect(t, 2, "GET", fmt.Sprint("/contacts/", uint32(first)), "", 200, alice)
		s.expect(t, 2, "GET", "/contacts", "", 200, `{"contacts":[`+bob+`,`+alice+`],"next":0}`)
		s.expect(t, 2, "GET", "/contacts?limit=1", "", 200, `{"contacts":[`+bob+`],"next":3}`)
		s.expect(t, 2, "GET", "/contacts?limit=1&after=3", "", 200, `{"contacts":[`+alice+`],"next":0}`)
		s.expect(t, first, "GET", "/contacts", "", 200, `{"contacts":[],"next":0}`)
		for _, query := range []string{"limit=0", "limit=101", "limit=x", "after=-1", "after=4294967296"} {
			s.expect(t, 2, "GET", "/contacts?"+query, "", 400, badPage)
		}
		for user, text := range map[string]string{"nobody": "nobody", "99": "99", "99999999999": "99999999999",
			"Zo%C3%AB": "Zoë", "a%2Fb": "a%2Fb"} {
			s.expectFailure(t, 2, "PUT", "/contacts/"+user, `{"blocked":true,"nickname":""}`, nobody(text))
			s.expectFailure(t, 2, "GET", "/contacts/"+user, "", nobody(text))
			s.expectFailure(t, 2, "DELETE", "/contacts/"+user, "", nobody(text))
		}
		s.expect(t, 2, "PUT", "/contacts/2", `{"blocked":true,"nickname":""}`, 400, badContact)
		s.expect(t, 2, "PUT", "/contacts/3", `{"blocked":true,"nickname":"`+strings.Repeat("x", 65)+`"}`, 400,
			badContact)
		for body, want := range strictBodies(`{"blocked":true,"nickname":""}`, "blocked", "nickname") {
			s.expect(t, 2, "PUT", "/contacts/3", body, 400, want)
		}
		for _, body := range []string{`{"blocked":1,"nickname":""}`, `{"blocked":null}`,
			`{"blocked":null,"nickname":""}`, `{"blocked":true,"nickname":null}`, `{"nickname":7}`} {
			s.expect(t, 2, "PUT", "/contacts/3", body, 400, malformed)
		}
		const third = `{"user_id":3,"username":"user3","blocked":`
		s.expect(t, 2, "PUT", "/contacts/3", `{"blocked":true}`, 200, third+`true,"nickname":"Böb"}`)
		s.expect(t, 2, "PUT", "/contacts/3", `{"nickname":"B"}`, 200, third+`true,"nickname":"B"}`)
		s.expect(t, 4, "PUT", "/contacts/3", `{"nickname":"C"}`, 200, third+`false,"nickname":"C"}`)
		for range 2 {
			s.expect(t, 2, "DELETE", "/contacts/user3", "", 204, "")
		}
		s.expect(t, 2, "GET", "/contacts", "", 200, `{"contacts":[`+alice+`],"next":0}`)
		s.expect(t, 0, "GET", "/contacts", "", 401, invalidToken)
	})
}

func TestNamesOfUsers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withAccounts(t)
		s.expectSession(t, "/users", registration("Alice", "password"), 201, first, "Alice")
		s.expect(t, 2, "GET", fmt.Sprintf("/users?ids=%d,99,1,3", uint32(first)), "", 200, fmt.Sprintf(
			`{"users":[{"user_id":%d,"username":"Alice"},{"user_id":1,"username":"root"},`+
				`{"user_id":3,"username":"user3"}]}`, uint32(first)))
		s.expect(t, 2, "GET", "/users?ids=0"+strings.Repeat(",0", 99), "", 200, `{"users":[]}`)
		for _, ids := range []string{"", "1,", "x", "-1", "4294967296", "0" + strings.Repeat(",0", 100)} {
			s.expect(t, 2, "GET", "/users?ids="+ids, "", 400, `{"code":"BAD_REQUEST","message":"无法解析请求"}`)
		}
		s.expect(t, 0, "GET", "/users?ids=1", "", 401, invalidToken)
	})
}

// What the room refuses because of a bound.
func TestAccountsBounds(t *testing.T) {
	s := openOnLoop(t, "unix", redistest.Start(t).Socket)
	a := s.newAccounts(t, func(cfg *accounts.Config) {
		cfg.UsersMax = 1
		cfg.Hash = func(password, salt []byte) ([32]byte, error) {
			switch string(password) {
			case "too many":
				return [32]byte{}, credentials.ErrBusy
			case "no process":
				return [32]byte{}, fmt.Errorf("%w: %w", pipeline.ErrUnavailable, errors.New("no process"))
			}
			return testkit.FastHash(password, salt)
		}
	})
	s.join(Accounts(a))
	h := s.expect(t, 0, "POST", "/users", registration("alice", "too many"), 429, tooMany)
	if h.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.expect(t, 0, "POST", "/users", registration("alice", "no process"), 503, unavailable)
	s.expectSession(t, "/users", registration("alice", "password"), 201, first, "alice")
	s.expect(t, 0, "POST", "/login", login("alice", "too many"), 429, tooMany)
	s.expect(t, 0, "POST", "/users", registration("bob", "password"), 403, accountsFull)
	for user := uint32(3); user < 1003; user++ {
		_, err := a.PutContact(2, user, accounts.ContactChange{})
		testkit.Must(t, err)
	}
	s.expect(t, 2, "PUT", "/contacts/alice", `{"blocked":true,"nickname":""}`, 403, noMoreContacts)
}

// Registrations are limited by address and by name, failed logins by name whatever its case, and a stolen
// token guesses no faster.
func TestAccountsAreLimited(t *testing.T) {
	s := openOnLoop(t, "unix", redistest.Start(t).Socket)
	a := s.newAccounts(t, nil)
	s.rooms = append(s.rooms, Accounts(a))
	s = limited(t, s, "register by ip 4/h; register by user 2/h; login_failed by user 3/h; "+
		"login_failed by ip 99/m", nil)
	s.expectSession(t, "/users", registration("Alice", "password"), 201, first, "Alice")
	s.awaitCounted(t, "/limits/register?user=alice", `"remaining":1,`)
	s.expect(t, 0, "POST", "/users", registration("ALICE", "password"), 409, nameIsTaken)
	s.awaitCounted(t, "/limits/register?user=alice", `"remaining":0,`)
	s.expect(t, 0, "POST", "/users", registration("alice", "password"), 429, tooMany)
	s.expectSession(t, "/users", registration("bob", "password"), 201, first+1, "bob")
	s.awaitCounted(t, "/limits/register?ip=127.0.0.1", `"remaining":1,`)
	s.expectSession(t, "/users", registration("carol", "password"), 201, first+2, "carol")
	s.awaitCounted(t, "/limits/register?ip=127.0.0.1", `"remaining":0,`)
	s.expect(t, 0, "POST", "/users", "{", 429, tooMany)
	for i, name := range []string{"alice", "Alice"} {
		s.expect(t, 0, "POST", "/login", login(name, "wrong"), 403, authFail)
		s.awaitCounted(t, "/limits/login_failed?user=alice", fmt.Sprintf(`"remaining":%d,`, 2-i))
	}
	s.expect(t, first, "PUT", "/users/me/password", `{"old":"wrong","new":"password two"}`, 403, authFail)
	s.awaitCounted(t, "/limits/login_failed?user=alice", `"remaining":0,`)
	s.expect(t, first, "PUT", "/users/me/password", `{"old":"password","new":"password two"}`, 429, tooMany)
	s.expect(t, 0, "POST", "/login", login("ALICE", "password"), 429, tooMany)
}

// The check of a token, and a login of the catalogue, do not allocate beside the room.
func TestAccountsDoNotAllocate(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withAccounts(t)
	testkit.Must(t, s.sessions.EndAll(sessions.User(7)))
	s.callHot(t, "plain")
	status, allocs := s.allocsOf(fasthttp.MethodPost, "/login", login("user2", "wrong"))
	if status != 403 || allocs != 0 {
		t.Errorf("a wrong password: %d, %v allocations", status, allocs)
	}
}

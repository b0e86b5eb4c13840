package handlers

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"flashsale/internal/credentials"
	"flashsale/internal/rooms/operators"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const (
	codeNeeded = `{"code":"CODE_NEEDED","message":"需要验证码"}`
	wrongCode  = `{"code":"WRONG_CODE","message":"验证码错误或已使用"}`
)

// withOperators makes the room of a shop with a list.
func (s *shop) withOperators(t *testing.T, list ...operators.Operator) *operators.Operators {
	t.Helper()
	o := operators.New(operators.Config{Redis: s.redis.Config, List: list, Hash: testkit.FastHash})
	testkit.Background(t, o.Run)
	testkit.Until(t, "connection of the room", o.Up)
	s.join(Operators(o))
	return o
}

func operatorLogin(name, password, code string) string {
	body, _ := json.Marshal(map[string]string{"name": name, "password": password, "code": code})
	return string(body)
}

// enter logs an operator in and returns the token.
func (s *shop) enter(t *testing.T, name, code string, role operators.Role) (token string) {
	t.Helper()
	status, body, h := s.call(t, 0, "POST", "/admin/login", operatorLogin(name, "password of "+name, code))
	var told struct {
		Name, Role string
		Token      string    `json:"access_token"`
		Expires    time.Time `json:"expires_at"`
	}
	testkit.Must(t, json.Unmarshal([]byte(body), &told))
	left := time.Until(told.Expires)
	if status != 200 || told.Name != name || told.Role != string(role) || left <= 0 || left > s.cfg.TokenTTL ||
		h.Get("Cache-Control") != "no-store" {
		t.Fatalf("login of %s: %d %s %v", name, status, body, h)
	}
	return told.Token
}

func TestOperatorLogin(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withOperators(t, staff...)
		for body, want := range strictBodies(`{"name":"adam","password":"x"}`, "name", "password", "code") {
			s.expect(t, 0, "POST", "/admin/login", body, 400, want)
		}
		for _, body := range []string{`{"name":"adam"}`, `{"name":1,"password":"x"}`,
			`{"name":"adam","password":"x","code":123456}`, `{"name":"adam","password":"x","code":null}`} {
			s.expect(t, 0, "POST", "/admin/login", body, 400, malformed)
		}
		for _, who := range [][2]string{{"adam", "password of vera"}, {"nobody", "password of adam"}, {"", ""},
			{"root", "toor"}, {"user2", "pass2"}} {
			s.expect(t, 0, "POST", "/admin/login", operatorLogin(who[0], who[1], ""), 403, authFail)
		}
		s.expect(t, 0, "POST", "/login", login("adam", "password of adam"), 403, authFail)
		for _, x := range staff {
			s.enter(t, x.Name, "", x.Role)
		}
		s.enter(t, "adam", "123456", operators.Admin) // a code that nobody needs

		s.do(func() { s.cfg.AdminFrom = networks("192.0.2.0/24") })
		s.expect(t, 0, "POST", "/admin/login", operatorLogin("adam", "password of adam", ""), 403, otherPlace)
	})
}

// The second factor comes after the password, and each code once.
func TestOperatorCodes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		adam := staff[2]
		_, codes, err := adam.SetTOTP()
		testkit.Must(t, err)
		s.withOperators(t, adam)
		try := func(password, code string, status int, want string) {
			t.Helper()
			s.expect(t, 0, "POST", "/admin/login", operatorLogin("adam", password, code), status, want)
		}
		code, err := totp.GenerateCode(adam.TOTP, time.Now())
		testkit.Must(t, err)
		try("wrong", code, 403, authFail)
		try("password of adam", "", 403, codeNeeded)
		s.expect(t, 0, "POST", "/admin/login", `{"name":"adam","password":"password of adam"}`, 403, codeNeeded)
		s.enter(t, "adam", code, operators.Admin)
		try("password of adam", code, 403, wrongCode)
		s.enter(t, "adam", codes[0], operators.Admin)
		try("password of adam", codes[0], 403, wrongCode)
		testkit.Until(t, "too many codes", func() bool {
			status, body, h := s.call(t, 0, "POST", "/admin/login",
				operatorLogin("adam", "password of adam", "nocode"))
			wait, _ := strconv.Atoi(h.Get("Retry-After"))
			return status == 429 && body == tooMany && wait > 0 && wait <= 30
		})
		s.enter(t, "adam", codes[1], operators.Admin)
	})
}

// A token follows the list: the role is that of now, and it ends with the password and with the operator.
func TestOperatorTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		o := s.withOperators(t, staff...)
		token := []string{"Access-Token", s.enter(t, "olaf", "", operators.Operates)}
		s.expect(t, 0, "GET", "/admin/orders", "", 200, "[]", token...)
		s.expect(t, 0, "GET", "/admin/orders?access_token="+token[1], "", 200, "[]")
		s.expect(t, 0, "GET", "/admin/orders", "", 401, invalidToken, "Access-Token",
			token[1][:31]+string(token[1][31]^1))
		s.expect(t, 0, "PUT", "/admin/sale", "{}", 400, malformed, token...)
		s.expect(t, 0, "GET", "/foods", "", 403, notForOperators, token...)
		s.expect(t, 0, "POST", "/carts", "", 403, notForOperators, token...)
		s.expect(t, 0, "POST", "/orders", `{"cart_id":"x"}`, 403, notForOperators, token...)

		olaf := staff[1]
		olaf.Role = operators.Viewer
		o.Use([]operators.Operator{olaf})
		s.expect(t, 0, "GET", "/admin/orders", "", 200, "[]", token...)
		s.expect(t, 0, "PUT", "/admin/sale", "{}", 403, notAllowed, token...)

		o.Use([]operators.Operator{newOperator(2, "olaf", operators.Operates)}) // another password
		s.expect(t, 0, "GET", "/admin/orders", "", 401, invalidToken, token...)
		o.Use(nil)
		s.expect(t, 0, "GET", "/admin/orders", "", 401, invalidToken, token...)
		o.Use(staff)
		s.expect(t, 0, "GET", "/admin/orders", "", 200, "[]", token...)
	})
}

// The log of the sale says who, and each act stands in the server's log.
func TestLogSaysWho(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		log := testkit.CaptureLog(t)
		olaf := newOperator(2, `olaf "the" o`, operators.Operates)
		s.withOperators(t, olaf, staff[2])
		s.rooms = append(s.rooms, Accounts(s.newAccounts(t, nil)))
		token := []string{"Access-Token", s.enter(t, olaf.Name, "", operators.Operates)}
		s.call(t, 0, "PUT", "/admin/sale", `{"state":"paused"}`, token...)
		s.call(t, 0, "POST", "/admin/foods/1/stock", `{"add":5}`, token...)
		s.call(t, rootUser, "PUT", "/admin/sale", `{"state":"open"}`)
		s.expectNow(t, rootUser, "GET", "/admin/log", "", 200, `[{"at":"NOW","by":"terminal","what":"opened",`+
			`"pieces":50,"opens_at":null,"closes_at":null},`+
			`{"at":"NOW","by":"olaf \"the\" o","what":"state","before":"open","after":"paused"},`+
			`{"at":"NOW","by":"olaf \"the\" o","what":"stock","food_id":1,"add":5,"before":10,"after":15},`+
			`{"at":"NOW","by":"root","what":"state","before":"paused","after":"open"}]`)

		s.expect(t, 0, "POST", "/admin/login", operatorLogin("hunter2", "x", ""), 403, authFail)
		for _, want := range []string{
			`msg="an operator has logged in" operator="olaf \"the\" o" role=operator from=`,
			`msg="an operator has made a call" operator="olaf \"the\" o" method=PUT path=/admin/sale status=200 `,
			`operator="olaf \"the\" o" method=POST path=/admin/foods/1/stock status=200 `,
			`operator=root method=PUT path=/admin/sale status=200 `,
			`msg="logins of operators are refused" refused=1 operator="" error="wrong name or password" last_from=`,
		} {
			if log.Count(want) != 1 {
				t.Errorf("the log lacks %s:\n%s", want, log)
			}
		}
		if text := log.String(); strings.Contains(text, "hunter2") || strings.Contains(text, "path=/admin/log") {
			t.Errorf("the log has what people type, or what was only read: %s", text)
		}
	})
}

// Guesses of an operator's password are bounded like those of a user's, and are not those of a user of the
// same name. From -admin-from the operator gets in.
func TestGuessesOfOperators(t *testing.T) {
	s := openOnLoop(t, "unix", redistest.Start(t).Socket)
	user2 := newOperator(1, "user2", operators.Viewer)
	room := s.withOperators(t, user2)
	s = guarded(t, s)
	from := func(address string) []string { return []string{"X-Forwarded-For", address} }
	bad := operatorLogin("User2", "x", "")
	testkit.Until(t, "the name closed where it is guessed", func() bool {
		status, _, _ := s.call(t, 0, "POST", "/admin/login", bad, from("198.51.100.1")...)
		return status == 429
	})
	good := operatorLogin("user2", "password of user2", "")
	if status, _, _ := s.call(t, 0, "POST", "/admin/login", good, from("198.51.100.1")...); status != 429 {
		t.Errorf("where it is closed: %d", status)
	}
	for i := range 5 {
		testkit.Same(t, "a network that is known", room.Knows(netip.MustParseAddr("192.0.2.1")), i > 0)
		if status, body, _ := s.call(t, 0, "POST", "/admin/login", good, from("192.0.2.1")...); status != 200 {
			t.Errorf("at an address of -admin-from: %d %s", status, body)
		}
	}
	testkit.Same(t, "where it was guessed", room.Knows(netip.MustParseAddr("198.51.100.1")), false)
	if status, _ := s.loginAs(t, "user2", "pass2", "198.51.100.1"); status != 200 {
		t.Errorf("the user of the same name: %d", status)
	}
}

// A name that there is not takes as long as a wrong password: both hash once, in the same queue.
func TestOperatorsHashAlike(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	hashed := 0
	o := operators.New(operators.Config{Redis: s.redis.Config, List: staff,
		Hash: func(password, salt []byte) ([32]byte, error) {
			hashed++
			if hashed > 3 {
				return [32]byte{}, credentials.ErrBusy
			}
			return testkit.FastHash(password, salt)
		}})
	s.join(Operators(o))
	for i, name := range []string{"adam", "nobody", strings.Repeat("x", 500)} {
		s.expect(t, 0, "POST", "/admin/login", operatorLogin(name, "wrong", ""), 403, authFail)
		if hashed != i+1 {
			t.Errorf("%.10s: %d hashes, want %d", name, hashed, i+1)
		}
	}
	s.expect(t, 0, "POST", "/admin/login", operatorLogin("adam", "wrong", ""), 429, tooMany)
}

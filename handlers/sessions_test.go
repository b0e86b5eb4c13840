package handlers

import (
	"testing"
	"time"

	"flashsale/internal/rooms/operators"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const (
	tooManyEnds = `{"code":"TOO_MANY_LOGOUTS","message":"退出登录的用户过多"}`
	// fillSessions makes a Redis have as many people who have ended sessions as it may.
	fillSessions = `EVAL "for i = 1, 200000 do ` +
		`redis.call('ZADD', 'session:{session}:changed', 9e12, 'u' .. 1000 + i) end return 1" 0`
)

// withSessions makes the room of a shop, on a Redis.
func (s *shop) withSessions(t *testing.T, redis pipeline.Config) *sessions.Sessions {
	t.Helper()
	ended := sessions.New(sessions.Config{Redis: redis, TokenTTL: s.cfg.TokenTTL})
	testkit.Background(t, ended.Run)
	testkit.Until(t, "connection of the room", ended.Up)
	s.join(Sessions(ended))
	return ended
}

// expectToken is expect with a token, in the header and in the query.
func (s *shop) expectToken(t *testing.T, token, method, path, body string, status int, want string) {
	t.Helper()
	s.expect(t, 0, method, path, body, status, want, "Access-Token", token)
	if status == 401 {
		s.expect(t, 0, method, path+"?access_token="+token, body, status, want)
	}
}

// A logout ends one session, also where the token comes in the query; the user's other sessions and a login
// right afterwards go on. The end of all ends those of before.
func TestLogOut(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withSessions(t, s.redis.Config)
		logIn := func() string {
			t.Helper()
			return s.expectSession(t, "/login", login("user2", "pass2"), 200, 2, "user2")
		}
		ended := func(token string) {
			t.Helper()
			s.expectToken(t, token, "GET", "/orders", "", 401, invalidToken)
		}
		s.expect(t, 0, "POST", "/logout", "", 401, invalidToken)
		s.expect(t, 0, "DELETE", "/users/me/tokens", "", 401, invalidToken)
		first, second, third := logIn(), logIn(), logIn()
		s.expectToken(t, first, "POST", "/logout", "{}", 204, "")
		s.expect(t, 0, "POST", "/logout?access_token="+second, "", 204, "")
		ended(first)
		ended(second)
		s.expectToken(t, first, "POST", "/logout", "", 401, invalidToken)
		fourth := logIn()
		for _, token := range []string{third, fourth} {
			s.expectToken(t, token, "POST", "/orders", `{"cart_id":"x"}`, 404, noCart)
		}
		s.expectToken(t, third, "DELETE", "/users/me/tokens", "", 204, "")
		fifth := logIn()
		ended(third)
		ended(fourth)
		s.expectToken(t, fifth, "GET", "/orders", "", 200, "[]")
		s.expect(t, 3, "GET", "/orders", "", 200, "[]")
	})
}

// An operator who ends all sessions may log in again at once.
func TestOperatorEndsAll(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.do(func() { s.cfg.TokenTTL = 24 * time.Hour })
		s.withOperators(t, staff...)
		s.withSessions(t, s.redis.Config)
		first := s.enter(t, "adam", "", operators.Admin)
		s.expectToken(t, first, "DELETE", "/users/me/tokens", "", 204, "")
		s.expectToken(t, first, "GET", "/admin/orders", "", 401, invalidToken)
		second := s.enter(t, "adam", "", operators.Admin)
		s.expectToken(t, second, "GET", "/admin/orders", "", 200, "[]")
	})
}

// What is refused: too many logouts of one user, those of too many users, and all while Redis is away. Then
// the tokens that have ended stay so.
func TestLogOutIsRefused(t *testing.T) {
	server := redistest.New(t)
	s := open(t, "unix", redistest.Start(t).Socket)
	redis := s.redis.Config
	redis.Address = server.Socket
	ended := s.withSessions(t, redis)
	token := s.expectSession(t, "/login", login("user2", "pass2"), 200, 2, "user2")
	s.expectToken(t, token, "POST", "/logout", "", 204, "")
	server.Do(t, fillSessions)
	s.expect(t, 3, "POST", "/logout", "", 429, tooManyEnds)
	s.expect(t, 3, "DELETE", "/users/me/tokens", "", 429, tooManyEnds)
	server.Kill(t)
	testkit.Until(t, "end of the connection", func() bool { return !ended.Up() })
	for _, user := range []uint32{2, 3} {
		s.expect(t, user, "POST", "/logout", "", 503, unavailable)
		s.expect(t, user, "DELETE", "/users/me/tokens", "", 503, unavailable)
		s.expect(t, user, "GET", "/orders", "", 200, "[]")
	}
	s.expectToken(t, token, "GET", "/orders", "", 401, invalidToken)
}

func TestRateOfLogouts(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withSessions(t, s.redis.Config)
	s = limited(t, s, "logout by user 2/h", nil)
	for i, remaining := range []string{`"remaining":1,`, `"remaining":0,`} {
		token := string(s.keys.AppendAccess(nil, 2, uint32(5+i), time.Now().Add(time.Hour)))
		s.expectToken(t, token, "POST", "/logout", "", 204, "")
		s.awaitCounted(t, "/limits/logout?user=2", remaining)
	}
	s.expect(t, 2, "POST", "/logout", "", 429, tooMany)
	s.expect(t, 2, "DELETE", "/users/me/tokens", "", 429, tooMany)
	s.expect(t, 3, "POST", "/logout", "", 204, "")
}

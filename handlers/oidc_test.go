package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/rooms/oidc"
	"flashsale/internal/rooms/operators"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/idp"
	"flashsale/redisx/redistest"
)

const (
	oidcRefused  = `{"code":"OIDC_REFUSED","message":"登录未完成、已过期或无效"}`
	noOperator   = `{"code":"NOT_AN_OPERATOR","message":"该账户不是操作员"}`
	providerAway = `{"code":"OIDC_UNAVAILABLE","message":"无法连接登录服务"}`

	// Those of RFC 7636, appendix B.
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	beginning = "/admin/oidc?challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

// person has the provider know somebody under this name.
func person(name string) idp.Fault {
	return idp.Fault{Claims: map[string]any{"preferred_username": name}}
}

// withProvider makes the rooms of operators and of their logins at a provider, which knows olaf.
func (s *shop) withProvider(t *testing.T) *idp.Provider {
	t.Helper()
	p := idp.Start(t)
	p.Break(person("olaf"))
	o, err := oidc.New(oidc.Config{Issuer: p.URL, ClientID: idp.ClientID, Secret: idp.Secret,
		Return: "https://shop.example/", Claim: "preferred_username", StateSecret: secret})
	testkit.Must(t, err)
	s.withOperators(t, staff...)
	s.join(OIDC(o))
	return p
}

// comeBack is what a page sends that has begun a login and comes back from the provider.
func (s *shop) comeBack(t *testing.T, header ...string) string {
	t.Helper()
	status, body, _ := s.call(t, 0, "GET", beginning, "", header...)
	var begun struct{ URL string }
	if err := json.Unmarshal([]byte(body), &begun); status != 200 || err != nil {
		t.Fatalf("to begin: %d %s", status, body)
	}
	_, told := idp.Visit(t, begun.URL)
	return fmt.Sprintf(`{"code":%q,"state":%q,"verifier":%q}`, told.Get("code"), told.Get("state"), verifier)
}

// Who is in the list logs in at the provider as with a password, once with a code. Others do not, not even
// under a name that looks alike.
func TestProviderLogin(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		log := testkit.CaptureLog(t)
		p := s.withProvider(t)
		refused := func(body string, status int, want string, header ...string) {
			t.Helper()
			s.expect(t, 0, "POST", "/admin/oidc", body, status, want, header...)
		}
		const garbage = `{"code":"x","state":"y","verifier":"z"}`
		for body, want := range strictBodies(garbage, "code", "state", "verifier") {
			refused(body, 400, want)
		}
		refused(`{"code":"x","state":"y"}`, 400, malformed)
		refused(`{"code":"x","state":"y","verifier":1}`, 400, malformed)
		refused(garbage, 403, oidcRefused)
		s.expect(t, 0, "GET", "/admin/oidc", "", 400, badSyntax)
		s.expect(t, 0, "GET", "/admin/oidc?challenge=x", "", 400, badSyntax)

		back := s.comeBack(t)
		refused(strings.Replace(back, verifier, verifier+"x", 1), 403, oidcRefused)
		status, body, h := s.call(t, 0, "POST", "/admin/oidc", back)
		var told struct {
			Name, Role string
			Token      string `json:"access_token"`
		}
		testkit.Must(t, json.Unmarshal([]byte(body), &told))
		if status != 200 || told.Name != "olaf" || told.Role != string(operators.Operates) ||
			h.Get("Cache-Control") != "no-store" {
			t.Fatalf("olaf: %d %s %v", status, body, h)
		}
		s.expect(t, 0, "GET", "/admin/orders", "", 200, "[]", "Access-Token", told.Token)
		s.expect(t, 0, "GET", "/admin/users", "", 404, unknownPath, "Access-Token", told.Token)
		refused(back, 403, oidcRefused)
		for _, name := range []string{"alice", "OLAF", "ｏｌａｆ", "user2", "root"} {
			p.Break(person(name))
			refused(s.comeBack(t), 403, noOperator)
		}
		s.expect(t, 0, "POST", "/admin/oidc", s.comeBack(t), 403,
			`{"code":"NOT_AN_OPERATOR","message":"Your account at the provider is not one of an operator."}`,
			"Accept-Language", "en")
		back = s.comeBack(t)
		p.Break(idp.Fault{Status: 502})
		h = s.expect(t, 0, "POST", "/admin/oidc", back, 503, providerAway)
		if h.Get("Retry-After") != "1" {
			t.Errorf("no Retry-After: %v", h)
		}
		s.do(func() { s.cfg.AdminFrom = networks("192.0.2.0/24") })
		s.expect(t, 0, "GET", beginning, "", 403, otherPlace)
		refused(back, 403, otherPlace)
		if n := log.Count(`msg="an operator has logged in" operator=olaf role=operator from=`); n != 1 {
			t.Errorf("%d logins are in the log: %s", n, log.String())
		}
		if n := log.Count(`msg="logins of operators are refused" refused=1 operator="" error="the login at the ` +
			`OpenID provider is not valid: no server of this sale has made the state"`); n != 1 {
			t.Errorf("%d refusals are in the log: %s", n, log.String())
		}
	})
}

// Logins that fail close an address as wrong passwords do, for all logins of operators.
func TestGuessesAtTheProvider(t *testing.T) {
	s := openOnLoop(t, "unix", redistest.Start(t).Socket)
	s.withProvider(t)
	s = limited(t, s, "login_failed by ip 3/h", trustLoopback)
	from := func(address string) []string { return []string{"X-Forwarded-For", address} }
	testkit.Until(t, "an address closed", func() bool {
		status, _, _ := s.call(t, 0, "POST", "/admin/oidc", `{"code":"x","state":"y","verifier":"z"}`,
			from("198.51.100.1")...)
		return status == 429
	})
	good := operatorLogin("olaf", "password of olaf", "")
	s.expect(t, 0, "POST", "/admin/login", good, 429, tooMany, from("198.51.100.1")...)
	s.expect(t, 0, "GET", beginning, "", 429, tooMany, from("198.51.100.1")...)
	back := s.comeBack(t, from("203.0.113.1")...)
	if status, body, _ := s.call(t, 0, "POST", "/admin/oidc", back, from("203.0.113.1")...); status != 200 {
		t.Errorf("from elsewhere: %d %s", status, body)
	}
}

// A provider that does not answer holds up a few logins of a network, and no other call.
func TestSlowProvider(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		p := s.withProvider(t)
		answer := make(chan struct{})
		p.Break(idp.Fault{Hang: answer})
		ended := make(chan int, turnsMax+1)
		for range turnsMax + 1 {
			go func() {
				status, _, _ := s.call(t, 0, "GET", beginning, "")
				ended <- status
			}()
		}
		if status := <-ended; status != 429 {
			t.Errorf("a login too many: %d", status)
		}
		s.enter(t, "olaf", "", operators.Operates)
		s.expect(t, 2, "GET", "/orders", "", 200, "[]")
		close(answer)
		for range turnsMax {
			if status := <-ended; status != 200 && status != 503 { // a busy machine answers too late
				t.Errorf("a login that has waited: %d", status)
			}
		}
	})
}

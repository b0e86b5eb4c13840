package handlers

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/tokens"
)

// Refused tokens leave one line, whatever their number, and nothing of their text; calls without a token
// leave none.
func TestRefusedTokensAreLogged(t *testing.T) { onBoth(t, testRefusedTokensAreLogged) }

func testRefusedTokensAreLogged(t *testing.T, s *shop) {
	log := testkit.CaptureLog(t)
	other, err := tokens.New("aaaaaaaa", bytes.Repeat([]byte("o"), tokens.SecretMin))
	testkit.Must(t, err)
	foreign := string(other.AppendAccess(nil, 2, 1, time.Now().Add(time.Hour)))
	s.expect(t, 0, "GET", "/orders", "", 401, invalidToken)
	s.expect(t, 2, "GET", "/orders", "", 200, "[]")
	s.expect(t, 2, "GET", "/orders?access_token="+foreign, "", 200, "[]") // one of the two is right
	if log.String() != "" {
		t.Errorf("log %q, want none", log)
	}
	for _, call := range []struct{ path, token string }{
		{"/orders?access_token=" + foreign, ""}, {"/orders", foreign},
		{"/foods?access_token=short", "long" + foreign},
	} {
		s.expect(t, 0, "GET", call.path, "", 401, invalidToken, "Access-Token", call.token)
	}
	lines := slices.Collect(strings.Lines(log.String()))
	if len(lines) != 1 || !strings.Contains(lines[0], "access tokens are refused") ||
		!strings.Contains(lines[0], "refused=1 last_from=") {
		t.Errorf("log %q, want one line", lines)
	}
	if strings.Contains(log.String(), foreign[:8]) {
		t.Errorf("log %q holds a token", log)
	}
}

var serviceToken = strings.Repeat("t", 32)

// Other programs read all orders with the service token; it opens nothing that is for users, and no other
// token will do.
func TestServiceToken(t *testing.T) { onBoth(t, testServiceToken) }

func testServiceToken(t *testing.T, s *shop) {
	const path = "/admin/orders"
	right := "Bearer " + serviceToken
	s.expect(t, 0, "GET", path, "", 401, invalidToken, "Authorization", right) // none is set
	s.do(func() { s.cfg.ServiceToken = serviceToken })
	s.expect(t, 0, "GET", path, "", 200, "[]", "Authorization", right)
	s.expect(t, 0, "GET", path, "", 200, "[]", "Authorization", "bearer "+serviceToken)
	// either one valid is enough
	s.expect(t, 2, "GET", path, "", 200, "[]", "Authorization", right)
	s.expect(t, 1, "GET", path, "", 200, "[]", "Authorization", "Basic cHJveHk6cGFzc3dvcmQ=") // of a proxy
	s.expect(t, 0, "GET", "/orders", "", 401, invalidToken, "Authorization", right)
	s.expect(t, 0, "GET", path+"?access_token="+serviceToken, "", 401, invalidToken)
	for _, header := range []string{
		"", "Bearer", "Bearer ", serviceToken, "Bearer  " + serviceToken, "Basic " + serviceToken,
		"Bearer" + serviceToken,
		"Bearer " + serviceToken[1:], "Bearer " + serviceToken + "t",
		"Bearer " + serviceToken + ", Bearer " + serviceToken,
		"Bearer " + strings.ToUpper(serviceToken), "Bearer " + s.token(rootUser), "Bearer\t" + serviceToken,
	} {
		s.expect(t, 0, "GET", path, "", 401, invalidToken, "Authorization", header)
		s.expect(t, 2, "GET", path, "", 401, invalidToken, "Authorization", header)
		s.expect(t, 1, "GET", path, "", 200, "[]", "Authorization", header)
	}
	c := dial(t, s.listen(t))
	twice := strings.Repeat("Authorization: "+right+"\r\n", 2)
	send(t, c, "GET "+path+" HTTP/1.1\r\n"+shopHost+"Connection: close\r\n"+twice+"\r\n")
	if text, err := io.ReadAll(c); err != nil || !bytes.HasPrefix(text, []byte("HTTP/1.1 401 ")) {
		t.Errorf("two headers: %q, %v", text, err)
	}
}

// Refused service tokens leave one line, and nothing of their text.
func TestRefusedServiceTokensAreLogged(t *testing.T) { onBoth(t, testRefusedServiceTokensAreLogged) }

func testRefusedServiceTokensAreLogged(t *testing.T, s *shop) {
	log := testkit.CaptureLog(t)
	s.do(func() { s.cfg.ServiceToken = serviceToken })
	s.expect(t, 0, "GET", "/admin/orders", "", 401, invalidToken)
	s.expect(t, 0, "GET", "/admin/orders", "", 200, "[]", "Authorization", "Bearer "+serviceToken)
	s.expect(t, 1, "GET", "/admin/orders", "", 200, "[]", "Authorization", "Bearer other")
	if log.String() != "" {
		t.Errorf("log %q, want none", log)
	}
	for range 3 {
		s.expect(t, 0, "GET", "/admin/orders", "", 401, invalidToken, "Authorization", "Bearer typed-token")
	}
	lines := slices.Collect(strings.Lines(log.String()))
	if len(lines) != 1 || !strings.Contains(lines[0], "service tokens are refused") ||
		strings.Contains(lines[0], "typed") {
		t.Errorf("log %q, want one line", lines)
	}
}

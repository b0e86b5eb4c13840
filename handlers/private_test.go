package handlers

import (
	"flashsale/internal/testkit"
	"io"
	"strings"
	"testing"
)

// No cache keeps what a token shows, and no browser guesses its type: also where the call fails.
func TestRepliesAreNotKept(t *testing.T) { onBoth(t, testRepliesAreNotKept) }

func testRepliesAreNotKept(t *testing.T, s *shop) {
	for _, call := range []struct {
		user               uint32
		method, path, body string
		status             int
	}{
		{2, "GET", "/orders", "", 200},
		{0, "GET", "/orders", "", 401},
		{1, "GET", "/admin/orders", "", 200},
		{2, "GET", "/admin/orders", "", 401},
		{1, "GET", "/admin/orders?format=csv", "", 200},
		{1, "HEAD", "/admin/orders", "", 200},
		{1, "GET", "/admin/log", "", 200},
		{1, "PUT", "/admin/sale", `{"state":"open"}`, 200},
		{0, "GET", "/healthz", "", 200},
	} {
		status, body, h := s.call(t, call.user, call.method, call.path, call.body)
		if status != call.status || h.Get("Cache-Control") != "no-store" ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %d %s %v", call.method, call.path, status, body, h)
		}
	}
	// The order path pays for no header that it does not need.
	for _, path := range []string{"/foods", "/sale"} {
		if _, _, h := s.call(t, 2, "GET", path, ""); h.Get("Cache-Control") != "" {
			t.Errorf("GET %s: %v", path, h)
		}
	}
	c := dial(t, s.listen(t)) // HTTP/1.0 has the list without chunks
	_, err := io.WriteString(c, "GET /admin/orders HTTP/1.0\r\nAccess-Token: "+s.token(1)+"\r\n\r\n")
	testkit.Must(t, err)
	text, err := io.ReadAll(c)
	for _, line := range []string{
		"\r\nCache-Control: no-store\r\n", "\r\nX-Content-Type-Options: nosniff\r\n"} {
		if err != nil || strings.Count(string(text), line) != 1 {
			t.Errorf("%q, %v", text, err)
		}
	}
}

package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestIdleConnections(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler()) // which foreign servers may answer to /healthz, too
	defer server.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	opt := Options{Servers: []string{strings.TrimPrefix(server.URL, "http://"),
		strings.TrimPrefix(other.URL, "http://")},
		Idle: 20, Timeout: 20 * time.Second}
	open, err := OpenIdle(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if held := open.Held(); len(open) != 20 || held != 20 {
		t.Errorf("%d open, %d held", len(open), held)
	}
	server.CloseClientConnections()
	for deadline := time.Now().Add(20 * time.Second); open.Held() != 10; {
		if time.Now().After(deadline) {
			t.Fatalf("%d held, of the server that closed 10", open.Held())
		}
	}
	opt.Servers = []string{"127.0.0.1:1"}
	if _, err := OpenIdle(t.Context(), opt); err == nil ||
		!strings.HasPrefix(err.Error(), "sale unreachable: cannot open idle connection 1 of 20 (ulimit "+
			"-n limits them): ") {
		t.Error(err)
	}
}

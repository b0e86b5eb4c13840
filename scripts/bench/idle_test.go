package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestIdleConnections(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	server := httptest.NewServer(s.routes()) // answers /healthz with 404, as foreign servers may
	defer server.Close()
	opt := options{servers: []string{strings.TrimPrefix(server.URL, "http://"), s.open(t)}, idle: 20, timeout: 20 * time.Second}
	open, err := openIdle(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer open.close()
	if held := open.held(); len(open) != 20 || held != 20 {
		t.Errorf("%d open, %d held", len(open), held)
	}
	server.CloseClientConnections()
	for deadline := time.Now().Add(20 * time.Second); open.held() != 10; {
		if time.Now().After(deadline) {
			t.Fatalf("%d held, of the server that closed 10", open.held())
		}
	}
	opt.servers = []string{"127.0.0.1:1"}
	if _, err := openIdle(t.Context(), opt); err == nil ||
		!strings.HasPrefix(err.Error(), "sale unreachable: cannot open idle connection 1 of 20 (ulimit -n limits them): ") {
		t.Error(err)
	}
}

func TestIdleConnectionsAreReported(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	rep, stderr, code := bench(t, []string{s.open(t), s.open(t)}, 10, 1000, "-idle", "7")
	if code != 0 || rep.Idle == nil || *rep.Idle != (idleReport{Opened: 7, Held: 7}) {
		t.Errorf("exit %d: %s %+v", code, stderr, rep.Idle)
	}
}

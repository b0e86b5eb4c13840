package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A request that fails is not sent again; the next one opens a new connection.
func TestFailedRequestIsSentOnce(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	c := &Client{Address: strings.TrimPrefix(server.URL, "http://")}
	defer c.HangUp()
	for i, want := range []bool{true, false, true} {
		if _, err := c.Do("GET", "/", ""); (err == nil) != want {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if n := requests.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if err := c.Call("GET", "/", "", &struct{}{}); err == nil {
		t.Error("an answer that is no JSON is no error")
	}
}

// An order without an outcome is sent again under its key, and a refusal is the end.
func TestOrderOnce(t *testing.T) {
	var seen []string
	const unavailable = `{"code":"SERVICE_UNAVAILABLE"}`
	answers := []struct {
		status int
		body   string
	}{{503, unavailable}, {0, ""}, {200, `{"id":"O"}`}, {503, unavailable}, {403, `{"code":"CART_EMPTY"}`}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Header.Get("Idempotency-Key")+" "+string(body))
		answer := answers[0]
		answers = answers[1:]
		if answer.status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(answer.status)
		fmt.Fprint(w, answer.body)
	}))
	defer server.Close()
	replies := 0
	c := &Client{Address: strings.TrimPrefix(server.URL, "http://"), IdempotencyKey: "other",
		OnReply: func(method, path string, r Reply) {
			if replies++; method != "POST" || path != "/orders" || r.Body == "" {
				t.Errorf("%s %s: %+v", method, path, r)
			}
		}}
	defer c.HangUp()
	if id, err := c.OrderOnce(t.Context(), "C", "K"); id != "O" || err != nil {
		t.Errorf("order %q, %v", id, err)
	}
	if id, err := c.OrderOnce(t.Context(), "C", "K"); id != "" || !IsRefused(err, 403, "CART_EMPTY") {
		t.Errorf("order %q, %v", id, err)
	}
	for _, got := range seen {
		if got != `K {"cart_id":"C"}` {
			t.Errorf("sent %s", got)
		}
	}
	if len(seen) != 5 || replies != 4 || c.IdempotencyKey != "other" {
		t.Errorf("%d requests, %d replies, key %q", len(seen), replies, c.IdempotencyKey)
	}
	server.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := c.OrderOnce(ended, "C", "K"); !errors.Is(err, context.Canceled) {
		t.Errorf("without an answer: %v", err)
	}
}

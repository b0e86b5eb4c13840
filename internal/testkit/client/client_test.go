package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
)

// sale is a stand-in that knows one user and remembers each request.
type sale struct {
	*httptest.Server
	seen        []string
	connections atomic.Int64
}

func newSale(t *testing.T) *sale {
	s := &sale{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call := r.Method + " " + r.RequestURI + " " + string(body)
		s.seen = append(s.seen, call+" "+r.Header.Get("Access-Token")+" "+r.Header.Get("Idempotency-Key"))
		switch {
		case r.URL.Path == "/login":
			fmt.Fprint(w, `{"user_id":2,"access_token":"T"}`)
		case call == "POST /carts " || call == "POST /carts {}" || call == "POST /carts?access_token=T {}":
			fmt.Fprint(w, `{"cart_id":"C/1"}`)
		case r.Method == "PATCH":
			w.WriteHeader(http.StatusNoContent)
		case call == `POST /orders {"cart_id":"C/1"}`:
			fmt.Fprint(w, `{"id":"O"}`)
		case call == "GET /orders ":
			fmt.Fprint(w, `[{"id":"O","items":[{"food_id":1,"count":2}],"total":8}]`)
		case call == "GET /foods ":
			fmt.Fprint(w, `[{"id":1,"price":4,"stock":9}]`)
		case call == "GET /readyz ":
		default:
			http.Error(w, `{"code":"NOT_FOUND"}`, http.StatusNotFound)
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *sale) client(t *testing.T) *Client {
	c := &Client{Address: strings.TrimPrefix(s.URL, "http://")}
	t.Cleanup(c.HangUp)
	return c
}

func TestFlow(t *testing.T) {
	s := newSale(t)
	c := s.client(t)
	id, err := c.Buy(2, Item{1, 2})
	orders, err1 := c.Orders()
	foods, err2 := c.Foods()
	if err := errors.Join(err, err1, err2); err != nil || id != "O" || !c.Ready() {
		t.Fatalf("order %s, %v", id, err)
	}
	if len(orders) != 1 || orders[0].ID != "O" || orders[0].Total != 8 ||
		!slices.Equal(orders[0].Items, []Item{{1, 2}}) {
		t.Errorf("orders %+v", orders)
	}
	if !slices.Equal(foods, []Food{{1, 4, 9}}) {
		t.Errorf("foods %+v", foods)
	}
	want := []string{
		`POST /login {"username":"user2","password":"pass2"}  `, "POST /carts  T ",
		`PATCH /carts/C%2F1 {"food_id":1,"count":2} T `, `POST /orders {"cart_id":"C/1"} T `,
		"GET /orders  T ", "GET /foods  T ", "GET /readyz  T ",
	}
	if !slices.Equal(s.seen, want) || s.connections.Load() != 1 {
		t.Errorf("%d connections, requests\n%q\nwant\n%q", s.connections.Load(), s.seen, want)
	}
	if _, err := c.AllOrders(); !IsRefused(err, 404, "NOT_FOUND") || err.Error() != "404 NOT_FOUND" ||
		IsRefused(err, 404, "") {
		t.Errorf("a refusal is %v", err)
	}
}

func TestVariants(t *testing.T) {
	s := newSale(t)
	c := s.client(t)
	c.TokenInQuery, c.NewConnections, c.EmptyObjects, c.IdempotencyKey, c.Token = true, true, true, "once", "T"
	for range 2 {
		if id, err := c.NewCart(); id != "C/1" || err != nil {
			t.Errorf("cart %q, %v", id, err)
		}
	}
	if want := "POST /carts?access_token=T {}  once"; s.seen[0] != want || s.connections.Load() != 2 {
		t.Errorf("%d connections, request %q, want %q", s.connections.Load(), s.seen[0], want)
	}
}

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

func TestAwaitEnd(t *testing.T) {
	s := newSale(t)
	c := s.client(t)
	if err := c.AwaitEnd(); err != nil {
		t.Errorf("no connection: %v", err)
	}
	if !c.Ready() {
		t.Fatal("not ready")
	}
	go s.CloseClientConnections()
	if err := c.AwaitEnd(); err != nil {
		t.Error(err)
	}
	testkit.Must(t, c.Send("GET", "/", ""))
	if err := c.AwaitEnd(); err == nil {
		t.Error("an answer is taken for the end")
	}
}

// A reply that is read by itself, as one of several that were asked for at once, counts as any.
func TestReceive(t *testing.T) {
	s := newSale(t)
	c := s.client(t)
	var got []string
	c.OnReply = func(method, path string, r Reply) {
		got = append(got, fmt.Sprint(method, " ", path, " ", r.Status, " ", r.Body))
	}
	const foods = "GET /foods HTTP/1.1\r\nHost: sale\r\n\r\n"
	testkit.Must(t, c.SendRaw(foods+foods))
	for range 2 {
		if _, err := c.Receive("GET", "/foods"); err != nil {
			t.Fatal(err)
		}
	}
	const want = `GET /foods 200 [{"id":1,"price":4,"stock":9}]`
	if !slices.Equal(got, []string{want, want}) {
		t.Errorf("replies %q", got)
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

package handlers

import (
	"testing"

	"flashsale/redisx/redistest"
)

func TestPathsAndMethods(t *testing.T) {
	const (
		notFound   = `{"code":"NOT_FOUND","message":"路径不存在"}`
		notAllowed = `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`
	)
	onEach(t, func(t *testing.T, s *shop) {
		for _, path := range []string{"/", "/nothing", "/login/x", "/carts/", "/carts/a/b", "//foods", "/x/../foods", "/%66ood", "/orders/1", "/admin", "/Foods"} {
			s.expect(t, 0, "GET", path, "", 404, notFound)
			s.expect(t, 2, "POST", path, "{}", 404, notFound)
		}
		for _, tc := range []struct{ method, path, allow string }{
			{"GET", "/login", "OPTIONS, POST"}, {"POST", "/foods", "GET, HEAD, OPTIONS"}, {"DELETE", "/foods", "GET, HEAD, OPTIONS"},
			{"GET", "/carts", "OPTIONS, POST"}, {"POST", "/carts/x", "OPTIONS, PATCH"}, {"PUT", "/orders", "GET, HEAD, OPTIONS, POST"},
			{"POST", "/admin/orders", "GET, HEAD, OPTIONS"}, {"POST", "/readyz", "GET, HEAD, OPTIONS"},
		} {
			h := s.expect(t, 0, tc.method, tc.path, "", 405, notAllowed)
			if h.Get("Allow") != tc.allow {
				t.Errorf("%s %s: Allow %q, want %q", tc.method, tc.path, h.Get("Allow"), tc.allow)
			}
		}
	})
}

func TestHealth(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.expect(t, 0, "GET", "/healthz", "", 200, `{"status":"alive"}`)
		s.expect(t, 0, "GET", "/readyz", "", 200, `{"status":"ready","sale":"`+s.cfg.Sale.ID()+`","users":20,"foods":5}`)
		s.foods.Store(nil)
		s.expect(t, 0, "GET", "/readyz", "", 503, unavailable)
		s.expect(t, 0, "GET", "/healthz", "", 200, `{"status":"alive"}`)
	})
}

// With Redis gone every call that needs it gets 503 in time; the others go on.
func TestRedisGone(t *testing.T) {
	server := redistest.New(t)
	s := open(t, "unix", server.Socket)
	server.Kill(t)
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", "/carts/" + s.cartOf(1), `{"food_id":1,"count":1}`}, {"POST", "/orders", `{"cart_id":"` + s.cartOf(1) + `"}`},
		{"GET", "/orders", ""}, {"GET", "/admin/orders", ""}, {"GET", "/readyz", ""},
	} {
		if h := s.expect(t, 1, c.method, c.path, c.body, 503, unavailable); h.Get("Retry-After") != "1" {
			t.Errorf("%s %s: Retry-After %q, want 1", c.method, c.path, h.Get("Retry-After"))
		}
	}
	if status, _, _ := s.call(t, 1, "GET", "/foods", ""); status != 200 {
		t.Errorf("GET /foods: %d", status)
	}
	if status, _, _ := s.call(t, 0, "POST", "/login", `{"username":"user2","password":"pass2"}`); status != 200 {
		t.Errorf("POST /login: %d", status)
	}
	if status, _, _ := s.call(t, 1, "POST", "/carts", ""); status != 200 {
		t.Errorf("POST /carts: %d", status)
	}
}

// A panic in a handler is a 500 for its request and nothing to the others.
func TestPanic(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	list := s.cfg.Keys
	s.cfg.Keys = nil
	s.expect(t, 1, "GET", "/foods", "", 500, `{"code":"INTERNAL_ERROR","message":"内部错误"}`)
	s.cfg.Keys = list
	s.expect(t, 1, "GET", "/orders", "", 200, "[]")
}

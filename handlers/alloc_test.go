package handlers

import (
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// The hot flow does not allocate: handler, token and redisx together; nor do IDs of requests, given or made,
// and an access log in which the request has no line.
func TestHotFlowDoesNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Log("not counted under -race")
		return
	}
	for name, change := range map[string]func(*Config){
		"plain": func(*Config) {}, "IDs given": trustLoopback,
		"IDs made": func(cfg *Config) { cfg.RequestIDs = true },
		"a log": func(cfg *Config) {
			trustLoopback(cfg)
			cfg.AccessLog, _ = newAccessLog(t, 1<<40)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "unix", redistest.Start(t).Socket)
			change(&s.cfg)
			s.callHot(t, name)
		})
	}
}

// callHot makes each hot call, which must not allocate.
func (s *shop) callHot(t *testing.T, name string) {
	t.Helper()
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"login", "POST", "/login", `{"username":"user2","password":"pass2"}`, 200},
		{"foods", "GET", "/foods", "", 200},
		{"cart", "POST", "/carts", "{}", 200},
		{"add", "PATCH", "/carts/" + s.cartOf(2), `{"food_id":1,"count":-1}`, 204},
		{"order", "POST", "/orders", `{"cart_id":"` + s.cartOf(2) + `"}`, 403},
	} {
		for _, query := range []string{"", "?access_token=" + s.token(2)} {
			var request fasthttp.Request
			request.Header.SetMethod(tc.method)
			request.SetRequestURI(tc.path + query)
			request.SetBodyString(tc.body)
			if query == "" {
				request.Header.Set("Access-Token", s.token(2))
			}
			if name == "IDs given" {
				request.Header.Set(requestIDHeader, "front")
			}
			var ctx fasthttp.RequestCtx
			ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
			n := testing.AllocsPerRun(200, func() {
				ctx.Response.Reset()
				s.handle(&ctx)
			})
			if ctx.Response.StatusCode() != tc.status {
				t.Errorf("%s%s: %d %s", tc.name, query, ctx.Response.StatusCode(), ctx.Response.Body())
			}
			if n != 0 {
				t.Errorf("%s%s: %v allocations, want 0", tc.name, query, n)
			}
			id := string(ctx.Response.Header.Peek(requestIDHeader))
			if name == "IDs given" && id != "front" || name == "IDs made" && !madeID.MatchString(id) {
				t.Errorf("%s%s: answered with the ID %q", tc.name, query, id)
			}
		}
	}
}

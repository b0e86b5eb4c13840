package handlers

import (
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// The hot flow does not allocate: handler, token and redisx together.
func TestHotFlowDoesNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Log("not counted under -race")
		return
	}
	s := open(t, "unix", redistest.Start(t).Socket)
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
			var ctx fasthttp.RequestCtx
			ctx.Init(&request, nil, nil)
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
		}
	}
}

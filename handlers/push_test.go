package handlers

import (
	"testing"

	"github.com/valyala/fasthttp"
)

// The address of a push service that listens everywhere has the host that the client has used.
func TestPushAddress(t *testing.T) {
	for _, row := range []struct{ address, host, want string }{
		{"127.0.0.1:8090", "shop.example:8080", "ws://127.0.0.1:8090/x"},
		{"0.0.0.0:8090", "shop.example:8080", "ws://shop.example:8090/x"},
		{"[::]:8090", "shop.example", "ws://shop.example:8090/x"},
		{"[::]:8090", "[::1]:8080", "ws://[::1]:8090/x"},
	} {
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.SetHost(row.host)
		if got := (pushCalls{&Server{}, row.address, "/x", 0}).url(ctx); got != row.want {
			t.Errorf("%s asked at %s: %s, want %s", row.address, row.host, got, row.want)
		}
	}
}

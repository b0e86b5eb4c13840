package handlers

import (
	"testing"

	"github.com/valyala/fasthttp"
)

// The address of a push service that listens everywhere has the host that the client has used. A front's URL
// is answered as it is.
func TestPushAddress(t *testing.T) {
	for _, row := range []struct{ address, url, host, want string }{
		{"127.0.0.1:8090", "", "shop.example:8080", "ws://127.0.0.1:8090/x"},
		{"0.0.0.0:8090", "", "shop.example:8080", "ws://shop.example:8090/x"},
		{"[::]:8090", "", "shop.example", "ws://shop.example:8090/x"},
		{"[::]:8090", "", "[::1]:8080", "ws://[::1]:8090/x"},
		{"127.0.0.1:8090", "wss://push.example/y", "shop.example", "wss://push.example/y"},
	} {
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.SetHost(row.host)
		if got := (pushCalls{&Server{}, PushPlace{row.address, row.url}, "/x", 0}).url(ctx); got != row.want {
			t.Errorf("%s asked at %s: %s, want %s", row.address, row.host, got, row.want)
		}
	}
}

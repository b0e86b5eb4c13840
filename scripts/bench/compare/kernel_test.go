package compare

import (
	"strings"
	"testing"
)

func TestReadKernelRequest(t *testing.T) {
	const head = "POST /orders?x=/foods HTTP/1.1\r\nContent-Type: a\r\nTraceparent: b\r\nCookie: c\r\n" +
		"Content-Length: 12\r\n\r\n"
	whole := head + "twelve bytes"
	want := kernelRequest{size: len(whole), call: callOrder}
	for n := range len(whole) {
		if got := readKernelRequest([]byte(whole[:n])); got.size != 0 {
			t.Fatalf("%q: %+v", whole[:n], got)
		}
	}
	for _, behind := range []string{"", "G", whole} {
		if got := readKernelRequest([]byte(whole + behind)); got != want {
			t.Errorf("with %q behind: %+v", behind, got)
		}
	}
	for path, call := range map[string]int{"/login": callLogin, "/foods": callFoods, "/carts": callCart,
		"/orders": callOrder, "/healthz": callHealth, "/readyz": callHealth, "/carts/login": callAdd,
		"/": callAdd} {
		for query, ends := range map[string]bool{" HTTP/1.1": false, "?/login HTTP/1.1": false,
			"?a HTTP/1.0": true} {
			text := "GET " + path + query + "\r\n\r\n"
			if got := readKernelRequest([]byte(text)); got != (kernelRequest{len(text), call, ends}) {
				t.Errorf("%q: %+v", text, got)
			}
		}
	}
}

// Whatever comes, a request ends within what was read.
func FuzzReadKernelRequest(f *testing.F) {
	for _, text := range []string{"", "GET / HTTP/1.1\r\n\r\n",
		"POST /carts HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "\n", "a b c\n\n",
		"a b HTTP/1.1\r\n:\r\nt\r\n" + strings.Repeat("c", 20) + ":\r\n\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := readKernelRequest(b)
		if got.size < 0 || got.size > len(b) || got.call < 0 || got.call > callRefused ||
			got.call == callRefused && !got.ends {
			t.Errorf("%q: %+v", b, got)
		}
	})
}

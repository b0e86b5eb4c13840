package handlers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func rawCall(method, path, fields, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: shop\r\n%s\r\n%s", method, path, fields, body)
}

const (
	rawToken = "Access-Token: {token}\r\n"
	rawRoot  = "Access-Token: {root}\r\n"
)

// HEAD is GET without the body (9110 9.3.2), OPTIONS is 204, an unknown path 404 and another method 405
// (the contract).
var methodProbes = slices.Concat([]rawProbe{
	{"9110 9.3.2", "HEAD", rawCall("HEAD", "/healthz", "", ""), wantAlive},
	{"9110 9.3.2", "HEAD of the list of root", rawCall("HEAD", "/admin/orders", rawRoot, ""), "200 keep"},
	{"9110 9.3.2", "HEAD of the list of root by another", rawCall("HEAD", "/admin/orders", rawToken, ""),
		"INVALID_TOKEN keep"},
	{"9110 9.3.2", "HEAD of a cart", rawCall("HEAD", "/carts/{cart}", rawToken, ""), "NO_METHOD keep"},
	{"9110 9.3.2", "HEAD with a body", rawCall("HEAD", "/healthz", "Content-Length: 2\r\n", "{}"),
		wantAlive},
	{"9110 9.3.2", "HEAD with chunks", rawCall("HEAD", "/healthz", rawChunked, "2\r\n{}\r\n0\r\n\r\n"),
		wantAlive},
	{"9110 9.3.2", "HEAD in HTTP/1.0", "HEAD /healthz HTTP/1.0\r\n\r\n", "alive close"},
	{"9110 9.3.2", "HEAD, refused for its fields", rawCall("HEAD", "/healthz", "X : a\r\n", ""), wantBad},
	{"9110 9.3.2", "HEAD, refused for its URL", rawCall("HEAD", rawPath(1025), "", ""),
		"URL_TOO_LONG close"},
	{"9110 9.3.2", "HEAD, refused for its body", rawCall("HEAD", "/healthz", "Content-Length: 33000\r\n",
		rawSpaces(33000)), "BODY_TOO_LARGE close"},

	{"9110 9.3.7", "OPTIONS of the food list with a token", rawCall("OPTIONS", "/foods", rawToken, ""),
		"204 keep"},
	{"9110 9.3.7", "OPTIONS of the food list without a token", rawCall("OPTIONS", "/foods", "", ""),
		"204 keep or INVALID_TOKEN keep"},
	{"9110 9.3.7", "OPTIONS of the list of root", rawCall("OPTIONS", "/admin/orders", rawRoot, ""),
		"204 keep"},
	{"9110 9.3.7", "OPTIONS of an unknown path", rawCall("OPTIONS", "/nothing", "", ""), wantAbsent},
	{"9110 9.3.7", "OPTIONS with a body", rawCall("OPTIONS", "/healthz", "Content-Length: 2\r\n", "{}"),
		"204 keep"},
	{"9110 9.3.7", "OPTIONS with chunks", rawCall("OPTIONS", "/healthz", rawChunked,
		"2\r\n{}\r\n0\r\n\r\n"), "204 keep"},
	{"9110 9.3.7", "OPTIONS in HTTP/1.0", "OPTIONS /healthz HTTP/1.0\r\n\r\n", "204 close"},
	{"9110 9.3.7", "OPTIONS of a browser before a call of another site", rawCall("OPTIONS", "/login",
		"Origin: http://other\r\nAccess-Control-Request-Method: POST\r\n", ""), "204 keep"},
},
	each("9110 9.3.7", "OPTIONS of", func(path string) string { return rawCall("OPTIONS", path, "", "") },
		"204 keep", "/healthz", "/readyz", "/login"),
	each("9110 15.5.6", "another method on a path", func(call string) string {
		method, path, _ := strings.Cut(call, " ")
		return rawCall(method, path, rawToken+"Content-Length: 2\r\n", "{}")
	}, "NO_METHOD keep", "POST /healthz", "DELETE /healthz", "PUT /readyz", "PATCH /foods", "POST /foods",
		"GET /login", "PUT /login", "GET /carts", "DELETE /carts", "POST /carts/x", "GET /carts/{cart}",
		"DELETE /carts/{cart}", "PUT /carts/{cart}", "DELETE /orders", "PATCH /orders", "POST /admin/orders",
		"DELETE /admin/orders"),
	// TRACE would show tokens to scripts (9110 9.3.8); it is not offered.
	each("9110 9.3.8", "TRACE", func(path string) string { return rawCall("TRACE", path, rawToken, "") },
		"NO_METHOD keep or 501 keep or 501 close", "/healthz", "/orders"),
)

// HEAD has the status and the header fields of GET (9110 9.3.2). A list that is streamed has no length to
// tell.
func TestHeadHasTheFieldsOfGet(t *testing.T) { onBoth(t, testHeadHasTheFieldsOfGet) }

func testHeadHasTheFieldsOfGet(t *testing.T, s *shop) {
	address, fill := s.listen(t), s.filler()
	for _, path := range []string{"/healthz", "/readyz", "/foods", "/%66oods", "/sale", "/orders",
		"/admin/orders", "/admin/log", "/nothing", "/login", "/healthz?a=b"} {
		var replies [2]heardReply
		for i, method := range []string{"GET", "HEAD"} {
			heard := talk(t, address, fill.Replace(rawCall(method, path, rawRoot, "")+rawFollower), "")
			if heard.err != nil || len(heard.replies) != 2 {
				t.Fatalf("%s %s: %d replies, %v", method, path, len(heard.replies), heard.err)
			}
			replies[i] = heard.replies[0]
			replies[i].Header.Del("Date")
		}
		get, head := replies[0], replies[1]
		if get.StatusCode != head.StatusCode || fmt.Sprint(get.Header) != fmt.Sprint(head.Header) {
			t.Errorf("%s: HEAD %d %v, GET %d %v", path, head.StatusCode, head.Header, get.StatusCode, get.Header)
		}
	}
}

package handlers

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

const unknownPath = `{"code":"NOT_FOUND","message":"路径不存在"}`

// HEAD has the status and the headers of GET and no body, and the next reply follows at once.
func TestHead(t *testing.T) { onBoth(t, testHead) }

func testHead(t *testing.T, s *shop) {
	address := s.listen(t)
	token := "Access-Token: " + s.token(1) + "\r\n"
	for _, test := range []struct{ path, token string }{
		{"/foods", token}, {"/foods", ""}, {"/orders", token}, {"/admin/orders", token},
		{"/admin/orders", ""},
		{"/healthz", ""}, {"/readyz", ""}, {"/sale", ""}, {"/admin/log", token}, {"/nothing", ""}, {"/login", ""},
		{"/%66oods", token},
	} {
		c := dial(t, address)
		replies := bufio.NewReader(c)
		rest := test.path + " HTTP/1.1\r\n" + shopHost + test.token + "\r\n"
		var got [3]*http.Response
		for i, method := range []string{"GET", "HEAD", "GET"} {
			if _, err := io.WriteString(c, method+" "+rest); err != nil {
				t.Fatal(err)
			}
			if i == 2 {
				if b, err := replies.Peek(1); err != nil || b[0] != 'H' {
					t.Fatalf("%s: behind HEAD %q, %v", test.path, b, err)
				}
			}
			r, err := http.ReadResponse(replies, &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%s %s: %v", method, test.path, err)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || method == "HEAD" && len(body) > 0 {
				t.Errorf("%s %s: body %q, %v", method, test.path, body, err)
			}
			if method == "GET" && r.ContentLength >= 0 &&
				r.Header.Get("Content-Length") != strconv.Itoa(len(body)) {
				t.Errorf("GET %s: Content-Length %q of %d bytes", test.path, r.Header.Get("Content-Length"),
					len(body))
			}
			r.Header.Del("Date")
			got[i] = r
		}
		get, head := got[0], got[1]
		if get.StatusCode != head.StatusCode || len(get.Header) != len(head.Header) {
			t.Errorf("%s: GET %d %v, HEAD %d %v", test.path, get.StatusCode, get.Header, head.StatusCode,
				head.Header)
		}
		for name := range get.Header {
			if get.Header.Get(name) != head.Header.Get(name) && test.path != "/login" {
				t.Errorf("%s: %s %q, HEAD has %q", test.path, name, get.Header.Get(name),
					head.Header.Get(name))
			}
		}
	}
}

// OPTIONS names the methods of a path, of * those of the server, and needs no token.
func TestOptions(t *testing.T) { onBoth(t, testOptions) }

func testOptions(t *testing.T, s *shop) {
	for path, allow := range map[string]string{
		"/login": "OPTIONS, POST", "/foods": "GET, HEAD, OPTIONS", "/carts": "OPTIONS, POST",
		"/carts/x": "OPTIONS, PATCH",
		"/orders":  "GET, HEAD, OPTIONS, POST", "/admin/orders": "GET, HEAD, OPTIONS",
		"/sale": "GET, HEAD, OPTIONS", "/admin/sale": "OPTIONS, PUT", "/admin/log": "GET, HEAD, OPTIONS",
		"/admin/foods/1/stock": "OPTIONS, POST",
		"/healthz":             "GET, HEAD, OPTIONS", "/readyz": "GET, HEAD, OPTIONS",
	} {
		h := s.expect(t, 0, "OPTIONS", path, "", 204, "")
		if h.Get("Allow") != allow || h.Get("Content-Length") != "" || h.Get("Content-Type") != "" {
			t.Errorf("OPTIONS %s: header %v, want Allow %s", path, h, allow)
		}
	}
	s.expect(t, 0, "OPTIONS", "/nothing", "", 404, unknownPath)
	c := dial(t, s.listen(t))
	if _, err := io.WriteString(c, "OPTIONS * HTTP/1.1\r\n"+shopHost+"\r\n"); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || r.StatusCode != 204 || r.Header.Get("Allow") != "GET, HEAD, OPTIONS, PATCH, POST, PUT" {
		t.Errorf("OPTIONS *: %v, %v", r, err)
	}
}

// encoded writes a path with one character in its encoded form.
func encoded(path string, i int) string {
	return path[:i] + "%" + strings.ToUpper(strconv.FormatInt(int64(path[i]), 16)) + path[i+1:]
}

// An encoded path is the path that it stands for, decoded once.
func TestEncodedPaths(t *testing.T) { onBoth(t, testEncodedPaths) }

func testEncodedPaths(t *testing.T, s *shop) {
	_, foods, _ := s.call(t, 2, "GET", "/foods", "")
	for i := 1; i < len("/foods"); i++ {
		s.expect(t, 2, "GET", encoded("/foods", i), "", 200, foods)
	}
	s.expect(t, 2, "GET", "/%66%6f%6F%64%73?x=%2F", "", 200, foods)
	cart := "/carts/" + s.cartOf(2)
	for i := 1; i < len(cart); i++ {
		if cart[i] != '/' {
			s.expect(t, 2, "PATCH", encoded(cart, i), `{"food_id":1,"count":0}`, 204, "")
		}
	}
	for _, path := range []string{
		"/%2566oods", "/%2Ffoods", "/carts%2F" + s.cartOf(2), "/foods%00", "/foods%20", "/foods%0A",
		"/foods%3Fx", "/foods/%2e%2e/foods", "/%2e/foods",
	} {
		s.expect(t, 2, "GET", path, "", 404, unknownPath)
	}
	for _, id := range []string{"%2F", s.cartOf(2) + "%00", s.cartOf(2) + "%2F", "%25", "%E7%AF%AE"} {
		s.expect(t, 2, "PATCH", "/carts/"+id, `{"food_id":1,"count":1}`, 404, noCart)
	}
}

// A proxy's rule for /admin/orders may compare letters: the list has no other name.
func TestAdminHasOneName(t *testing.T) { onBoth(t, testAdminHasOneName) }

func testAdminHasOneName(t *testing.T, s *shop) {
	const path = "/admin/orders"
	s.expect(t, 1, "GET", path, "", 200, "[]")
	for i := 1; i < len(path); i++ {
		s.expect(t, 1, "GET", encoded(path, i), "", 404, unknownPath)
	}
	for _, other := range []string{
		"/%61%64%6d%69%6e/%6f%72%64%65%72%73", "/%2561dmin/orders", "/admin%2forders", "/admin%2Forders",
		"/admin%252Forders", "/admin/orders%00", "/admin/orders%20",
		"/admin/orders%2f", "/admin/orders%3f", "/admin/orders%23", "/admin%5corders", "/admin/./orders",
		"/admin//orders", "//admin/orders", "/x/../admin/orders",
		"/%2e/admin/orders", "/x%2f..%2fadmin/orders", "/x/%2e%2e/admin/orders", "/Admin/orders",
		"/admin/orders/", "/admin/orders;x", "/%2fadmin/orders", "/%00/admin/orders",
	} {
		s.expect(t, 1, "GET", other, "", 404, unknownPath)
	}
}

func TestDecodePath(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "/a": "/a", "/%61": "/a", "/%61%62%2D%2d": "/ab--", "/%25%36%31": "/%61",
		"/%2561": "/%61", "/%2F%2f": "/%2F%2f", "/%00%1f%7F%0a": "/%00%1f%7F%0a",
		"/%20": "/ ", "/%e7%af%ae": "/篮",
	} {
		if got, ok := decodePath([]byte(path)); !ok || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{
		"/%", "/%2", "/%zz", "/%+1", "/%c0%af", "/%c1%81", "/%e0%80%af", "/%f0%80%80%af", "/%ed%a0%80",
		"/%ff", "/%e7%af",
	} {
		if got, ok := decodePath([]byte(path)); ok {
			t.Errorf("%s is %q", path, got)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	const (
		notFound   = `{"code":"NOT_FOUND","message":"路径不存在"}`
		notAllowed = `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`
	)
	onBoth(t, func(t *testing.T, s *shop) {
		for _, path := range []string{"/", "/nothing", "/login/x", "/carts/", "/carts/a/b", "//foods",
			"/x/../foods", "/%66ood", "/orders/1", "/admin", "/Foods"} {
			s.expect(t, 0, "GET", path, "", 404, notFound)
			s.expect(t, 2, "POST", path, "{}", 404, notFound)
		}
		for _, tc := range []struct{ method, path, allow string }{
			{"GET", "/login", "OPTIONS, POST"}, {"POST", "/foods", "GET, HEAD, OPTIONS"},
			{"DELETE", "/foods", "GET, HEAD, OPTIONS"},
			{"GET", "/carts", "OPTIONS, POST"}, {"POST", "/carts/x", "OPTIONS, PATCH"},
			{"PUT", "/orders", "GET, HEAD, OPTIONS, POST"},
			{"POST", "/admin/orders", "GET, HEAD, OPTIONS"}, {"POST", "/readyz", "GET, HEAD, OPTIONS"},
		} {
			h := s.expect(t, 0, tc.method, tc.path, "", 405, notAllowed)
			if h.Get("Allow") != tc.allow {
				t.Errorf("%s %s: Allow %q, want %q", tc.method, tc.path, h.Get("Allow"), tc.allow)
			}
		}
	})
}

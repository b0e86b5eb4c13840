package handlers

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// setTable gives a shop other routes than the contest's.
func setTable(s *shop) {
	s.unchecked()
	show := func(name string, params ...string) func(*fasthttp.RequestCtx, Call) {
		return func(ctx *fasthttp.RequestCtx, c Call) {
			b := fmt.Appendf(nil, `"%s %d`, name, c.user)
			for _, param := range params {
				b = fmt.Appendf(b, " %s=%s", param, c.param(param))
			}
			replyBody(ctx, append(b, '"'))
		}
	}
	router := newRouter([]Route{
		{"GET", "/threads", s.anybody, slow, show("list")},
		{"POST", "/threads", s.user, slow, show("begin")},
		{"GET", "/threads/new", s.anybody, slow, show("new")},
		{"GET", "/threads/:id", s.anybody, slow, show("thread", "id")},
		{"DELETE", "/threads/:id", s.administers, slow, show("delete", "id")},
		{"PUT", "/threads/:id/posts/:n", s.user, slow, show("post", "id", "n")},
		{"GET", "/admin/users/:name", s.administers, slow, show("user", "name")},
	})
	s.do(func() { s.router = router })
}

func TestTable(t *testing.T) { onBoth(t, testTable) }

func testTable(t *testing.T, s *shop) {
	setTable(s)
	s.expect(t, 0, "GET", "/threads", "", 200, `"list 0"`)
	s.expect(t, 2, "POST", "/threads", "", 200, `"begin 2"`)
	s.expect(t, 0, "POST", "/threads", "", 401, invalidToken)
	s.expect(t, 0, "GET", "/threads/new", "", 200, `"new 0"`)
	s.expect(t, 0, "GET", "/threads/7", "", 200, `"thread 0 id=7"`)
	s.expect(t, 0, "GET", "/threads/7?id=8", "", 200, `"thread 0 id=7"`)
	s.expect(t, 1, "DELETE", "/threads/7", "", 200, `"delete 1 id=7"`)
	s.expect(t, 2, "DELETE", "/threads/7", "", 403, notAllowed)
	s.expect(t, 3, "PUT", "/threads/a-b/posts/12", "", 200, `"post 3 id=a-b n=12"`)
	s.expect(t, 1, "GET", "/admin/users/user2", "", 200, `"user 1 name=user2"`)
	for _, path := range []string{
		"/threads/", "/threads/7/", "/threads//posts/1", "/threads/7/posts", "/threads/7/posts/",
		"/threads/7/posts/1/2",
		"//threads", "//threads/7", "/x/threads", "/Threads", "/threads/7/x/1", "/admin/users/",
	} {
		s.expect(t, 1, "GET", path, "", 404, unknownPath)
		s.expect(t, 1, "OPTIONS", path, "", 404, unknownPath)
	}
	if status, text, _ := s.call(t, 0, "HEAD", "/threads/7", ""); status != 200 || text != "" {
		t.Errorf("HEAD: %d %q", status, text)
	}
}

func TestTableAllow(t *testing.T) { onBoth(t, testTableAllow) }

func testTableAllow(t *testing.T, s *shop) {
	setTable(s)
	for _, test := range []struct{ path, allow, other string }{
		{"/threads", "GET, HEAD, OPTIONS, POST", "PATCH"}, {"/threads/new", "GET, HEAD, OPTIONS", "DELETE"},
		{"/threads/7", "DELETE, GET, HEAD, OPTIONS", "POST"},
		{"/threads/7/posts/1", "OPTIONS, PUT", "HEAD"},
	} {
		if h := s.expect(t, 0, "OPTIONS", test.path, "", 204, ""); h.Get("Allow") != test.allow {
			t.Errorf("OPTIONS %s: Allow %q, want %q", test.path, h.Get("Allow"), test.allow)
		}
		status, _, h := s.call(t, 0, test.other, test.path, "") // no token is asked for
		if status != 405 || h.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d, Allow %q; want 405, %q", test.other, test.path, status, h.Get("Allow"),
				test.allow)
		}
	}
	if want := "DELETE, GET, HEAD, OPTIONS, POST, PUT"; s.router.allow != want {
		t.Errorf("the server's methods %q, want %q", s.router.allow, want)
	}
}

// Encoded characters are decoded once, a slash and control characters never, and nothing under /admin has
// another name.
func TestTableDecodes(t *testing.T) { onBoth(t, testTableDecodes) }

func testTableDecodes(t *testing.T, s *shop) {
	setTable(s)
	for path, id := range map[string]string{
		"/threads/%e7%af%ae": "篮", "/%74hreads/a%20b": "a b", "/threads/%2561": "%61",
		"/threads/a%2Fb": "a%2Fb",
		"/threads/%2F":   "%2F", "/threads/%00": "%00", "/threads/%3Aid": ":id", "/threads/..": "..",
		"/threads/%2e": ".",
	} {
		s.expect(t, 0, "GET", path, "", 200, `"thread 0 id=`+id+`"`)
	}
	for _, path := range []string{
		"/%61dmin/users/user2", "/admin/user%73/user2", "/admin/users/%75ser2", "/admin%2fusers/user2",
		"//admin/users/user2",
		"/admin//users/user2", "/threads/..%2fadmin", "/threads/../admin/users/user2",
		"//x/admin/users/user2",
	} {
		want, status := unknownPath, 404
		if strings.HasSuffix(path, "%2fadmin") {
			want, status = `"thread 0 id=..%2fadmin"`, 200 // a name, and no way out of it
		}
		s.expect(t, 1, "GET", path, "", status, want)
	}
	s.expect(t, 0, "GET", "/threads/%ff", "", 400, badRequestBody)
}

func TestTableRefusesLines(t *testing.T) {
	line := func(method, pattern string) Route { return Route{Method: method, Pattern: pattern} }
	for name, lines := range map[string][]Route{
		"twice":   {line("GET", "/a/:b"), line("GET", "/a/:b")},
		"covered": {line("GET", "/a/:b"), line("POST", "/a/b")},
		"long":    {{Method: "PUT", Pattern: "/a", Work: takes(vkBodyBytesMax + 1)}},
		"renamed": {line("GET", "/a/:b"), line("POST", "/a/:c")},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			newRouter(lines)
		}()
	}
}

// A room that is off has no calls: each is 404, or 405 where the sale has the path.
func TestRoomsThatAreOff(t *testing.T) {
	_, table := wholeTable(t)
	onBoth(t, func(t *testing.T, s *shop) {
		s.unchecked()
		for _, line := range table[len(s.saleRoutes()):] {
			path, want := strings.ReplaceAll(line.Pattern, ":", ""), 404
			if s.router.find([]byte(path)) != nil {
				want = 405
			}
			if status, body, _ := s.call(t, rootUser, line.Method, path, "{}"); status != want {
				t.Errorf("%s %s: %d %s, want %d", line.Method, path, status, body, want)
			}
		}
	})
}

const unknownPath = `{"code":"NOT_FOUND","message":"路径不存在"}`

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

package handlers

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/handlers/web"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// withPage has the shop serve the page.
func (s *shop) withPage(t *testing.T) {
	t.Helper()
	site, err := web.New([]byte("[]"), web.Brand{})
	testkit.Must(t, err)
	s.join(Page(site, PushPlace{}))
}

// The page is there for anybody, with the headers that keep it from being misused.
func TestPage(t *testing.T) { onBoth(t, testPage) }

func testPage(t *testing.T, s *shop) {
	s.withPage(t)
	for path, file := range map[string]string{"/web/app.js": "app.js", "/web/%61pp.js": "app.js",
		"/web/base.css": "base.css", "/web/icon.svg": "icon.svg", "/favicon.ico": "icon.svg"} {
		want, err := os.ReadFile("web/page/" + file)
		testkit.Must(t, err)
		status, body, h := s.call(t, 0, "GET", path, "", "Accept-Encoding", "identity")
		if status != 200 || body != string(want) {
			t.Errorf("GET %s: %d, %d bytes, want %d bytes of %s", path, status, len(body), len(want), file)
		}
		for _, line := range pageHeaders {
			if got := h.Get(line[0]); got != line[1] {
				t.Errorf("GET %s: %s %q, want %q", path, line[0], got, line[1])
			}
		}
		if h.Get("Strict-Transport-Security") != "" || len(h.Get("Etag")) != 34 {
			t.Errorf("GET %s: headers %v", path, h)
		}
	}
	_, page, h := s.call(t, 0, "GET", "/", "")
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"style", "script"} {
		_, text, found := strings.Cut(page, "<"+part+">")
		text, _, closed := strings.Cut(text, "</"+part+">")
		if !found || !closed || !strings.Contains(policy, part+"-src 'self' "+web.Hash([]byte(text))) {
			t.Errorf("the policy %q does not allow the first %s of the page", policy, part)
		}
	}
	if _, again, _ := s.call(t, 0, "GET", "/?x=1", ""); again != page {
		t.Error("a query makes another page")
	}
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8",
		"/web/app.js": "text/javascript; charset=utf-8", "/web/views.css": "text/css; charset=utf-8",
		"/web/icon.svg": "image/svg+xml", "/favicon.ico": "image/svg+xml",
		"/web/uplot-LICENSE.txt": "text/plain; charset=utf-8"} {
		if _, _, h := s.call(t, 0, "GET", path, ""); h.Get("Content-Type") != kind {
			t.Errorf("GET %s: Content-Type %q, want %q", path, h.Get("Content-Type"), kind)
		}
	}
	for _, path := range []string{"/web/gone.js", "/web/", "/web", "/web/index.html", "/web/app.js/x",
		"/web/..%2Fweb.go", "/web/../page.go", "/index.html", "/%00"} {
		s.expect(t, 0, "GET", path, "", 404, unknownPath)
	}
	const notAllowed = `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`
	for _, path := range []string{"/", "/web/app.js"} {
		if h := s.expect(t, 0, "POST", path, "{}", 405, notAllowed); h.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("POST %s: Allow %q", path, h.Get("Allow"))
		}
	}
}

// The page has the name and the logo of its shop, as text and under the headers of all its files.
func TestPageHasBrand(t *testing.T) { onBoth(t, testPageHasBrand) }

func testPageHasBrand(t *testing.T, s *shop) {
	logo := &web.Logo{Type: "image/png", Body: []byte("\x89PNG"), Width: 320, Height: 106}
	site, err := web.New([]byte("[]"), web.Brand{Name: `Tom's <b>"&$1`, Logo: logo})
	if err != nil {
		t.Fatal(err)
	}
	s.join(Page(site, PushPlace{}))
	_, page, _ := s.call(t, 0, "GET", "/", "")
	const name = "Tom&#39;s &lt;b&gt;&#34;&amp;$1"
	const places, image = 5, `<img src="/web/logo.png" alt="" width="320" height="106">`
	for part, want := range map[string]int{name: places, "<title>" + name + "</title>": 1, ">flashsale<": 0,
		image: places - 1, `class="shop-name" translate="no" hidden`: 0,
		`<link rel="icon" href="/web/logo.png" type="image/png">`: 1, "/web/icon.svg": 0} {
		if n := strings.Count(page, part); n != want {
			t.Errorf("the page has %s %d times, want %d", part, n, want)
		}
	}
	for _, path := range []string{"/web/logo.png", "/favicon.ico"} {
		status, body, h := s.call(t, 0, "GET", path, "", "Accept-Encoding", "gzip")
		tag := h.Get("Etag")
		if status != 200 || body != string(logo.Body) || h.Get("Content-Type") != logo.Type || len(tag) != 34 ||
			h.Get("Content-Encoding") != "" {
			t.Errorf("GET %s: %d %v", path, status, h)
		}
		for _, line := range pageHeaders {
			if got := h.Get(line[0]); got != line[1] {
				t.Errorf("GET %s: %s %q, want %q", path, line[0], got, line[1])
			}
		}
		for method, given := range map[string]string{"HEAD": "", "GET": tag} {
			want := map[string]int{"HEAD": 200, "GET": 304}[method]
			status, body, h := s.call(t, 0, method, path, "", "If-None-Match", given)
			if status != want || body != "" || h.Get("Etag") != tag {
				t.Errorf("%s %s: %d, %d bytes, %v", method, path, status, len(body), h)
			}
		}
	}
	if site, err = web.New([]byte("[]"), web.Brand{Name: "Tom"}); err != nil || site.Icon != "icon.svg" ||
		!strings.Contains(string(site.File(web.Index).Plain.Body), ">Tom</span></p>") {
		t.Errorf("a name without a logo: icon %s, %v", site.Icon, err)
	}
}

// A browser that has a file gets no body, in either coding, and one that can unzip gets less.
func TestPageIsCached(t *testing.T) { onBoth(t, testPageIsCached) }

func testPageIsCached(t *testing.T, s *shop) {
	s.withPage(t)
	want, err := os.ReadFile("web/page/app.js")
	testkit.Must(t, err)
	tags := map[string]string{}
	for accepts, zips := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true,
		"deflate, gzip ; q=0.001": true, "identity": false, "": false, "*": false, "gzip;q=0": false,
		"x-gzip": false, "br, gzip;q=0.000": false} {
		status, body, h := s.call(t, 0, "GET", "/web/app.js", "", "Accept-Encoding", accepts)
		coding := h.Get("Content-Encoding")
		if coding == "gzip" {
			r, err := gzip.NewReader(bytes.NewReader([]byte(body)))
			testkit.Must(t, err)
			text, err := io.ReadAll(r)
			if err != nil || len(body) >= len(text) {
				t.Errorf("%d bytes are sent for %d, %v", len(body), len(text), err)
			}
			body = string(text)
		}
		if status != 200 || body != string(want) || (coding == "gzip") != zips {
			t.Errorf("Accept-Encoding %q: %d, coding %q, %d bytes", accepts, status, coding, len(body))
		}
		if tag := tags[coding]; tag != "" && tag != h.Get("Etag") {
			t.Errorf("coding %q has the tags %s and %s", coding, tag, h.Get("Etag"))
		}
		tags[coding] = h.Get("Etag")
	}
	if len(tags) != 2 || tags[""] == tags["gzip"] {
		t.Errorf("tags %v", tags)
	}
	for wants, status := range map[string]int{tags[""]: 304, "W/" + tags[""]: 304, "*": 304,
		`"x", ` + tags[""]: 304, tags["gzip"]: 200, `"x"`: 200, "": 200} {
		got, body, h := s.call(t, 0, "GET", "/web/app.js", "",
			"Accept-Encoding", "identity", "If-None-Match", wants)
		if got != status || (got == 304) != (body == "") || h.Get("Etag") != tags[""] {
			t.Errorf("If-None-Match %q: %d, %d bytes, tag %s", wants, got, len(body), h.Get("Etag"))
		}
		if got == 304 && (h.Get("Content-Encoding") != "" || h.Get("Content-Security-Policy") == "") {
			t.Errorf("If-None-Match %q: headers %v", wants, h)
		}
	}
}

// With TLS the browser is told to use nothing else; without the page its URLs are unknown.
func TestPageOverTLS(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.expect(t, 0, "GET", "/", "", 404, unknownPath)
	s.expect(t, 0, "GET", "/web/app.js", "", 404, unknownPath)
	s.withPage(t)
	address, trust, _ := s.encrypted(t)
	over := *s
	over.client = &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	t.Cleanup(over.client.CloseIdleConnections)
	over.base = "https://" + address
	status, _, h := over.call(t, 0, "GET", "/", "")
	if status != 200 || h.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("%d %v", status, h)
	}
}

// With a chat the page may open the websocket on the host that the browser has asked, and nothing else. A
// host that could add to the policy adds nothing.
func TestPageMayOpenWebsocket(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	site, err := web.New([]byte("[]"), web.Brand{}, web.Chat, web.Provider+`=a"b`)
	testkit.Must(t, err)
	s.join(Page(site, PushPlace{Address: "0.0.0.0:8090"}))
	_, body, h := s.call(t, 0, "GET", "/", "")
	policy := h.Get("Content-Security-Policy")
	if !strings.Contains(policy, "connect-src 'self' ws://shop:8090;") {
		t.Errorf("policy %q", policy)
	}
	if !strings.Contains(body, `<html lang="en" data-chat="on" data-operators="off" data-root="off" `+
		`data-provider="a&#34;b" data-rules="off">`) {
		t.Error("the page does not know what the server has")
	}
	for _, row := range []struct{ address, host, want string }{
		{"0.0.0.0:8090", "shop.example:8080", "ws://shop.example:8090"},
		{":8090", "shop.example", "ws://shop.example:8090"},
		{"[::]:8090", "[::1]:8080", "ws://[::1]:8090"},
		{"[::]:8090", "[::1]", "ws://[::1]:8090"},
		{"127.0.0.1:8090", "shop.example:8080", "ws://127.0.0.1:8090"},
		{"127.0.0.1:8090", "localhost:8080", "ws://localhost:8090"},
		{"10.0.0.1:8090", "localhost:8080", "ws://10.0.0.1:8090"},
	} {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetHost(row.host)
		got := s.pushOrigin(&ctx, PushPlace{Address: row.address})
		if got != row.want || !plainOrigin.MatchString(got) {
			t.Errorf("%s asked at %s: %s, want %s", row.address, row.host, got, row.want)
		}
	}
	at := PushPlace{"127.0.0.1:8090", "wss://push.example:444/connection/websocket"}
	if got := s.pushOrigin(&fasthttp.RequestCtx{}, at); got != "wss://push.example:444" {
		t.Errorf("behind a front: %s", got)
	}
	for _, bad := range []string{"ws://a;b:8090", "ws://a b:8090", "ws://*:8090", "ws://:8090 x", "ws://"} {
		if plainOrigin.MatchString(bad) {
			t.Errorf("%s can stand in a policy", bad)
		}
	}
}

package handlers

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/live"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// onThree runs a test on both engines, and with TLS.
func onThree(t *testing.T, test func(t *testing.T, s *shop, address string, encryption *tls.Config)) {
	for name, open := range map[string]opener{"goroutines": open, "event loop": openOnLoop} {
		t.Run(name, func(t *testing.T) {
			s, address := open(t, "unix", redistest.Start(t).Socket).liveShop(t, 2, nil)
			test(t, s, address, nil)
		})
	}
	t.Run("TLS", func(t *testing.T) {
		encryption, trust := certificates(t)
		s, address := open(t, "unix", redistest.Start(t).Socket).liveShop(t, 2,
			func(cfg *Config) { cfg.TLS = encryption })
		test(t, s, address, trust)
	})
}

var liveHead = regexp.MustCompile("^HTTP/1.1 200 OK\r\nDate: [^\r]+\r\nContent-Type: text/event-stream\r\n" +
	"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Accel-Buffering: no\r\n" +
	"Connection: close\r\n\r\n$")

// Anybody gets the events of the sale, over any kind of connection, until it ends.
func TestLive(t *testing.T) { onThree(t, testLive) }

func testLive(t *testing.T, s *shop, address string, encryption *tls.Config) {
	first := map[string]string{
		"history": `{"before":0,"peak":0,"refused":{},"last_minute":\[\],"parts":\[.*\],"missing":\[.*\],` +
			`"marks":\[\]}`,
		"sale": `{"id":"` + s.cfg.Sale.ID() + `","state":"open","now":"[-\d]+T[:.\d]+Z","opens_at":null,` +
			`"closes_at":null,"pieces_left":35,"pieces_sold":15,"orders":0}`,
		"stock": `{"left":\[9,8,7,6,5\]}`,
		"pace": `{"t":\d+,"orders":0,"refused":{},"p50_ms":null,"p99_ms":null,"p99_1s_ms":0,` +
			`"connections":\d+,"servers":1,"servers_of":\d+,` +
			`"redis":("up"|null),"ledger_lag":null}`, // null: not asked yet
	}
	for i, request := range []string{
		liveGet, liveGet + "Connection: close\r\n", liveGet + "Connection: keep-alive\r\n",
		"GET /live HTTP/1.0\r\n", liveGet + "Access-Token: " + s.token(2) + "\r\n",
	} {
		c := watch(t, address, encryption, request+"\r\n")
		if !liveHead.MatchString(c.head) {
			t.Errorf("%q: %q", request, c.head)
		}
		events := maps.Clone(first)
		if i > 0 {
			delete(events, "pace") // a second each
		}
		c.want(events)
		if s.limiter.Count() != 1 {
			t.Errorf("%d connections are counted, want 1", s.limiter.Count())
		}
		c.Conn.Close()
		testkit.Until(t, "end of the viewer", func() bool { return s.limiter.Count() == 0 })
	}
}

// Before the first answer of Redis its state is not known.
func TestPaceBeforeRedisAnswers(t *testing.T) {
	data := `{"t":1,"orders":0,"refused":{},"p50_ms":null,"p99_ms":null,"p99_1s_ms":0,"connections":1,` +
		`"servers":1,"servers_of":null,"redis":%s,"ledger_lag":null}`
	for redis, valid := range map[string]bool{"null": true, `"away"`: true, `"soon"`: false} {
		err := readDescription(t).CheckEvent("/live", "pace", fmt.Sprintf(data, redis))
		if (err == nil) != valid {
			t.Errorf("%s: %v", redis, err)
		}
	}
}

// HEAD and OPTIONS are answered as everywhere, and the connection goes on.
func TestLiveMethods(t *testing.T) {
	onThree(t, func(t *testing.T, s *shop, address string, encryption *tls.Config) {
		for range 5 { // a HEAD takes no viewer's place
			c := watch(t, address, encryption, "HEAD /live HTTP/1.1\r\nHost: shop\r\n\r\n")
			if kind := c.Header.Get("Content-Type"); c.StatusCode != 200 || kind != "text/event-stream" ||
				strings.Contains(c.head, "close") {
				t.Errorf("HEAD: %v", c.Response)
			}
			c.Conn.Close()
		}
		for request, status := range map[string]int{"OPTIONS": 204, "POST": 405} {
			c := watch(t, address, encryption, request+" /live HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n\r\n")
			if allow := c.Header.Get("Allow"); c.StatusCode != status || allow != "GET, HEAD, OPTIONS" {
				t.Errorf("%s: %d, Allow %q", request, c.StatusCode, allow)
			}
		}
	})
}

// Root and other programs see the most-hit keys and all refusals too. A token that is not valid is refused.
func TestLiveAccess(t *testing.T) { onBoth(t, testLiveAccess) }

func testLiveAccess(t *testing.T, s *shop) {
	s, address := s.liveShop(t, 10, nil)
	for _, header := range []string{
		"Access-Token: " + s.token(1), "Authorization: Bearer " + serviceToken,
	} {
		watch(t, address, nil, liveGet+header+"\r\n\r\n").want(map[string]string{
			"stock": `.*`, "top": `{"keys":\[{"key":"k","hits":3}\]}`,
			"refused": `{"refused":{},"last_minute":{}}`})
	}
	watch(t, address, nil, "GET /live?access_token="+s.token(1)+" HTTP/1.1\r\nHost: shop\r\n\r\n").want(
		map[string]string{"top": `.*`})
	for _, header := range []string{"Access-Token: x", "Authorization: Bearer x", "Authorization: bearer",
		"Authorization: Basic cHJveHk6cGFzc3dvcmQ=\r\nAuthorization: Bearer " + serviceToken} {
		c := watch(t, address, nil, liveGet+header+"\r\n\r\n")
		text, err := io.ReadAll(c.Body)
		if c.StatusCode != 401 || err != nil || string(text) != invalidToken {
			t.Errorf("%s: %d %s, %v", header, c.StatusCode, text, err)
		}
	}
	for _, header := range []string{"Authorization: Basic cHJveHk6cGFzc3dvcmQ=", // of a proxy
		"Authorization: Bearer x\r\nAccess-Token: " + s.token(1)} { // either one valid is enough
		watch(t, address, nil, liveGet+header+"\r\n\r\n").want(map[string]string{"stock": `.*`})
	}
}

// Root sees all for as long as its token is valid, other programs without an end.
func TestViewerUntil(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.do(func() { s.cfg.ServiceToken = serviceToken })
	expires := time.Now().Add(time.Hour)
	root, user := s.keys.AppendAccess(nil, 1, 1, expires), s.keys.AppendAccess(nil, 2, 1, expires)
	for _, test := range []struct {
		name, value string
		want        live.Viewer
	}{
		{"Access-Token", string(root), live.Viewer{Root: true, Until: expires.Unix()}},
		{"Access-Token", string(user), live.Viewer{}},
		{"Authorization", "Bearer " + serviceToken, live.Viewer{Root: true}},
		{"Accept", "text/event-stream", live.Viewer{}},
	} {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI("/live")
		ctx.Request.Header.Set(test.name, test.value)
		var got live.Viewer
		ok := liveCalls{Server: s.Server}.admitViewer(&ctx, &got)
		if !ok || got.Root != test.want.Root || got.Until != test.want.Until ||
			(got.Ended != nil) != (got.Until != 0) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// What comes behind the request ends a viewer, also when it has come with the request.
func TestLiveEndsWithMore(t *testing.T) { onThree(t, testLiveEndsWithMore) }

func testLiveEndsWithMore(t *testing.T, s *shop, address string, encryption *tls.Config) {
	for range 5 { // it takes no viewer's place
		c := watch(t, address, encryption, liveGet+"\r\nGET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n")
		text, err := io.ReadAll(c.reader)
		if c.StatusCode != 200 || !c.Response.Close || len(text) > 0 || err != nil {
			t.Errorf("%v, %q, %v", c.Response, text, err)
		}
		if _, err := c.Conn.Read(make([]byte, 1)); err == nil {
			t.Error("the connection goes on")
		}
	}
	testkit.Until(t, "end of all connections", func() bool { return s.limiter.Count() == 0 })
	watch(t, address, encryption, liveGet+"\r\n").want(map[string]string{"stock": `.*`})
}

// A viewer that comes back says what it has got.
func TestLiveResume(t *testing.T) { onBoth(t, testLiveResume) }

func testLiveResume(t *testing.T, s *shop) {
	_, address := s.liveShop(t, 10, nil)
	first := watch(t, address, nil, liveGet+"\r\n")
	pace := regexp.MustCompile(`{"t":(\d+),.*`)
	resumed := func() bool {
		var id string
		for id == "" {
			if name, data := first.next(); name == "pace" {
				id = pace.FindStringSubmatch(data)[1]
			}
		}
		second := watch(t, address, nil, liveGet+"Last-Event-ID: "+id+"\r\n\r\n")
		defer second.Conn.Close()
		seen := map[string]bool{}
		for !seen["stock"] {
			name, _ := second.next()
			seen[name] = true
		}
		return !seen["history"]
	}
	// On a busy machine a second may be missing between the two, and brings the history.
	testkit.Until(t, "viewer that has missed nothing and gets no history", resumed)
}

// Over the limit a viewer gets 503, and the connection goes on.
func TestLiveLimit(t *testing.T) { onThree(t, testLiveLimit) }

func testLiveLimit(t *testing.T, s *shop, address string, encryption *tls.Config) {
	for range 2 {
		watch(t, address, encryption, liveGet+"\r\n").want(map[string]string{"stock": `.*`})
	}
	c := watch(t, address, encryption, liveGet+"\r\n")
	text, err := io.ReadAll(c.Body)
	if c.StatusCode != 503 || err != nil || string(text) != unavailable || c.Header.Get("Retry-After") != "1" ||
		c.Header.Get("Content-Type") != "application/json" || c.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s, %v", c.StatusCode, text, c.Header)
	}
	if _, err := io.WriteString(c.Conn, getHead+"\r\n"); err != nil {
		t.Error(err)
	}
	if r, err := http.ReadResponse(bufio.NewReader(c.Conn), nil); err != nil || r.StatusCode != 200 {
		t.Errorf("behind a refused viewer: %v, %v", r, err)
	}
}

// A drain ends viewers at once, with a hint when to come back. Later ones get 503.
func TestLiveDrain(t *testing.T) { onThree(t, testLiveDrain) }

func testLiveDrain(t *testing.T, s *shop, address string, encryption *tls.Config) {
	c := watch(t, address, encryption, liveGet+"\r\n")
	c.want(map[string]string{"stock": `.*`})
	s.hub.End() // as the app does before Drain
	text, err := io.ReadAll(c.reader)
	if !regexp.MustCompile(`(^|\n\n)retry: [1-9]\d{3}\n\n$`).Match(text) || err != nil {
		t.Errorf("at the end %q, %v", text, err)
	}
	testkit.Until(t, "end of the viewer", func() bool { return s.limiter.Count() == 0 })
	if late := watch(t, address, encryption, liveGet+"\r\n"); late.StatusCode != 503 {
		t.Errorf("a late viewer gets %d", late.StatusCode)
	}
}

// On both engines a viewer has no goroutine.
func TestLiveGoroutines(t *testing.T) { onBoth(t, testLiveGoroutines) }

func testLiveGoroutines(t *testing.T, s *shop) {
	const viewers = 100
	s, address := s.liveShop(t, viewers, nil)
	before := runtime.NumGoroutine()
	for range viewers {
		watch(t, address, nil, liveGet+"\r\n")
	}
	testkit.Until(t, fmt.Sprintf("at most %d goroutines", before+10), func() bool {
		return runtime.NumGoroutine() <= before+10
	})
	if n := s.limiter.Count(); n != viewers {
		t.Errorf("%d connections, want %d", n, viewers)
	}
}

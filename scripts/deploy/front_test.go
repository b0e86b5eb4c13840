package deploy

import (
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const (
	badRequest  = `{"code":"BAD_REQUEST","message":"无法解析请求"}`
	notFound    = `{"code":"NOT_FOUND","message":"路径不存在"}`
	unavailable = `{"code":"SERVICE_UNAVAILABLE","message":"服务繁忙"}`
)

func TestHAProxyAcceptsConfiguration(t *testing.T) {
	haproxy := testkit.Need(t, "haproxy")
	out, err := exec.Command(haproxy, "-c", "-f", "haproxy.cfg").CombinedOutput()
	if err != nil || strings.Contains(string(out), "WARNING") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Requests that could be read in two ways, byte by byte.
var (
	// What both proxies let through without the rules of their configurations.
	ruledOut = []string{
		"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n",
		"POST /login HTTP/1.1\r\nHost: a\r\nX: a\r\n \r\n b\r\nContent-Length: 0\r\n\r\n",
	}
	// What is no HTTP.
	unreadable = []string{
		"GET /healthz http/1.1\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n",
		"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
		"POST /login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
		"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
	}
	// What HAProxy repairs (TestHAProxyRepairs) and nginx refuses.
	mended = []string{
		"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX:\r\n a\r\n\r\n",
		"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	}
)

func TestFrontsRefuse(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		server := newServerBehind(t)
		front := startFront(t, name, server, everywhere)
		const plain = "GET /healthz HTTP/1.1\r\nHost: a\r\nX: a b\r\n\r\n"
		if reply, closed := exchange(t, front, plain); status(reply) != 200 || closed {
			t.Fatalf("a plain request: %q, closed: %v", reply, closed)
		}
		for _, raw := range ruledOut {
			wantRefusal(t, front, raw, badRequest)
			wantRefusal(t, front, raw+plain, badRequest)
		}
		if name == "haproxy" {
			for _, raw := range unreadable {
				wantRefusal(t, front, raw, "") // with a page of its own
			}
			return
		}
		for _, raw := range slices.Concat(unreadable, mended) {
			wantRefusal(t, front, raw, badRequest)
		}
	})
}

// wantRefusal fails unless the bytes are answered with 400, nothing behind it, and the end of the
// connection; with this JSON, unless body is "".
func wantRefusal(t *testing.T, front, raw, body string) {
	t.Helper()
	reply, closed := exchange(t, front, raw)
	head, got, _ := strings.Cut(reply, "\r\n\r\n")
	if status(reply) != 400 || !closed || strings.Count(reply, "HTTP/1.1 ") != 1 {
		t.Errorf("%q is answered %q, closed: %v", raw, reply, closed)
	}
	asJSON := strings.Contains(strings.ToLower(head), "content-type: application/json")
	if body != "" && (got != body || !asJSON) {
		t.Errorf("%q is answered %q, want %s", raw, reply, body)
	}
}

// What HAProxy repairs before any rule sees it: the server behind gets one clean line.
func TestHAProxyRepairs(t *testing.T) {
	t.Parallel()
	behind := newBackend(t, true)
	front := startFront(t, "haproxy", behind.address, everywhere)
	const start, end = " HTTP/1.1\r\nHost: a\r\n", "\r\n\r\n"
	for _, test := range []struct{ raw, want string }{
		{"GET /two" + start + "Host: a" + end, "GET /two [a] []"},
		{"GET /start" + start + "X:\r\n b" + end, "GET /start [a] [b]"},
		{"GET /end" + start + "X: b\r\n " + end, "GET /end [a] [b]"},
		{"GET /lines HTTP/1.1\nHost: a\nX: b\n\n", "GET /lines [a] [b]"},
		{"POST /te" + start + "Transfer-Encoding:\r\n chunked" + end + "2\r\n{}\r\n0" + end, "POST /te [a] []"},
	} {
		if reply, _ := exchange(t, front, test.raw); status(reply) != 200 || behind.saw() != test.want {
			t.Errorf("%q: %q; the server saw %q, want %q", test.raw, reply, behind.saw(), test.want)
		}
	}
}

// spellings are ways to write /admin/orders that a rule for it must not overlook, whatever the server
// makes of them.
var spellings = strings.Fields(`
	/admin/orders /%61dmin/orders /%61%64%6d%69%6e/orders /%61%64%6D%69%6E%2Forders /admin%2forders
	/admin/%6Frders http://a/admin/orders http://a/%61dmin/orders //admin/orders /%2fadmin/orders
	/./admin/orders /x/../admin/orders /%2e/admin/orders /admin//orders /admin/./orders /admin/orders/
	/admin/../admin/orders /%2561dmin/orders /admin/orders?x=1 /admin/orders%3fx /admin/orders;x
	/admin%00/orders /ADMIN/orders /admin/orders% /%/../admin/orders /\admin/orders`)

func TestFrontsGuardTheAdministratorsList(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		server := newServerBehind(t)
		open := startFront(t, name, server, everywhere)
		closed := startFront(t, name, server, "192.0.2.0/24")
		root := newBuyer(t, open)
		testkit.Must(t, root.Login("root", rootPassword))
		list := func(front, path string) string {
			reply, _ := exchange(t, front, "GET "+path+" HTTP/1.1\r\nHost: a\r\nAccess-Token: "+root.Token+
				"\r\nConnection: close\r\n\r\n")
			return reply
		}
		if reply := list(open, "/admin/orders"); status(reply) != 200 {
			t.Errorf("from its network the list is answered %q", reply)
		}
		for _, path := range spellings {
			if reply := list(closed, path); status(reply) != 404 && status(reply) != 400 {
				t.Errorf("%s from outside is answered %q", path, reply)
			}
		}
		if reply := list(closed, "/%61dmin/orders"); !strings.HasSuffix(reply, "\r\n\r\n"+notFound) {
			t.Errorf("the refusal is %q, want %s", reply, notFound)
		}
	})
}

func TestFrontsAnswerForServersThatAreAway(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		nobody := newNetwork() + "1:8080"
		silent := newBackend(t, true)
		silent.hang.Store(true)
		limit := map[string][]string{
			"haproxy": {"timeout server 10s", "timeout server 200ms"},
			"nginx":   {"proxy_read_timeout 10s", "proxy_read_timeout 200ms"},
		}[name]
		servers := map[string]string{"nobody": nobody, "a server that never answers": silent.address}
		for what, server := range servers {
			front := startFront(t, name, server, everywhere, limit...)
			for range 3 { // before and after the front knows
				reply, _ := exchange(t, front, "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
				head, body, _ := strings.Cut(strings.ToLower(reply), "\r\n\r\n")
				if status(reply) != 503 || body != strings.ToLower(unavailable) ||
					!strings.Contains(head, "\r\nretry-after: 1") ||
					!strings.Contains(head, "\r\ncontent-type: application/json") {
					t.Errorf("%s: answered %q", what, reply)
				}
			}
		}
		if n := silent.served.Load(); n > 3 {
			t.Errorf("3 orders reached the servers %d times", n)
		}
	})
}

// All servers share one Redis: while it is away they answer /readyz and orders with 503. The fronts hand
// these answers on and still send requests to them, also when HAProxy has checked them since.
func TestFrontsServeWithoutRedis(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		server := newBackend(t, true)
		front := startFront(t, name, server.address, everywhere)
		server.away.Store(true)
		if name == "haproxy" { // nginx makes no checks: it learns from requests
			const enough = 3 * 2 * 2 // two failures in a row of each of the three take it out
			since := server.checks.Load()
			testkit.Until(t, "the servers are checked again", func() bool {
				return server.checks.Load() >= since+enough
			})
		}
		const calls = 5
		for range calls {
			if status, reply := call(newBuyer(t, front), "POST", "/orders", "{}"); status != 503 || reply != "" {
				t.Errorf("an order is answered %d %s, want the server's own answer", status, reply)
			}
		}
		if n := server.served.Load(); n != calls {
			t.Errorf("%d calls reached the servers %d times", calls, n)
		}
	})
}

func TestHAProxySpreadsOverLivingServers(t *testing.T) {
	t.Parallel()
	backends := [3]*backend{newBackend(t, true), newBackend(t, false), newBackend(t, true)}
	servers := [3]string{backends[0].address, backends[1].address, backends[2].address}
	front, _ := launchHAProxy(t, servers, everywhere)
	url := "http://" + front
	newConnections := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	served := func() (n [3]int64) {
		for i, b := range backends {
			n[i] = b.served.Load()
		}
		return n
	}
	// Two failures in a row take it out, and the third check comes after that.
	testkit.Until(t, "third check of the server that fails it", func() bool {
		return backends[1].checks.Load() >= 3
	})
	opened := func() int64 {
		checks := backends[0].checks.Load() + backends[2].checks.Load() // each on a connection of its own
		return backends[0].opened.Load() + backends[2].opened.Load() - checks
	}
	before, connections := served(), opened()
	for range 40 {
		if status := get(newConnections, url); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	after := served()
	if after[0] == before[0] || after[2] == before[2] || after[1] != before[1] {
		t.Errorf("served %v, then %v", before, after)
	}
	if more := opened() - connections; more > 30 {
		t.Errorf("%d connections to the servers for 40 requests", more)
	}
	backends[1].alive.Store(true)
	testkit.Until(t, "HAProxy takes in the server that passes its check", func() bool {
		return get(newConnections, url) == http.StatusOK && backends[1].served.Load() > after[1]
	})
}

func TestNginxLeavesOutServersThatAreAway(t *testing.T) {
	t.Parallel()
	away := newNetwork() + "1:8080"
	behind := newBackend(t, true)
	front, _ := launchNginx(t, [3]string{away, behind.address, away}, everywhere)
	b := newBuyer(t, front)
	const calls = 30
	for range calls {
		if status, reply := call(b, "POST", "/orders", "{}"); status != 200 {
			t.Errorf("%d %s", status, reply)
		}
	}
	if n, connections := behind.served.Load(), behind.opened.Load(); n != calls || connections > calls/2 {
		t.Errorf("%d calls reached the server %d times over %d connections", calls, n, connections)
	}
}

// Each request gets an ID from the front. The one that a client sends does not reach the servers.
func TestFrontsNameRequests(t *testing.T) {
	made := regexp.MustCompile(`(?i)\r\nX-Request-Id: ([0-9a-f-]{32,36})\r\n`)
	each(t, func(t *testing.T, name string) {
		host := newNetwork() + "1"
		newServer(t, redistest.New(t).Socket, host, "-trusted-proxies", everywhere)
		server := host + ":8080"
		front := startFront(t, name, server, everywhere)
		seen := map[string]bool{}
		for _, forged := range []string{"", "X-Request-Id: forged\r\n", "x-request-id: a\r\nX-Request-Id: b\r\n"} {
			reply, _ := exchange(t, front, "GET /healthz HTTP/1.1\r\nHost: a\r\n"+forged+"\r\n")
			ids := made.FindAllStringSubmatch(reply, -1)
			if status(reply) != 200 || len(ids) != 1 || seen[ids[0][1]] ||
				strings.Count(strings.ToLower(reply), "x-request-id") != 1 {
				t.Fatalf("%q is answered %q", forged, reply)
			}
			seen[ids[0][1]] = true
		}
	})
}

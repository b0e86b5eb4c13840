package deploy

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/redisx/redistest"
)

const (
	badRequest  = `{"code":"BAD_REQUEST","message":"无法解析请求"}`
	notFound    = `{"code":"NOT_FOUND","message":"路径不存在"}`
	unavailable = `{"code":"SERVICE_UNAVAILABLE","message":"服务繁忙"}`
)

// fronts are the proxies that the guide offers. Each starts one on plain HTTP before three servers (host:port) and
// returns its host:port; admin is the network that may call /admin/..., changes are made to the configuration.
var fronts = map[string]func(t *testing.T, servers [3]string, admin string, changes ...string) string{
	"haproxy": startHAProxy, "nginx": startNginx,
}

func startHAProxy(t *testing.T, servers [3]string, admin string, changes ...string) string {
	t.Helper()
	host := newNetwork() + "9"
	start(t, []string{
		"FRONT_HOST=" + host, "ADMIN_FROM=" + admin, "SERVER_1=" + servers[0], "SERVER_2=" + servers[1], "SERVER_3=" + servers[2],
	}, program(t, "haproxy"), "-db", "-f", changed(t, "haproxy.cfg", append([]string{"maxconn 5000", "maxconn 500"}, changes...)...))
	return awaitListener(t, host+":8000")
}

func startNginx(t *testing.T, servers [3]string, admin string, changes ...string) string {
	t.Helper()
	address := newNetwork() + "9:8000"
	file := changed(t, "nginx.conf", append([]string{
		"10.0.0.11:8080", servers[0], "10.0.0.12:8080", servers[1], "10.0.0.13:8080", servers[2], "allow 127.0.0.0/8", "allow " + admin,
		"listen 443 ssl", "listen " + address, "        ssl_certificate /etc/nginx/sale.crt;\n", "",
		"        ssl_certificate_key /etc/nginx/sale.key;\n", "",
	}, changes...)...)
	runNginx(t, file)
	return awaitListener(t, address)
}

// runNginx runs nginx with a configuration, as whoever runs the tests, with its working files beside the configuration.
func runNginx(t *testing.T, file string) *process {
	t.Helper()
	dir := filepath.Dir(file)
	paths := "http {\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += kind + "_temp_path " + dir + "/" + kind + ";\n"
	}
	text := strings.Replace(read(t, file), "http {\n", paths, 1)
	text = strings.Replace(text, "worker_processes auto;", "worker_processes 1;", 1)
	text = strings.Replace(text, "worker_rlimit_nofile 65536;\n", "", 1) // only root may
	text = strings.Replace(text, "worker_connections 16384;", "worker_connections 1000;", 1)
	if os.Geteuid() == 0 {
		if err := os.Chmod(dir, 0o755); err != nil { // its workers are www-data
			t.Fatal(err)
		}
	} else {
		text = strings.Replace(text, "user www-data;\n", "", 1)
	}
	write(t, file, text)
	return start(t, nil, program(t, "nginx"), "-p", dir, "-c", file, "-e", "stderr", "-g", "daemon off; pid "+dir+"/pid;")
}

func awaitListener(t *testing.T, address string) string {
	t.Helper()
	await(t, address+" listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return address
}

// each runs a test with each of the fronts.
func each(t *testing.T, test func(t *testing.T, name string)) {
	t.Parallel()
	for name := range fronts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

func TestFrontsAcceptConfiguration(t *testing.T) {
	haproxy := program(t, "haproxy")
	if out, err := exec.Command(haproxy, "-c", "-f", "haproxy.cfg").CombinedOutput(); err != nil || strings.Contains(string(out), "WARNING") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(haproxy, "-c", "-f", changed(t, "haproxy.cfg", "http-reuse", "http-refuse")).CombinedOutput(); err == nil {
		t.Errorf("an unknown word passed\n%s", out)
	}
}

// Requests that could be read in two ways: the front refuses them, whatever it makes of them without its rules. Bytes are
// as sent; "" as the body is any, of the proxy's own.
func TestFrontsRefuse(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		server := newServerBehind(t)
		front := fronts[name](t, [3]string{server, server, server}, "127.0.0.0/8")
		if reply, closed := exchange(t, front, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: a b\r\n\r\n"); status(reply) != 200 || closed {
			t.Fatalf("a plain request: %q, closed: %v", reply, closed)
		}
		for _, raw := range []string{
			"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n",
			"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n",
			"GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n",
			"GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n",
			"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
			"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n",
			"POST /login HTTP/1.1\r\nHost: a\r\nX: a\r\n \r\n b\r\nContent-Length: 0\r\n\r\n",
		} {
			wantRefusal(t, front, raw, badRequest)
			wantRefusal(t, front, raw+"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", badRequest)
		}
		own := "" // the page that HAProxy has for bytes that are no HTTP
		if name == "nginx" {
			own = badRequest
		}
		for _, raw := range []string{
			"GET /healthz http/1.1\r\nHost: a\r\n\r\n",
			"GET /healthz HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n",
			"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
			"GET /healthz HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n",
			"GET /healthz HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n",
			"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
			"POST /login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
			"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		} {
			wantRefusal(t, front, raw, own)
		}
		if name == "nginx" {
			for _, raw := range []string{
				"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
				"GET /healthz HTTP/1.1\r\nHost: a\r\nX:\r\n a\r\n\r\n",
				"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
				"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			} {
				wantRefusal(t, front, raw, badRequest)
			}
		}
	})
}

// wantRefusal fails unless the bytes are answered with 400 and nothing behind, in JSON where body is set, and closed.
func wantRefusal(t *testing.T, front, raw, body string) {
	t.Helper()
	reply, closed := exchange(t, front, raw)
	head, got, _ := strings.Cut(reply, "\r\n\r\n")
	if status(reply) != 400 || !closed || strings.Count(reply, "HTTP/1.1 ") != 1 {
		t.Errorf("%q is answered %q, closed: %v", raw, reply, closed)
	}
	if body != "" && (got != body || !strings.Contains(strings.ToLower(head), "content-type: application/json")) {
		t.Errorf("%q is answered %q, want %s", raw, reply, body)
	}
}

// What HAProxy mends before any rule sees it: the server behind gets one clean line.
func TestHAProxyMends(t *testing.T) {
	t.Parallel()
	behind := newBackend(t, true)
	front := startHAProxy(t, [3]string{behind.address, behind.address, behind.address}, "127.0.0.0/8")
	for raw, want := range map[string]string{
		"GET /two HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n":                                            "GET /two [a] []",
		"GET /start HTTP/1.1\r\nHost: a\r\nX:\r\n b\r\n\r\n":                                         "GET /start [a] [b]",
		"GET /end HTTP/1.1\r\nHost: a\r\nX: b\r\n \r\n\r\n":                                          "GET /end [a] [b]",
		"GET /lines HTTP/1.1\nHost: a\nX: b\n\n":                                                     "GET /lines [a] [b]",
		"POST /te HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n": "POST /te [a] []",
	} {
		if reply, _ := exchange(t, front, raw); status(reply) != 200 || behind.saw() != want {
			t.Errorf("%q: %q; the server saw %q, want %q", raw, reply, behind.saw(), want)
		}
	}
}

// spellings are ways to write /admin/orders that a rule for it must not overlook, whatever the server makes of them.
var spellings = []string{
	"/admin/orders", "/%61dmin/orders", "/%61%64%6d%69%6e/orders", "/%61%64%6D%69%6E%2Forders", "/admin%2forders", "/admin/%6Frders",
	"http://a/admin/orders", "http://a/%61dmin/orders", "//admin/orders", "/%2fadmin/orders", "/./admin/orders", "/x/../admin/orders",
	"/%2e/admin/orders", "/admin//orders", "/admin/./orders", "/admin/../admin/orders", "/%2561dmin/orders", "/admin/orders/", "/admin/orders?x=1",
	"/admin/orders%3fx", "/admin/orders;x", "/admin%00/orders", "/ADMIN/orders", "/admin/orders%", "/%/../admin/orders", "/\\admin/orders",
}

func TestFrontsGuardTheAdministratorsList(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		server := newServerBehind(t)
		servers := [3]string{server, server, server}
		open, closed := fronts[name](t, servers, "127.0.0.0/8"), fronts[name](t, servers, "192.0.2.0/24")
		root := &buyer{client: &http.Client{}, url: "http://" + open}
		if err := root.login("root", rootPassword); err != nil {
			t.Fatal(err)
		}
		const request, rest = "GET ", " HTTP/1.1\r\nHost: a\r\nAccess-Token: "
		if reply, _ := exchange(t, open, request+"/admin/orders"+rest+root.token+"\r\nConnection: close\r\n\r\n"); status(reply) != 200 {
			t.Errorf("from its network the list is answered %q", reply)
		}
		for _, path := range spellings {
			reply, _ := exchange(t, closed, request+path+rest+root.token+"\r\nConnection: close\r\n\r\n")
			if code := status(reply); code != 404 && code != 400 {
				t.Errorf("%s from outside is answered %q", path, reply)
			}
		}
		reply, _ := exchange(t, closed, request+"/%61dmin/orders"+rest+root.token+"\r\n\r\n")
		if !strings.HasSuffix(reply, "\r\n\r\n"+notFound) {
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
			"haproxy": {"timeout server 10s", "timeout server 200ms"}, "nginx": {"proxy_read_timeout 10s", "proxy_read_timeout 200ms"},
		}[name]
		for what, server := range map[string]string{"nobody": nobody, "a server that never answers": silent.address} {
			front := fronts[name](t, [3]string{server, server, server}, "127.0.0.0/8", limit...)
			for range 3 { // before and after the front knows
				reply, _ := exchange(t, front, "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
				head, body, _ := strings.Cut(strings.ToLower(reply), "\r\n\r\n")
				if status(reply) != 503 || body != strings.ToLower(unavailable) || !strings.Contains(head, "\r\nretry-after: 1") ||
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

// All servers share one Redis: while it is away, what needs no Redis goes on, through a front that has checked them since.
func TestFrontsServeWithoutRedis(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		redis := redistest.New(t)
		host := newNetwork() + "1"
		newServer(t, redis.Socket, host)
		relay := newRelay(t, host+":8080")
		front := fronts[name](t, [3]string{relay.address, relay.address, relay.address}, "127.0.0.0/8")
		b := &buyer{client: &http.Client{}, url: "http://" + front}
		if err := b.login("user2", "pass2"); err != nil {
			t.Fatal(err)
		}
		redis.Kill(t)
		await(t, "the server has noticed", func() bool {
			return get(http.DefaultClient, "http://"+host+":8080/readyz") == http.StatusServiceUnavailable
		})
		if name == "haproxy" { // nginx makes no checks: it learns from requests
			const enough = 3 * 2 * 2 // two failures in a row of each of the three take it out
			since := relay.checks.Load()
			await(t, "the servers are checked again", func() bool { return relay.checks.Load() >= since+enough })
		}
		for range 5 {
			if status, reply := b.call("PATCH", "/carts/x", `{"food_id":1,"count":1}`); status != 404 {
				t.Errorf("a cart that nobody made: %d %s", status, reply)
			}
			if status, reply := b.call("GET", "/orders", ""); status != 503 || reply != unavailable {
				t.Errorf("what needs Redis: %d %s", status, reply)
			}
			if err := b.login("user3", "pass3"); err != nil {
				t.Error(err)
			}
			if status, reply := b.call("GET", "/foods", ""); status != 200 || !strings.HasPrefix(reply, `[{"id":1,`) {
				t.Errorf("GET /foods: %d %s", status, reply)
			}
		}
	})
}

func TestHAProxySpreadsOverLivingServers(t *testing.T) {
	t.Parallel()
	backends := [3]*backend{newBackend(t, true), newBackend(t, false), newBackend(t, true)}
	url := "http://" + startHAProxy(t, [3]string{backends[0].address, backends[1].address, backends[2].address}, "127.0.0.0/8")
	newConnections := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	served := func() (n [3]int64) {
		for i, b := range backends {
			n[i] = b.served.Load()
		}
		return n
	}
	await(t, "HAProxy leaves out the server that fails its check", func() bool {
		before := served()
		for range 3 {
			if get(newConnections, url) != http.StatusOK {
				return false
			}
		}
		return served()[1] == before[1]
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
	await(t, "HAProxy takes in the server that passes its check", func() bool {
		return get(newConnections, url) == http.StatusOK && backends[1].served.Load() > after[1]
	})
}

func TestNginxLeavesOutServersThatAreAway(t *testing.T) {
	t.Parallel()
	away := newNetwork() + "1:8080"
	behind := newBackend(t, true)
	b := &buyer{client: &http.Client{}, url: "http://" + startNginx(t, [3]string{away, behind.address, away}, "127.0.0.0/8")}
	const calls = 30
	for range calls {
		if status, reply := b.call("POST", "/orders", "{}"); status != 200 {
			t.Errorf("%d %s", status, reply)
		}
	}
	if n, connections := behind.served.Load(), behind.opened.Load(); n != calls || connections > calls/2 {
		t.Errorf("%d calls reached the server %d times over %d connections", calls, n, connections)
	}
}

package deploy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// everywhere is the network of all clients of a test.
const everywhere = "127.0.0.0/8"

// launcher starts a proxy on plain HTTP before three servers (host:port) and returns its host:port. admin
// is the network that may call /admin/..., changes are made to the configuration.
type launcher func(
	t *testing.T, servers [3]string, admin string, changes ...string,
) (address string, run *launch.Process)

// launchFront has the proxies that the guide offers.
var launchFront = map[string]launcher{"haproxy": launchHAProxy, "nginx": launchNginx}

// startFront starts one of the proxies before a server, which stands for all three.
func startFront(t *testing.T, name, server, admin string, changes ...string) string {
	t.Helper()
	address, _ := launchFront[name](t, [3]string{server, server, server}, admin, changes...)
	return address
}

func launchHAProxy(
	t *testing.T, servers [3]string, admin string, changes ...string,
) (address string, run *launch.Process) {
	t.Helper()
	host := newNetwork() + "9"
	env := []string{"FRONT_HOST=" + host, "ADMIN_FROM=" + admin}
	for i, server := range servers {
		env = append(env, fmt.Sprintf("SERVER_%d=%s", i+1, server))
	}
	file := changed(t, "haproxy.cfg", append([]string{"FRONT_CONNS 20000", "FRONT_CONNS 500"}, changes...)...)
	run = start(t, env, testkit.Need(t, "haproxy"), "-db", "-f", file)
	return awaitListener(t, host+":8000"), run
}

func launchNginx(
	t *testing.T, servers [3]string, admin string, changes ...string,
) (address string, run *launch.Process) {
	t.Helper()
	address = newNetwork() + "9:8000"
	file := changed(t, "nginx.conf", append([]string{
		"10.0.0.11:8080", servers[0], "10.0.0.12:8080", servers[1], "10.0.0.13:8080", servers[2],
		everywhere, admin,
		"listen 443 ssl", "listen " + address,
		"        ssl_certificate /etc/nginx/sale.crt;\n", "",
		"        ssl_certificate_key /etc/nginx/sale.key;\n", "",
	}, changes...)...)
	run = runNginx(t, file)
	return awaitListener(t, address), run
}

// runNginx runs nginx with a configuration, as whoever runs the tests, with its working files beside the
// configuration.
func runNginx(t *testing.T, file string) *launch.Process {
	t.Helper()
	dir := filepath.Dir(file)
	paths := "http {\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += kind + "_temp_path " + dir + "/" + kind + ";\n"
	}
	text := strings.Replace(testkit.ReadFile(t, file), "http {\n", paths, 1)
	text = strings.Replace(text, "worker_processes auto;", "worker_processes 1;", 1)
	text = strings.Replace(text, "worker_rlimit_nofile 65536;\n", "", 1) // only root may
	text = strings.Replace(text, "/var/log/nginx/error.log", "stderr", 1)
	text = strings.Replace(text, "worker_connections 32768;", "worker_connections 1000;", 1)
	if os.Geteuid() == 0 {
		if err := os.Chmod(dir, 0o755); err != nil { // its workers are www-data
			t.Fatal(err)
		}
	} else {
		text = strings.Replace(text, "user www-data;\n", "", 1)
	}
	testkit.WriteFile(t, file, text)
	globals := "daemon off; pid " + dir + "/pid;"
	return start(t, nil, testkit.Need(t, "nginx"), "-p", dir, "-c", file, "-e", "stderr", "-g", globals)
}

func awaitListener(t *testing.T, address string) string {
	t.Helper()
	testkit.Until(t, address+" listens", func() bool {
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
	for name := range launchFront {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

// backend is a stand-in for a server that counts what reaches it.
type backend struct {
	address string
	alive   atomic.Bool // answers its check with 200
	away    atomic.Bool // answers 503 to all but /healthz, as a server without Redis does
	hang    atomic.Bool // never answers anything but its check
	served  atomic.Int64
	checks  atomic.Int64
	opened  atomic.Int64 // connections
	last    atomic.Value // the request before, as saw shows it
}

// newBackend serves at an address of its own.
func newBackend(t *testing.T, alive bool) *backend {
	b := &backend{}
	b.alive.Store(alive)
	server := httptest.NewUnstartedServer(b)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			b.opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	b.address = strings.TrimPrefix(server.URL, "http://")
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	check := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
	if check && !b.alive.Load() || r.URL.Path != "/healthz" && b.away.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if check {
		b.checks.Add(1)
		return
	}
	hang := b.hang.Load() // before it is counted: a test changes it once enough are
	b.served.Add(1)
	_, _ = io.Copy(io.Discard, r.Body)
	b.last.Store(fmt.Sprintf("%s %s %v %v", r.Method, r.URL, []string{r.Host}, r.Header["X"]))
	if hang {
		<-r.Context().Done()
	}
}

// saw is the last request: method, target, hosts and values of the header X.
func (b *backend) saw() string {
	text, _ := b.last.Load().(string)
	return text
}

// newServerBehind starts a server with a Redis of its own and returns its host:port.
func newServerBehind(t *testing.T) string {
	t.Helper()
	host := newNetwork() + "1"
	newServer(t, redistest.New(t).Socket, host)
	return host + ":8080"
}

const rootPassword = "root-of-the-tests"

// newServer starts a server with the built-in catalogue on a Redis, at host:8080.
func newServer(t *testing.T, redis, host string, args ...string) {
	t.Helper()
	env := []string{"ROOT_PASSWORD=" + rootPassword, "TOKEN_SECRET=" + strings.Repeat("s", 32)}
	args = append([]string{"-app-host", host, "-app-port", "8080", "-workers", "1", "-redis", redis}, args...)
	launch.StartServer(t, filepath.Join(t.TempDir(), "data"), env, args...).Serves(t)
	testkit.Must(t, launch.AwaitReady(t.Context(), net.JoinHostPort(host, "8080")))
}

// newBuyer returns a client of a server or a front (host:port).
func newBuyer(t *testing.T, address string) *client.Client {
	c := &client.Client{Address: address}
	t.Cleanup(c.HangUp)
	return c
}

// call sends a request and returns status and body; 0 and the error where there is no answer.
func call(c *client.Client, method, path, body string) (status int, reply string) {
	r, err := c.Do(method, path, body)
	if err != nil {
		return 0, err.Error()
	}
	return r.Status, r.Body
}

package deploy

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// everywhere is the network of all clients of a test.
const everywhere = "127.0.0.0/8"

// starter starts a proxy on plain HTTP before three servers (host:port) and returns its host:port. admin
// is the network that may call /admin/..., changes are made to the configuration.
type starter func(t *testing.T, servers [3]string, admin string, changes ...string) string

// fronts are the proxies that the guide offers.
var fronts = map[string]starter{"haproxy": startHAProxy, "nginx": startNginx}

func startHAProxy(t *testing.T, servers [3]string, admin string, changes ...string) string {
	t.Helper()
	address, _ := launchHAProxy(t, servers, admin, changes...)
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

func startNginx(t *testing.T, servers [3]string, admin string, changes ...string) string {
	t.Helper()
	address, _ := launchNginx(t, servers, admin, changes...)
	return address
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
	for name := range fronts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

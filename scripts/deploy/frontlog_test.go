package deploy

import (
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// No client writes into the log of a front, whatever it sends. HAProxy logs servers that go.
func TestFrontsLogNoRequest(t *testing.T) {
	launch := map[string]func(*testing.T, [3]string, string, ...string) (string, *launch.Process){
		"haproxy": launchHAProxy, "nginx": launchNginx}
	each(t, func(t *testing.T, name string) {
		gone := newNetwork() + "1:8080"
		server := newBackend(t, true)
		front, run := launch[name](t, [3]string{server.address, gone, gone}, "192.0.2.0/24")
		const text = "textofaclient"
		head := " /" + text + " HTTP/1.1\r\nHost: " + text + "\r\nX: " + text + "\r\n"
		for _, raw := range []string{
			"GET" + head + "\r\n", // two servers do not answer it
			"POST" + head + "Content-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000),
			"POST" + head + "Content-Length: -1\r\n\r\n",
			"GET" + head + "a b: c\r\n\r\n",
			"GET /admin/" + text + " HTTP/1.1\r\nHost: a\r\n\r\n",
			text + "\r\n\r\n",
		} {
			for range 3 {
				exchange(t, front, raw)
			}
		}
		if name == "haproxy" {
			testkit.Until(t, "a line on the servers", func() bool {
				return strings.Contains(run.Written(t), "Server servers/two is DOWN")
			})
		}
		run.Stop()
		if log := run.Written(t); strings.Contains(log, text) || strings.Contains(log, "client") {
			t.Errorf("the log has requests:\n%s", log)
		}
	})
}

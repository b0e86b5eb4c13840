package deploy

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

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

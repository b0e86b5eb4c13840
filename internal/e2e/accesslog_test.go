package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// Each request has its line in the form of the log, with the worker that served it, also those just before a
// stop.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	args := []string{"-redis", redistest.New(t).Socket, "-users", "2", "-workers", "2", "-log-format", "json",
		"-access-log", "all", "-trusted-proxies", "127.0.0.0/8"}
	s := setup{args: args}.serve(t)
	const count = 200
	for i := range count {
		path := []string{"/foods", "/healthz"}[i%2]
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address+path, nil)
		testkit.Must(t, err)
		id := fmt.Sprintf("front-%d", i)
		r.Header.Set("X-Request-Id", id)
		reply, err := http.DefaultClient.Do(r)
		testkit.Must(t, err)
		reply.Body.Close()
		if got := reply.Header.Get("X-Request-Id"); got != id {
			t.Errorf("request %s is answered with the ID %q", id, got)
		}
	}
	if s.Stop() {
		t.Error("the server did not stop in time")
	}
	testkit.Until(t, "lines", func() bool { return s.Logged(t, `"request_id":"front-`) == count })
	for line := range strings.Lines(testkit.ReadFile(t, s.Log)) {
		var entry struct {
			Msg, Route, Client string
			ID                 string `json:"request_id"`
			Worker             *int
			Status             int
			Took               *int `json:"duration_us"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if !strings.HasPrefix(entry.ID, "front-") {
			continue
		}
		status := map[string]int{"/foods": 401, "/healthz": 200}[entry.Route]
		if entry.Msg != "request" || entry.Client != "127.0.0.1" || entry.Worker == nil || entry.Took == nil ||
			entry.Status != status {
			t.Errorf("the line is %s", line)
		}
	}
}

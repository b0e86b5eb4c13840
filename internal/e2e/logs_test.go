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

// With -log-format json every line of every process is an object. Each request has its line, with the worker
// that served it, also those just before a stop.
func TestLogInJSON(t *testing.T) {
	t.Parallel()
	s := setup{args: []string{"-redis", redistest.New(t).Socket, "-users", "2", "-workers", "2",
		"-log-format", "json", "-access-log", "all", "-trusted-proxies", "127.0.0.0/8"}}.serve(t)
	kill(t, s.Workers()[0])
	testkit.Until(t, "line of the supervisor", func() bool {
		return s.Logged(t, `"msg":"worker is ready again"`) == 1
	})
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
	s.End(t)
	lines := 0
	for line := range strings.Lines(testkit.ReadFile(t, s.Log)) {
		var entry struct {
			Time, Level, Msg, Route, Client string

			ID     string `json:"request_id"`
			Worker *int
			Took   *int `json:"duration_us"`
			Status any  // a number in the line of a request
		}
		err := json.Unmarshal([]byte(line), &entry)
		if err != nil || entry.Time == "" || entry.Level == "" || entry.Msg == "" {
			t.Errorf("%q: %v", line, err)
		}
		if !strings.HasPrefix(entry.ID, "front-") {
			continue
		}
		lines++
		status := map[string]float64{"/foods": 401, "/healthz": 200}[entry.Route]
		if entry.Msg != "request" || entry.Client != "127.0.0.1" || entry.Worker == nil || entry.Took == nil ||
			entry.Status != status {
			t.Errorf("the line is %s", line)
		}
	}
	if lines != count {
		t.Errorf("%d lines of requests, want %d", lines, count)
	}
}

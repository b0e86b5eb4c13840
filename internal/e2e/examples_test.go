package e2e

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// buyers are the programs of scripts/examples, each with what it needs.
var buyers = []struct {
	name, needs string
	command     []string
}{
	{"curl", "curl", []string{root + "scripts/examples/buy.sh"}},
	{"go", "go", nil}, // its command is known when it is built
	{"python", "python3", []string{"python3", root + "scripts/examples/buy.py"}},
	{"javascript", "node", []string{"node", root + "scripts/examples/buy.mjs"}},
}

// unsure is a proxy before a server: the first answer to each kind of call is lost behind a 503, although
// the server has carried out the call, and the second answer to an order with the connection.
func unsure(t *testing.T, address string) (host string) {
	var mu sync.Mutex
	answers := map[string]int{}
	front := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	front.ErrorLog = log.New(io.Discard, "", 0)
	front.ModifyResponse = func(r *http.Response) error {
		resource, _, _ := strings.Cut(strings.TrimPrefix(r.Request.URL.Path, "/"), "/")
		call := r.Request.Method + " " + resource
		mu.Lock()
		defer mu.Unlock()
		if r.StatusCode >= 300 {
			return nil
		}
		answers[call]++
		switch {
		case answers[call] == 1:
			r.Body.Close()
			*r = *noOutcome()
		case answers[call] == 2 && call == "POST orders":
			r.Body.Close()
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	server := httptest.NewServer(front)
	t.Cleanup(func() {
		server.Close()
		if answers["POST orders"] != 3 {
			t.Errorf("%d orders came through, want 3", answers["POST orders"])
		}
	})
	return strings.TrimPrefix(server.URL, "http://")
}

// noOutcome is a 503 of the server.
func noOutcome() *http.Response {
	full := httptest.NewRecorder()
	full.Header().Set("Retry-After", "0")
	full.WriteHeader(http.StatusServiceUnavailable)
	full.Body.WriteString(`{"code":"SERVICE_UNAVAILABLE","message":"服务繁忙"}`)
	return full.Result()
}

// Each example places one order with one piece, also where the answers to its first calls are lost. It tells
// why the second order of a user is refused.
func TestExamples(t *testing.T) {
	t.Parallel()
	s := setup{args: []string{"-workers", "1", "-users", "20"}}.serve(t)
	for i, example := range buyers {
		user := string(rune('2' + i))
		t.Run(example.name, func(t *testing.T) {
			testkit.Need(t, example.needs)
			command := example.command
			switch example.name {
			case "go":
				command = []string{launch.Built(t, module+"/scripts/examples/buy")}
			case "python":
				needRequests(t)
			}
			buy := func(host string, food string) (string, error) {
				args := append(command[1:len(command):len(command)], host, "user"+user, "pass"+user, food)
				output, err := exec.Command(command[0], args...).CombinedOutput()
				line, whole := strings.CutSuffix(string(output), "\n")
				if !whole {
					t.Errorf("%q does not end with a line break", line)
				}
				return line, err
			}
			id := s.Sale(t) + "-" + user
			if got, err := buy(unsure(t, s.Address), "7"); err != nil || got != id {
				t.Fatalf("%q, %v, want %s", got, err, id)
			}
			if got, err := buy(s.Address, "7"); err == nil || got != "403 ORDER_OUT_OF_LIMIT" {
				t.Errorf("a second order: %q, %v", got, err)
			}
			if got, err := buy(s.Address, "999"); err == nil || got != "there is no food 999" {
				t.Errorf("another food: %q, %v", got, err)
			}
			c := s.client(t)
			defer c.HangUp()
			testkit.Must(t, c.Login("user"+user, "pass"+user))
			orders, err := c.Orders()
			if err != nil || len(orders) != 1 || len(orders[0].Items) != 1 || orders[0].Items[0] != item(7, 1) {
				t.Errorf("orders %+v, %v", orders, err)
			}
		})
	}
}

// needRequests is testkit.Need for the library of the Python example.
func needRequests(t *testing.T) {
	t.Helper()
	if exec.Command("python3", "-c", "import requests").Run() != nil {
		testkit.Need(t, "python3-requests") // no program has this name: it is skipped, or fails
	}
}

package e2e

import (
	"fmt"
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

// languages are those of scripts/examples, each with what it needs.
var languages = []struct{ name, needs string }{
	{"curl", "curl"}, {"go", "go"}, {"python", "python3"}, {"javascript", "node"},
}

// example is the command of a program of scripts/examples.
func example(t *testing.T, name, language string) []string {
	t.Helper()
	path := root + "scripts/examples/" + name
	switch language {
	case "go":
		return []string{launch.Built(t, module+"/scripts/examples/"+name)}
	case "python":
		needRequests(t)
		return []string{"python3", path + ".py"}
	case "javascript":
		return []string{"node", path + ".mjs"}
	}
	return []string{path + ".sh"}
}

// unsure is a proxy before a server: the first answer to each kind of call is lost behind a 503, although
// the server has carried out the call, and the second answer to the call that must count once with the
// connection.
func unsure(t *testing.T, address, once string) (host string) {
	var mu sync.Mutex
	answers := map[string]int{}
	front := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	front.ErrorLog = log.New(io.Discard, "", 0)
	front.ModifyResponse = func(r *http.Response) error {
		resource, rest, _ := strings.Cut(strings.TrimPrefix(r.Request.URL.Path, "/"), "/")
		if strings.HasSuffix(rest, "/messages") {
			resource = "messages"
		}
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
		case answers[call] == 2 && call == once:
			r.Body.Close()
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	server := httptest.NewServer(front)
	t.Cleanup(func() {
		server.Close()
		if answers[once] != 3 {
			t.Errorf("%s came through %d times, want 3", once, answers[once])
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
	for i, language := range languages {
		user := string(rune('2' + i))
		t.Run(language.name, func(t *testing.T) {
			testkit.Need(t, language.needs)
			command := example(t, "buy", language.name)
			checkUsage(t, command, "host:port name password food\n")
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
			if got, err := buy(unsure(t, s.Address, "POST orders"), "7"); err != nil || got != id {
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

// In each example a message gets to the other user once, also where the answers to its first calls are lost.
func TestTalkExamples(t *testing.T) {
	t.Parallel()
	s := setup{args: []string{"-workers", "1", "-users", "20", "-chat", "-push-address",
		"127.0.0.1:0"}}.serve(t)
	for i, language := range languages {
		writer, reader := fmt.Sprint(2+2*i), fmt.Sprint(3+2*i)
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			testkit.Need(t, language.needs)
			command := example(t, "talk", language.name)
			checkUsage(t, command, "host:port name password name password text\n")
			talk := func(host, password, text string) (string, error) {
				args := append(command[1:len(command):len(command)], host, "user"+writer, password, "user"+reader,
					"pass"+reader, text)
				output, err := exec.Command(command[0], args...).CombinedOutput()
				return string(output), err
			}
			host := unsure(t, s.Address, "POST messages")
			for _, text := range []string{"Hello", "Are you there?"} { // the first is read when the second comes
				if got, err := talk(host, "pass"+writer, text); err != nil || got != text+"\n" {
					t.Fatalf("%q, %v, want %q", got, err, text)
				}
				host = s.Address
			}
			if got, err := talk(s.Address, "wrong", "x"); err == nil || got != "403 USER_AUTH_FAIL\n" {
				t.Errorf("a wrong password: %q, %v", got, err)
			}
		})
	}
}

// checkUsage starts an example without arguments.
func checkUsage(t *testing.T, command []string, arguments string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	output, _ := cmd.CombinedOutput()
	if text := string(output); cmd.ProcessState.ExitCode() != 2 || !strings.HasPrefix(text, "usage: ") ||
		!strings.HasSuffix(text, arguments) {
		t.Errorf("without arguments: exit code %d, %q", cmd.ProcessState.ExitCode(), text)
	}
}

// The calls in the guide of the examples can be pasted into a shell as they are.
func TestPastedCalls(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "curl")
	s := setup{args: []string{"-workers", "1", "-users", "20"}}.serve(t)
	guide := testkit.ReadFile(t, root+"scripts/examples/README.md")
	_, lines, found := strings.Cut(guide, "```sh\nhost=localhost:8080 ")
	lines, _, whole := strings.Cut(lines, "```")
	if !found || !whole {
		t.Fatal("the guide has no lines that begin with host=localhost:8080")
	}
	output, err := exec.Command("bash", "-euo", "pipefail", "-c", "host="+s.Address+" "+lines).CombinedOutput()
	want := "]\n\n" + `{"id":"` + s.Sale(t) + `-9"}` + "\n"
	if err != nil || !strings.HasSuffix(string(output), want) {
		t.Errorf("the calls print %q, %v; want %q at the end", output, err, want)
	}
}

// needRequests is testkit.Need for the library of the Python example.
func needRequests(t *testing.T) {
	t.Helper()
	if exec.Command("python3", "-c", "import requests").Run() != nil {
		testkit.Need(t, "python3-requests") // no program has this name: it is skipped, or fails
	}
}

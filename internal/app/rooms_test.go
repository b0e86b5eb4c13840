package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/ops"
	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// testRoom answers GET /test with the text of a file, and logs what becomes of it.
var testRoom = room{
	name: "test",
	read: func(*config.Config) (any, error) {
		text, err := os.ReadFile(os.Getenv(withTestRoom))
		return string(text), err
	},
	again:  func(*config.Config) bool { return true },
	readAs: "test",
	keep: func(s *supervisor, _ context.Context) (part, error) {
		return part{run: noted("keeper"), figures: func(*ops.Scrape) { slog.Info("keeper is shown") },
			reloaded: func(o *opening) { slog.Info("keeper takes " + o.rooms["test"].(string)) }}, nil
	},
	serve: func(w *worker) (part, error) {
		var text string
		if err := w.take("test", &text); err != nil {
			return part{}, err
		}
		show := func(ctx *fasthttp.RequestCtx, _ handlers.Call) { ctx.SetBodyString(text) }
		anybody := func(*fasthttp.RequestCtx) (user uint32, ok bool) { return 0, true }
		return part{run: noted("server of " + text), stop: func(time.Time) { slog.Info("server drains " + text) },
			retired: func() { slog.Info("server retires " + text) },
			routes: func(*handlers.Server) []handlers.Route {
				return []handlers.Route{{Method: "GET", Pattern: "/test", Access: anybody, Handle: show}}
			}}, nil
	},
}

// noted is a run that logs its beginning and its end.
func noted(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		slog.Info(name + " runs")
		<-ctx.Done()
		slog.Info(name + " ends")
		return nil
	}
}

// A room that is a value in the list is served, reloaded, counted and stopped in its order.
func TestRoomPlugsIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	write(t, file, "one")
	s := startWith(t, withTestRoom+"="+file)
	if status, body := s.get(t, s.url+"/test"); status != 200 || body != "one" {
		t.Errorf("GET /test: %d %s, want one", status, body)
	}
	write(t, file, "two")
	s.signal(t, syscall.SIGHUP)
	testkit.Until(t, "new text", func() bool { _, body := s.get(t, s.url+"/test"); return body == "two" })
	s.awaitLog(t, "all workers are replaced", "test_read=true")
	const counted = `flashsale_requests_total{call="GET /test",code="200"} `
	if _, metrics := s.get(t, s.metrics); !strings.Contains(metrics, counted) {
		t.Errorf("the metrics lack %s:\n%s", counted, metrics)
	}
	s.stop(t)
	var said []string
	for line := range strings.Lines(s.log(t)) {
		if what := regexp.MustCompile(`msg="?((?:keeper|server) [a-z ]+)`).FindStringSubmatch(line); what != nil {
			said = append(said, strings.TrimSpace(what[1]))
		}
	}
	for _, order := range [][]string{
		{"keeper runs", "keeper takes two", "keeper is shown", "server of two ends", "keeper ends"},
		{"server of one runs", "server retires one", "server drains one", "server of one ends"},
		{"server of one runs", "server of two runs", "keeper takes two", "server drains two"},
	} {
		rest := said
		for _, line := range order {
			i := slices.Index(rest, line)
			if i < 0 {
				t.Fatalf("the room said %q; want %q in this order", said, order)
			}
			rest = rest[i+1:]
		}
	}
}

// startedServer is the test binary as a server.
type startedServer struct {
	url, metrics string
	cmd          *exec.Cmd
	ended        chan error
	out          string // file
}

// startWith starts it with a variable of the environment.
func startWith(t *testing.T, variable string) *startedServer {
	t.Helper()
	s := &startedServer{out: filepath.Join(t.TempDir(), "out"), ended: make(chan error, 1)}
	out, err := os.Create(s.out)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s.cmd = exec.CommandContext(t.Context(), os.Args[0], "-data", t.TempDir(), "-redis", redistest.Memory(t),
		"-app-port", "0", "-ops", "127.0.0.1:0", "-workers", "1", "-users", "3", "-foods", "2")
	s.cmd.Env = append(os.Environ(), variable)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if err := child.Start(s.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	s.awaitLog(t, "  stop ")
	banner := s.log(t)
	s.url = regexp.MustCompile(`serves on (\S+)`).FindStringSubmatch(banner)[1]
	s.metrics = regexp.MustCompile(`metrics +(\S+)`).FindStringSubmatch(banner)[1]
	return s
}

func (s *startedServer) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// awaitLog returns once the log has a line with all of these texts.
func (s *startedServer) awaitLog(t *testing.T, texts ...string) {
	t.Helper()
	testkit.Until(t, strings.Join(texts, " ")+" in the log", func() bool {
		for line := range strings.Lines(s.log(t)) {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
				return true
			}
		}
		return false
	})
}

func (s *startedServer) get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	reply, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

func (s *startedServer) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// stop ends the server.
func (s *startedServer) stop(t *testing.T) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	s.signal(t, syscall.SIGTERM)
	if err := <-s.ended; err != nil {
		t.Errorf("%v: %s", err, s.log(t))
	}
}

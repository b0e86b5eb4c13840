package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// events is a server that sends events until the end of a viewer.
func events(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/live" {
			http.NotFound(w, r)
			return
		}
		for tick := time.NewTicker(time.Millisecond); r.Context().Err() == nil; <-tick.C {
			_, _ = w.Write([]byte(strings.Repeat(": event\n", 1000)))
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestViewers(t *testing.T) {
	server, other := events(t), events(t)
	opt := Options{Servers: []string{strings.TrimPrefix(server.URL, "http://"),
		strings.TrimPrefix(other.URL, "http://")}, Viewers: 20, Timeout: 20 * time.Second}
	open, err := OpenViewers(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if held := open.Held(); len(open.conns) != 20 || held != 20 {
		t.Errorf("%d open, %d held", len(open.conns), held)
	}
	var counting sync.WaitGroup
	begun := make(chan int)
	for range 2 { // at once, as the end of a load and its background do
		counting.Go(func() {
			begun <- open.Held()
			if err := testkit.Await(t.Context(), "end of the viewers of one server", testkit.Patience,
				func() bool { return open.Held() == 10 }); err != nil {
				t.Error(err)
			}
		})
	}
	if a, b := <-begun, <-begun; a != 20 || b != 20 {
		t.Errorf("%d and %d held", a, b)
	}
	server.CloseClientConnections()
	counting.Wait()

	for address, want := range map[string]string{
		"127.0.0.1:1": "sale unreachable: cannot open viewer 1 of 20 (ulimit -n, -live-viewers and -max-conns " +
			"limit them): dial",
		strings.TrimPrefix(httptestNotFound(t), "http://"): "sale unreachable: cannot open viewer 1 of 20 " +
			"(ulimit -n, -live-viewers and -max-conns limit them): GET /live is answered with \"HTTP/1.1 404\"",
	} {
		opt.Servers = []string{address}
		if _, err := OpenViewers(t.Context(), opt); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func httptestNotFound(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

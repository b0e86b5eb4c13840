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

// crowdServer sends events without end at /live and nothing but 404 elsewhere, as foreign servers may.
func crowdServer(t *testing.T) *httptest.Server {
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

func addressOf(server *httptest.Server) string { return strings.TrimPrefix(server.URL, "http://") }

func TestCrowd(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, opt Options) (*Crowd, error){
		"idle":    func(t *testing.T, opt Options) (*Crowd, error) { return OpenIdle(t.Context(), opt, 20) },
		"viewers": func(t *testing.T, opt Options) (*Crowd, error) { return OpenViewers(t.Context(), opt, 20) },
	} {
		t.Run(name, func(t *testing.T) {
			server, other := crowdServer(t), crowdServer(t)
			opt := Options{Servers: []string{addressOf(server), addressOf(other)}, Timeout: 20 * time.Second}
			crowd, err := open(t, opt)
			if err != nil {
				t.Fatal(err)
			}
			defer crowd.Close()
			var counting sync.WaitGroup
			begun := make(chan int)
			for range 2 { // at once, as the end of a load and the background do
				counting.Go(func() {
					begun <- crowd.Held()
					if err := testkit.Await(t.Context(), "end of the connections to one server", testkit.Patience,
						func() bool { return crowd.Held() == 10 }); err != nil {
						t.Error(err)
					}
				})
			}
			if a, b := <-begun, <-begun; a != 20 || b != 20 {
				t.Errorf("%d and %d held", a, b)
			}
			server.CloseClientConnections()
			counting.Wait()
		})
	}
}

func TestCrowdNamesWhatFails(t *testing.T) {
	notFound := httptest.NewServer(http.NotFoundHandler())
	defer notFound.Close()
	const limits = "for /live (ulimit -n, -live-viewers and -max-conns limit them): "
	for address, want := range map[string]string{
		"127.0.0.1:1":       limits + "dial",
		addressOf(notFound): limits + `GET /live is answered with "HTTP/1.1 404"`,
	} {
		opt := Options{Servers: []string{address}, Timeout: 20 * time.Second}
		if _, err := OpenViewers(t.Context(), opt, 20); err == nil ||
			!strings.HasPrefix(err.Error(), "sale unreachable: cannot open connection 1 of 20 "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

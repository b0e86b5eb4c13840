package load

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// crowdServer sends events without end at /live and nothing but 404 elsewhere, as foreign servers may.
func crowdServer(t *testing.T) (server *httptest.Server, address string) {
	t.Helper()
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	return server, strings.TrimPrefix(server.URL, "http://")
}

func TestCrowd(t *testing.T) {
	for name, open := range map[string]func(context.Context, Options, int) (*Crowd, error){
		"idle": OpenIdle, "viewers": OpenViewers,
	} {
		t.Run(name, func(t *testing.T) {
			server, address := crowdServer(t)
			_, other := crowdServer(t)
			crowd, err := open(t.Context(), Options{Servers: []string{address, other}, Timeout: 20 * time.Second}, 20)
			testkit.Must(t, err)
			defer crowd.Close()
			if n := crowd.Held(); n != 20 {
				t.Errorf("%d held", n)
			}
			server.CloseClientConnections()
			testkit.Until(t, "end of the connections to one server", func() bool { return crowd.Held() == 10 })
		})
	}
}

func TestCrowdNamesWhatFails(t *testing.T) {
	notFound := httptest.NewServer(http.NotFoundHandler())
	defer notFound.Close()
	const limits = "for /live (ulimit -n, -live-viewers and -max-conns limit them): "
	for address, want := range map[string]string{
		"127.0.0.1:1": limits + "dial",
		strings.TrimPrefix(notFound.URL, "http://"): limits + `GET /live is answered with "HTTP/1.1 404"`,
	} {
		opt := Options{Servers: []string{address}, Timeout: 20 * time.Second}
		if _, err := OpenViewers(t.Context(), opt, 20); err == nil ||
			!strings.HasPrefix(err.Error(), "sale unreachable: cannot open connection 1 of 20 "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

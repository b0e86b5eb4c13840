package deploy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"flashsale/redisx/redistest"
)

// backend is a stand-in for a server that counts what reaches it.
type backend struct {
	address string
	alive   atomic.Bool // answers its check with 200
	hang    atomic.Bool // never answers anything but its check
	served  atomic.Int64
	checks  atomic.Int64
	opened  atomic.Int64 // connections
	last    atomic.Value // the request before, as saw shows it
}

func newBackend(t *testing.T, alive bool) *backend {
	b := &backend{}
	b.listen(t, alive, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isCheck(r) {
			return
		}
		hang := b.hang.Load() // before it is counted: a test changes it once enough are
		b.served.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		b.last.Store(fmt.Sprintf("%s %s %v %v", r.Method, r.URL, []string{r.Host}, r.Header["X"]))
		if hang {
			<-r.Context().Done()
		}
	}))
	return b
}

// newRelay is a backend that hands everything on to a server, checks included.
func newRelay(t *testing.T, server string) *backend {
	b := &backend{}
	b.listen(t, true, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server}))
	return b
}

func isCheck(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// listen serves at an address of its own. Checks are counted, and answered 503 while not alive.
func (b *backend) listen(t *testing.T, alive bool, handler http.Handler) {
	b.alive.Store(alive)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isCheck(r) && !b.alive.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		} else {
			handler.ServeHTTP(w, r)
		}
		if isCheck(r) {
			b.checks.Add(1)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			b.opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	b.address = strings.TrimPrefix(server.URL, "http://")
}

// saw is the last request: method, target, hosts and values of the header X.
func (b *backend) saw() string {
	text, _ := b.last.Load().(string)
	return text
}

// newServerBehind starts a server with a Redis of its own and returns its host:port.
func newServerBehind(t *testing.T) string {
	t.Helper()
	host := newNetwork() + "1"
	newServer(t, redistest.New(t).Socket, host)
	return host + ":8080"
}

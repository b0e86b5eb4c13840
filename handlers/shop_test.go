package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/openapi"
	"flashsale/internal/rooms/live"
	"flashsale/internal/serve/eventloop"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/tokens"

	"github.com/valyala/fasthttp/fasthttputil"
)

var secret = bytes.Repeat([]byte("s"), tokens.SecretMin)

// shop is a Server with a Redis, and a listener that one of the engines serves.
type shop struct {
	*Server
	keys   *tokens.Keys
	client *http.Client
	base   string // of its URLs
	redis  redisx.Config
	rooms  []Room
	hub    *live.Hub // of liveShop
	l      net.Listener
	dial   func() (net.Conn, error)   // connects to l
	drain  func(idle context.Context) // ends the service of l, once
}

// shopHold is how long the orders of the next shops are held. A test that sets it runs alone.
var shopHold time.Duration

// newShop opens a sale of 5 foods with 10 pieces each for 20 users, with a slice in each Redis of the
// address. Without a loop it is for the goroutine engine.
func newShop(tb testing.TB, network, address string, loop *eventloop.Loop) *shop {
	tb.Helper()
	testkit.KeepLog(tb)
	users, err := catalog.Load(tb.Context(), catalog.Config{Users: 20, Foods: 5, Stock: 10,
		RootPassword: "toor"})
	testkit.Must(tb, err)
	keys, err := tokens.New("aaaaaaaa", secret)
	testkit.Must(tb, err)
	cfg := redisx.Config{CartTTL: time.Hour, Slices: 1 + strings.Count(address, ","), Hold: shopHold}
	cfg.Network, cfg.Address, cfg.Timeout = network, address, 20*time.Second
	stock := []int64{10, 10, 10, 10, 10}
	opened, err := redisx.Open(tb.Context(), cfg,
		redisx.Opening{Catalog: users.Fingerprint(), Stock: stock})
	testkit.Must(tb, err)
	s := &shop{keys: keys, base: "http://shop", redis: cfg}
	s.client = &http.Client{Transport: checkedTransport{&http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return s.dial() }}}}
	if loop != nil {
		cfg.Loop = loop
	}
	sale := redisx.Join(cfg, opened.Sale, len(stock), 20)
	s.Server = New(Config{Catalog: users, Keys: keys, Sale: sale, TokenTTL: time.Hour, Loop: loop})
	s.Publish(snapshotOf(stock))
	return s
}

// snapshotOf is a snapshot of an open sale with these pieces left.
func snapshotOf(left []int64) redisx.Snapshot {
	return redisx.Snapshot{Left: left, Restocked: make([]int64, len(left)),
		SoldOut: make([]time.Time, len(left)),
		Current: redisx.Current{State: redisx.StateOpen, Now: time.Now()}}
}

// checkedTransport compares every reply with the description of the API. A reply that differs is an error of
// reading its end.
type checkedTransport struct{ *http.Transport }

func (c checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := c.Transport.RoundTrip(r)
	if err == nil {
		reply.Body = &checkedBody{ReadCloser: reply.Body, reply: openapi.Reply{Method: r.Method,
			Target: r.URL.RequestURI(), Status: reply.StatusCode, Header: reply.Header}}
	}
	return reply, err
}

type checkedBody struct {
	io.ReadCloser
	reply openapi.Reply
}

func (b *checkedBody) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.reply.Body = append(b.reply.Body, p[:n]...)
	if errors.Is(err, io.EOF) {
		d, wrong := described()
		if wrong == nil {
			wrong = d.Check(b.reply)
		}
		if wrong != nil {
			err = wrong
		}
	}
	return n, err
}

// unchecked has the shop's client take replies that are not described.
func (s *shop) unchecked() { s.client.Transport = s.client.Transport.(checkedTransport).Transport }

// run serves the listener until the test ends.
func (s *shop) run(tb testing.TB) {
	tb.Helper()
	testkit.Background(tb, s.cfg.Sale.Run)
	s.awaitRedis(tb)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(s.l) }()
	var once sync.Once
	s.drain = func(idle context.Context) {
		once.Do(func() {
			s.client.CloseIdleConnections()
			if err := s.Drain(context.Background(), idle, s.l); err != nil &&
				!errors.Is(err, fasthttputil.ErrInmemoryListenerClosed) {
				tb.Error(err)
			}
			if err := <-ended; err != nil {
				tb.Error(err)
			}
		})
	}
	tb.Cleanup(func() { s.drain(context.Background()) })
}

func (s *shop) token(user uint32) string {
	return string(s.keys.AppendAccess(nil, user, 1, time.Now().Add(time.Hour)))
}

func (s *shop) cartOf(user uint32) string { return string(s.keys.AppendCart(nil, user, uint64(user))) }

// call sends a request with the user's token (0: none) and returns status and body.
func (s *shop) call(tb testing.TB, user uint32, method, path, body string, header ...string) (int, string,
	http.Header) {
	tb.Helper()
	r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	testkit.Must(tb, err)
	if user != 0 {
		r.Header.Set("Access-Token", s.token(user))
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	reply, err := s.client.Do(r)
	testkit.Must(tb, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	testkit.Must(tb, err)
	return reply.StatusCode, string(text), reply.Header
}

func (s *shop) expect(tb testing.TB, user uint32, method, path, body string, status int, want string,
	header ...string) http.Header {
	tb.Helper()
	gotStatus, got, h := s.call(tb, user, method, path, body, header...)
	if gotStatus != status || got != want {
		tb.Errorf("%s %s %s (user %d):\n got %d %s\nwant %d %s", method, path, body, user, gotStatus, got,
			status, want)
	}
	if want != "" && h.Get("Content-Type") != "application/json" {
		tb.Errorf("%s %s: Content-Type %q", method, path, h.Get("Content-Type"))
	}
	return h
}

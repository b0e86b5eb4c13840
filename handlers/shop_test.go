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
	"flashsale/internal/logtest"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
	"flashsale/tokens"
	"github.com/valyala/fasthttp/fasthttputil"
)

var secret = bytes.Repeat([]byte("s"), tokens.SecretMin)

// shop is a Server behind an in-memory listener, with a Redis.
type shop struct {
	*Server
	keys   *tokens.Keys
	client *http.Client
	base   string // of its URLs
	redis  redisx.Config
	l      *fasthttputil.InmemoryListener
}

// onEach runs a test on a real redis-server and on the in-memory engine.
func onEach(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Run("redis-server", func(t *testing.T) { test(t, open(t, "unix", redistest.Start(t).Socket)) })
	t.Run("memory", func(t *testing.T) { test(t, open(t, "tcp", redistest.Memory(t))) })
}

// open opens a sale of 5 foods with 10 pieces each for 20 users and serves it until the test ends.
func open(tb testing.TB, network, address string) *shop {
	tb.Helper()
	logtest.Keep(tb)
	users, err := catalog.Load(tb.Context(), catalog.Config{Users: 20, Foods: 5, Stock: 10,
		RootPassword: "toor"})
	if err != nil {
		tb.Fatal(err)
	}
	keys, err := tokens.New(secret)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := redisx.Config{CartTTL: time.Hour}
	cfg.Network, cfg.Address, cfg.Timeout = network, address, 20*time.Second
	stock := []int64{10, 10, 10, 10, 10}
	opened, err := redisx.Open(tb.Context(), cfg,
		redisx.Opening{Catalog: users.Fingerprint(), Stock: stock})
	if err != nil {
		tb.Fatal(err)
	}
	sale := redisx.Join(cfg, opened.Sale, len(stock), 20)
	s := &shop{keys: keys, base: "http://shop", redis: cfg, l: fasthttputil.NewInmemoryListener(),
		Server: New(Config{Catalog: users, Keys: keys, Sale: sale, TokenTTL: time.Hour})}
	s.client = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return s.l.Dial() }}}
	s.PublishStock(stock)

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { sale.Run(ctx) })
	for limit := time.Now().Add(10 * time.Second); sale.Check() != nil; {
		if time.Now().After(limit) {
			tb.Fatal("the sale does not answer")
		}
	}
	running.Go(func() {
		if err := s.Serve(s.l); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := s.Drain(context.Background(), context.Background(), s.l); err != nil &&
			!errors.Is(err, fasthttputil.ErrInmemoryListenerClosed) {
			tb.Error(err)
		}
		cancel()
		running.Wait()
	})
	return s
}

func (s *shop) token(user uint32) string {
	return string(s.keys.AppendAccess(nil, user, time.Now().Add(time.Hour)))
}

func (s *shop) cartOf(user uint32) string { return string(s.keys.AppendCart(nil, user, uint64(user))) }

// call sends a request with the user's token (0: none) and returns status and body.
func (s *shop) call(tb testing.TB, user uint32, method, path, body string, header ...string) (int, string,
	http.Header) {
	tb.Helper()
	r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	if user != 0 {
		r.Header.Set("Access-Token", s.token(user))
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	reply, err := s.client.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		tb.Fatal(err)
	}
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

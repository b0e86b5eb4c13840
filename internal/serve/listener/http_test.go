package listener

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
)

// pipes is a listener in memory, so that its connections take part in the time of a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) dial(t *testing.T) net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	t.Cleanup(func() { client.Close() })
	return client
}

// echo answers with the body of the request, after the time that the header Wait names.
func echo(w http.ResponseWriter, r *http.Request) {
	wait, err := time.ParseDuration(r.Header.Get("Wait"))
	if err == nil {
		time.Sleep(wait)
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		w.Write(body)
	}
}

// serveHTTP runs a net/http server over a Limiter until the test ends.
func serveHTTP(t *testing.T, l net.Listener, cfg Config) *Limiter {
	limiter := NewLimiter(cfg)
	server := NewHTTPServer(http.HandlerFunc(echo))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- limiter.Run(ctx) }()
	go func() { ended <- server.Serve(limiter.Listen(l)) }()
	t.Cleanup(func() {
		server.Close()
		stop()
		for range cap(ended) {
			if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}
	})
	return limiter
}

// lifetime returns how long the server keeps a connection from now on. It drops what the server sends.
func lifetime(c net.Conn) time.Duration {
	begin := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(begin)
}

func expectLifetime(t *testing.T, what string, got, limit time.Duration) {
	t.Helper()
	if got < limit || got > limit+2*TickInterval {
		t.Errorf("%s: the connection is closed after %v, want %v", what, got, limit)
	}
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// A net/http server has the same limits of time, with TLS and without.
func TestHTTPTimes(t *testing.T) {
	// bubbles begin at 0:00
	files := certtest.Write(t, t.TempDir(), time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	bubble := func(name string, encrypted bool, test func(t *testing.T, dial func() net.Conn)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, p := Config{}, newPipes()
				certificate, err := ReadCertificate(files.ChainFile, files.KeyFile)
				if err == nil && encrypted {
					cfg.TLS, err = certificate.TLS()
				}
				testkit.Must(t, err)
				serveHTTP(t, p, cfg)
				test(t, func() net.Conn {
					if encrypted {
						return tls.Client(p.dial(t), certtest.Trust(files))
					}
					return p.dial(t)
				})
			})
		})
	}
	for name, encrypted := range map[string]bool{"plain": false, "TLS": true} {
		for request, text := range map[string]string{
			"head": "POST / HTTP/1.1\r\nHost: a",
			"body": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nab",
		} {
			bubble(name+"/half a "+request, encrypted, func(t *testing.T, dial func() net.Conn) {
				c := dial()
				send(t, c, text)
				go func() { // further bytes give it no more time
					for range 8 {
						time.Sleep(time.Second)
						_, _ = io.WriteString(c, "x")
					}
				}()
				expectLifetime(t, request, lifetime(c), RequestTimeout)
			})
		}
		bubble(name+"/idle", encrypted, func(t *testing.T, dial func() net.Conn) {
			c := dial()
			replies := bufio.NewReader(c)
			for range 2 {
				time.Sleep(FirstByteTimeout - time.Second) // the second time it is between requests
				send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nWait: 1h\r\n\r\nabc")
				r, err := http.ReadResponse(replies, nil)
				if err != nil {
					t.Fatal(err) // a handler has all the time that it takes
				}
				if text, err := io.ReadAll(r.Body); err != nil || string(text) != "abc" {
					t.Errorf("%q, %v", text, err)
				}
			}
			expectLifetime(t, "idle", lifetime(c), IdleTimeout)
		})
	}
	bubble("silent", false, func(t *testing.T, dial func() net.Conn) {
		expectLifetime(t, "silent", lifetime(dial()), FirstByteTimeout)
	})
	bubble("handshake", true, func(t *testing.T, dial func() net.Conn) {
		c := dial().(*tls.Conn).NetConn()
		send(t, c, "\x16\x03\x01")
		expectLifetime(t, "half a handshake", lifetime(c), FirstByteTimeout)
	})
	bubble("reply", false, func(t *testing.T, dial func() net.Conn) {
		c := dial()
		size := 1 << 20
		send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n"+strings.Repeat("x",
			size))
		time.Sleep(WriteTimeout + 2*TickInterval)
		if n, err := io.Copy(io.Discard, c); n >= int64(size) || err != nil {
			t.Errorf("%d bytes of a reply that was not read, %v", n, err)
		}
	})
}

// A connection that a handler takes over has no limit but that of each write.
func TestHijacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		limiter := NewLimiter(Config{})
		server := NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			go func() {
				defer c.Close()
				time.Sleep(time.Hour)
				_, _ = io.WriteString(c, "late")
			}()
		}))
		ctx, stop := context.WithCancel(t.Context())
		go limiter.Run(ctx)
		go server.Serve(limiter.Listen(p))
		c := p.dial(t)
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if text, err := io.ReadAll(c); err != nil || string(text) != "late" {
			t.Errorf("%q, %v", text, err)
		}
		stop()
		server.Close()
		synctest.Wait()
		if n := limiter.Count(); n != 0 {
			t.Errorf("%d connections are still counted", n)
		}
	})
}

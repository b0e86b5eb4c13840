package handlers

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// encrypted serves the shop with TLS and returns what a client needs.
func (s *shop) encrypted(t *testing.T) (address string, trust *tls.Config, server *Server) {
	t.Helper()
	encryption, trust := certificates(t)
	twin := s.twin(func(cfg *Config) { cfg.TLS = encryption })
	return twin.listen(t), trust, twin.Server
}

// certificates returns what a server needs for TLS, and a client.
func certificates(t *testing.T) (encryption, trust *tls.Config) {
	t.Helper()
	files := certtest.Write(t, t.TempDir(), time.Now().Add(time.Hour))
	certificate, err := listener.ReadCertificate(files.ChainFile, files.KeyFile)
	testkit.Must(t, err)
	if encryption, err = certificate.TLS(); err != nil {
		t.Fatal(err)
	}
	return encryption, certtest.Trust(files)
}

func TestTLS(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	address, trust, _ := s.encrypted(t)
	over := s.at(t, "https://"+address, trust)
	over.expect(t, 2, "POST", "/orders", over.fill(t, 2, 1, 2), 200, `{"id":"`+s.cfg.Sale.ID()+`-2"}`)
	over.expect(t, 2, "GET", "/orders", "", 200,
		fmt.Sprintf(`[{"id":"%s-2","items":[{"food_id":1,"count":2}],"total":%d}]`, s.cfg.Sale.ID(),
			2*s.price(1)))
	over.expect(t, 0, "POST", "/login", strings.Repeat(" ", bodyBytesMax), 400, malformed)
	over.expect(t, 0, "GET", "/orders", "", 401, invalidToken)

	for _, test := range []struct {
		name     string
		change   func(*tls.Config)
		protocol string
		refused  bool
	}{
		{"TLS 1.1", func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 },
			"", true},
		{"TLS 1.2", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "", false},
		{"TLS 1.2 with CBC only", func(c *tls.Config) {
			c.MaxVersion = tls.VersionTLS12
			c.CipherSuites = []uint16{
				tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
				tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
				tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
				tls.TLS_RSA_WITH_AES_128_CBC_SHA,
			}
		}, "", true},
		{"TLS 1.3", func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, "", false},
		{"HTTP/2 or 1.1", func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} }, "http/1.1",
			false},
		{"only HTTP/2", func(c *tls.Config) { c.NextProtos = []string{"h2"} }, "", true},
	} {
		client := trust.Clone()
		test.change(client)
		c, err := tls.Dial("tcp", address, client)
		if (err != nil) != test.refused {
			t.Errorf("%s: %v, want refused %v", test.name, err, test.refused)
		}
		if err == nil {
			if got := c.ConnectionState().NegotiatedProtocol; got != test.protocol {
				t.Errorf("%s: protocol %q, want %q", test.name, got, test.protocol)
			}
			c.Close()
		}
	}
}

// Connections with TLS have the limits of time of the others: here a handshake that does not go on and a
// connection that is idle. Neither holds the connections of others.
func TestTLSHasLimitsOfTime(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	address, trust, server := s.encrypted(t)
	silent, err := net.Dial("tcp", address)
	testkit.Must(t, err)
	defer silent.Close()
	if _, err := silent.Write([]byte("\x16\x03\x01")); err != nil {
		t.Fatal(err)
	}
	idle, err := tls.Dial("tcp", address, trust)
	testkit.Must(t, err)
	defer idle.Close()
	send(t, idle, getHead+"\r\n")
	r, err := http.ReadResponse(bufio.NewReader(idle), nil)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("%v, %v", r, err)
	}
	// The client may have the reply before the server takes the connection for idle: its time begins then.
	testkit.Until(t, "end of both connections", func() bool {
		server.limiter.Tick()
		return server.limiter.Count() == 0
	})
	for name, c := range map[string]net.Conn{"silent": silent, "idle": idle} {
		testkit.Must(t, c.SetReadDeadline(time.Now().Add(testkit.Patience)))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the %s connection is not ended", name)
		}
	}
}

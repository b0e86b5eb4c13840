package handlers

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// madeID is the form of an ID that the server makes.
var madeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// overTCP is the shop for a client that has an address, with some settings changed.
func (s *shop) overTCP(t *testing.T, change func(*Config)) *shop {
	t.Helper()
	s.do(func() { change(&s.cfg) })
	return s.at(t, "http://"+s.listen(t), nil)
}

// at is the shop for a client of an address; trust is nil for plain text.
func (s *shop) at(t *testing.T, base string, trust *tls.Config) *shop {
	over := *s
	over.client = &http.Client{Transport: checkedTransport{&http.Transport{TLSClientConfig: trust}}}
	t.Cleanup(over.client.CloseIdleConnections)
	over.base = base
	return &over
}

func trustLoopback(cfg *Config) {
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// allKinds are calls that are answered at once, later, by a goroutine, and not at all.
func (s *shop) allKinds() [][3]string {
	return [][3]string{
		{"GET", "/foods", ""}, {"HEAD", "/foods", ""}, {"POST", "/login", "{"}, {"OPTIONS", "/foods", ""},
		{"PATCH", "/carts/" + s.cartOf(2), `{"food_id":1,"count":1}`}, {"GET", "/orders", ""},
		{"GET", "/healthz", ""}, {"GET", "/nothing", ""}, {"DELETE", "/foods", ""}, {"GET", "/admin/orders", ""},
	}
}

// idsOf are the IDs in the replies to all kinds of calls with these headers.
func (s *shop) idsOf(t *testing.T, header ...string) (ids []string) {
	t.Helper()
	for _, c := range s.allKinds() {
		_, _, h := s.call(t, rootUser, c[0], c[1], c[2], header...)
		if values := h.Values(requestIDHeader); len(values) > 1 {
			t.Errorf("%s %s: IDs %q", c[0], c[1], values)
		}
		ids = append(ids, h.Get(requestIDHeader))
	}
	return ids
}

// By default a reply carries an ID only where a trusted proxy has sent one.
func TestGivenRequestID(t *testing.T) { onBoth(t, testGivenRequestID) }

func testGivenRequestID(t *testing.T, s *shop) {
	s = s.overTCP(t, trustLoopback)
	longest := strings.Repeat("~", requestIDMax)
	for sent, want := range map[string]string{
		"front-1/2": "front-1/2", "!": "!", longest: longest, " padded\t": "padded", // as headers are read
		"": "", "two words": "", longest + "~": "", "caf\u00e9": "", "a\tb": "",
	} {
		for i, id := range s.idsOf(t, requestIDHeader, sent) {
			if id != want {
				t.Errorf("%v with the ID %q: answered with %q, want %q", s.allKinds()[i], sent, id, want)
			}
		}
	}
	for _, id := range s.idsOf(t) {
		if id != "" {
			t.Errorf("without an ID: answered with %q", id)
		}
	}
}

// An ID is believed from trusted proxies only.
func TestForgedRequestID(t *testing.T) {
	for _, always := range []bool{false, true} {
		t.Run(fmt.Sprintf("RequestIDs=%v", always), func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) { testForgedRequestID(t, s, always) })
		})
	}
}

func testForgedRequestID(t *testing.T, s *shop, always bool) {
	s = s.overTCP(t, func(cfg *Config) {
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		cfg.RequestIDs = always
	})
	for _, id := range s.idsOf(t, requestIDHeader, "forged", "X-Forwarded-For", "10.0.0.1") {
		if id == "forged" || madeID.MatchString(id) != always {
			t.Errorf("answered with the ID %q", id)
		}
	}
}

// With Config.RequestIDs every reply carries an ID of its own.
func TestMadeRequestID(t *testing.T) { onBoth(t, testMadeRequestID) }

func testMadeRequestID(t *testing.T, s *shop) {
	s = s.overTCP(t, func(cfg *Config) {
		trustLoopback(cfg)
		cfg.RequestIDs = true
	})
	seen := map[string]bool{}
	for _, sent := range [][]string{nil, {requestIDHeader, "not one"}} {
		for i, id := range s.idsOf(t, sent...) {
			if !madeID.MatchString(id) || seen[id] {
				t.Errorf("%v with %q: answered with the ID %q, want a new one", s.allKinds()[i], sent, id)
			}
			seen[id] = true
		}
	}
	if got := s.idsOf(t, requestIDHeader, "front")[0]; got != "front" {
		t.Errorf("answered with the ID %q, want the proxy's", got)
	}
	const twice = requestIDHeader + ": a\r\n" + requestIDHeader + ": b\r\n"
	for name, text := range map[string]string{
		"two IDs":           rawGet(twice + "Connection: close\r\n"),
		"a refused request": "GET / HTTP/1.1\r\n" + twice + "\r\n",
		"a list for HTTP/1.0": "GET /admin/orders HTTP/1.0\r\nHost: shop\r\n" + twice + "Access-Token: " +
			s.token(rootUser) + "\r\n\r\n",
	} {
		heard := talk(t, strings.TrimPrefix(s.base, "http://"), text, "")
		if len(heard.replies) != 1 || heard.err != nil {
			t.Fatalf("%s: %d replies, %v", name, len(heard.replies), heard.err)
		}
		if id := heard.replies[0].Header.Get(requestIDHeader); !madeID.MatchString(id) || seen[id] {
			t.Errorf("%s: answered with the ID %q, want a new one", name, id)
		}
	}
}

// Requests of one connection do not get each other's ID.
func TestRequestIDsInPipeline(t *testing.T) { onBoth(t, testRequestIDsInPipeline) }

func testRequestIDsInPipeline(t *testing.T, s *shop) {
	address := strings.TrimPrefix(s.overTCP(t, trustLoopback).base, "http://")
	var text, want strings.Builder
	for i := range 20 {
		path := []string{"/foods", "/healthz", "/nothing"}[i%3]
		field := ""
		if i%4 > 0 {
			field = fmt.Sprintf("%s: id-%d\r\n", requestIDHeader, i)
			fmt.Fprintf(&want, "id-%d ", i)
		} else {
			want.WriteString("none ")
		}
		fmt.Fprintf(&text, "GET %s HTTP/1.1\r\nHost: shop\r\n%s\r\n", path, field)
	}
	c := dial(t, address)
	send(t, c, text.String())
	testkit.Must(t, c.CloseWrite())
	var got strings.Builder
	for _, r := range listen(c, "GET", "").replies {
		id := r.Header.Get(requestIDHeader)
		if id == "" {
			id = "none"
		}
		got.WriteString(id + " ")
	}
	if got.String() != want.String() {
		t.Errorf("IDs %s\nwant %s", &got, &want)
	}
}

package handlers

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/observe/accesslog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// accessLines are the lines of an access log.
type accessLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *accessLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// forget drops the lines so far.
func (l *accessLines) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// await returns all lines once there are so many.
func (l *accessLines) await(t *testing.T, count int) (lines []string) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("%d lines of the access log", count), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		lines = strings.SplitAfter(l.text.String(), "\n")
		lines = lines[:len(lines)-1]
		return len(lines) >= count
	})
	if len(lines) > count {
		t.Errorf("%d lines, want %d: %q", len(lines), count, lines)
	}
	return lines
}

// newAccessLog makes a log with a line for one request in every, which runs until the test ends.
func newAccessLog(tb testing.TB, every int) (*accesslog.Log, *accessLines) {
	lines := &accessLines{}
	log := accesslog.New(accesslog.Config{Every: every, Out: lines, Dropped: &figures.Counter{},
		NewLogger: func(out io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(out, nil)) }})
	testkit.Background(tb, log.Run)
	return log, lines
}

// logged is the shop over TCP, with an access log.
func (s *shop) logged(t *testing.T, every int) (*shop, *accessLines) {
	t.Helper()
	log, lines := newAccessLog(t, every)
	return s.overTCP(t, func(cfg *Config) {
		trustLoopback(cfg)
		cfg.AccessLog = log
	}), lines
}

var (
	variable = regexp.MustCompile(`(time|duration_us)=[^ \n]* ?|level=INFO msg=request `)
	itsID    = regexp.MustCompile(`request_id=([^ \n]*) `)
)

// steady takes out of a line what the clock and chance decide. It checks their form.
func steady(t *testing.T, line string) string {
	t.Helper()
	if id := itsID.FindStringSubmatch(line); id == nil || !madeID.MatchString(id[1]) {
		t.Errorf("%s has no ID of its own", line)
	}
	if !regexp.MustCompile(`^time=\S+Z?\S* level=INFO msg=request .* duration_us=\d+ `).MatchString(line) {
		t.Errorf("%s has another form", line)
	}
	return strings.TrimSuffix(variable.ReplaceAllString(itsID.ReplaceAllString(line, ""), ""), "\n")
}

// loggedCall is a request and its line in the access log. In the line {size} is the length of the reply's
// body, {hot} and {cold} are where hot and cold calls are served.
type loggedCall struct {
	user               uint32
	method, path, body string
	line               string
}

// Each request has one line, whatever becomes of it.
func TestAccessLog(t *testing.T) { onBoth(t, testAccessLog) }

func testAccessLog(t *testing.T, s *shop) {
	cart, cold := s.cartOf(2), onGoroutines
	hot := cold
	if s.cfg.Loop != nil {
		hot, cold = onEventLoop, lentByLoop
	}
	s.withOperators(t, staff...)
	vera := "?access_token=" + s.tokenNamed("vera")
	s, lines := s.logged(t, 1)
	for i, c := range []loggedCall{
		{0, "POST", "/login", rawLogin, "method=POST route=/login status=200 user=2 bytes_in=39 {size} {hot}"},
		{0, "POST", "/login", `{"username":"user2","password":"x"}`,
			"method=POST route=/login status=403 code=USER_AUTH_FAIL bytes_in=35 {size} {hot}"},
		{2, "GET", "/foods", "", "method=GET route=/foods status=200 user=2 bytes_in=0 {size} {hot}"},
		{2, "HEAD", "/foods", "", "method=HEAD route=/foods status=200 user=2 bytes_in=0 bytes_out=0 {hot}"},
		{0, "GET", "/foods?access_token=x", "",
			"method=GET route=/foods status=401 code=INVALID_ACCESS_TOKEN bytes_in=0 {size} {hot}"},
		{2, "POST", "/carts", "{}", "method=POST route=/carts status=200 user=2 bytes_in=2 {size} {hot}"},
		{2, "PATCH", "/carts/" + cart, `{"food_id":1,"count":1}`,
			"method=PATCH route=/carts/:id status=204 user=2 bytes_in=23 {size} {hot}"},
		{2, "PATCH", "/carts/" + s.cartOf(3), `{"food_id":1,"count":1}`,
			"method=PATCH route=/carts/:id status=401 " +
				"code=NOT_AUTHORIZED_TO_ACCESS_CART user=2 bytes_in=23 {size} {hot}"},
		{2, "POST", "/orders", `{"cart_id":"` + cart + `"}`,
			"method=POST route=/orders status=200 user=2 bytes_in=46 {size} {hot}"},
		{2, "POST", "/orders", `{"cart_id":"` + cart + `"}`, "method=POST route=/orders status=403 " +
			"code=ORDER_OUT_OF_LIMIT user=2 bytes_in=46 {size} {hot}"},
		{2, "GET", "/orders", "", "method=GET route=/orders status=200 user=2 bytes_in=0 {size} {cold}"},
		{1, "GET", "/admin/orders", "",
			"method=GET route=/admin/orders status=200 user=1 bytes_in=0 {size} {cold}"},
		{1, "HEAD", "/admin/orders", "",
			"method=HEAD route=/admin/orders status=200 user=1 bytes_in=0 bytes_out=0 {cold}"},
		{2, "GET", "/admin/orders", "",
			"method=GET route=/admin/orders status=401 code=INVALID_ACCESS_TOKEN bytes_in=0 {size} {cold}"},
		{0, "GET", "/admin/orders" + vera, "",
			"method=GET route=/admin/orders status=200 operator=vera bytes_in=0 {size} {cold}"},
		{0, "PUT", "/admin/sale" + vera, "",
			"method=PUT route=/admin/sale status=403 code=NOT_ALLOWED bytes_in=0 {size} {cold}"},
		{0, "GET", "/a/path", "", "method=GET route=other status=404 code=NOT_FOUND bytes_in=0 {size} {hot}"},
		{0, "DELETE", "/foods", "",
			"method=DELETE route=/foods status=405 code=METHOD_NOT_ALLOWED bytes_in=0 {size} {hot}"},
		{0, "OPTIONS", "/login", "", "method=OPTIONS route=/login status=204 bytes_in=0 {size} {hot}"},
		{0, "PUT", "/admin/orders", "",
			"method=PUT route=/admin/orders status=405 code=METHOD_NOT_ALLOWED bytes_in=0 {size} {hot}"},
		{0, "OPTIONS", "/readyz", "", "method=OPTIONS route=/readyz status=204 bytes_in=0 {size} {hot}"},
		{0, "GET", "/healthz", "", "method=GET route=/healthz status=200 bytes_in=0 {size} {hot}"},
		{0, "HEAD", "/healthz", "", "method=HEAD route=/healthz status=200 bytes_in=0 bytes_out=0 {hot}"},
	} {
		_, body, h := s.call(t, c.user, c.method, c.path, c.body)
		want := strings.NewReplacer("{size}", fmt.Sprintf("bytes_out=%d", len(body)),
			"{hot}", "client=127.0.0.1 connection="+hot, "{cold}", "client=127.0.0.1 connection="+cold).
			Replace(c.line)
		line := lines.await(t, i+1)[i]
		if got := steady(t, line); got != want {
			t.Errorf("%s %s: the line\n%s\nwant\n%s", c.method, c.path, got, want)
		}
		if id := itsID.FindStringSubmatch(line); id != nil && h.Get(requestIDHeader) != id[1] {
			t.Errorf("%s %s: the line has ID %s, the reply %q", c.method, c.path, id[1], h.Get(requestIDHeader))
		}
	}
}

// A request that cannot be read, and a list for a client of HTTP/1.0, have their line too.
func TestAccessLogOddRequests(t *testing.T) { onBoth(t, testAccessLogOddRequests) }

func testAccessLogOddRequests(t *testing.T, s *shop) {
	hot, cold := onGoroutines, onGoroutines
	if s.cfg.Loop != nil {
		hot, cold = onEventLoop, lentByLoop
	}
	s, lines := s.logged(t, 1)
	for i, test := range []struct{ text, want string }{
		{"GET /secret HTTP/1.1\r\nAccess-Token: x\r\n\r\n", // without Host
			"method=other route=other status=400 code=BAD_REQUEST bytes_in=0 bytes_out=%d client=127.0.0.1 " +
				"connection=" + hot},
		{"GET /" + strings.Repeat("x", urlBytesMax) + " HTTP/1.1\r\nHost: shop\r\n\r\n",
			"method=other route=other status=414 code=URL_TOO_LONG bytes_in=0 bytes_out=%d client=127.0.0.1 " +
				"connection=" + hot},
		{"GET /admin/orders HTTP/1.0\r\nAccess-Token: " + s.token(rootUser) + "\r\n\r\n",
			"method=GET route=/admin/orders status=200 user=1 bytes_in=0 bytes_out=%d client=127.0.0.1 connection=" +
				cold},
	} {
		heard := talk(t, strings.TrimPrefix(s.base, "http://"), test.text, "")
		if len(heard.replies) != 1 {
			t.Fatalf("%.40q: %d replies", test.text, len(heard.replies))
		}
		want := fmt.Sprintf(test.want, len(heard.replies[0].body))
		if got := steady(t, lines.await(t, i+1)[i]); got != want {
			t.Errorf("%.40q: the line\n%s\nwant\n%s", test.text, got, want)
		}
	}
}

// Behind a trusted proxy a line has the client's address, the proxy's ID and the caller's trace.
func TestAccessLogBehindProxy(t *testing.T) { onBoth(t, testAccessLogBehindProxy) }

func testAccessLogBehindProxy(t *testing.T, s *shop) {
	s, lines := s.logged(t, 1)
	for i, path := range []string{"/foods", "/healthz"} {
		s.call(t, 2, "GET", path, "", "X-Forwarded-For", "10.9.9.9, 203.0.113.5", requestIDHeader, "front-1",
			"Traceparent", traced)
		line := lines.await(t, i+1)[i]
		for _, want := range []string{" request_id=front-1 ", " client=203.0.113.5 ",
			" trace_id=" + traceID + " span_id=" + spanID + "\n"} {
			if !strings.Contains(line, want) {
				t.Errorf("GET %s: the line %s, want%s in it", path, line, want)
			}
		}
	}
}

// One request in so many has a line, and only its reply carries an ID. Failures of the server all have one.
func TestAccessLogSample(t *testing.T) { onEngines(t, testAccessLogSample) }

func testAccessLogSample(t *testing.T, open opener) {
	server := redistest.New(t)
	const every, runs = 10, 5
	s, lines := open(t, "unix", server.Socket).logged(t, every)
	var ids []string
	for i := range every * runs {
		_, _, h := s.call(t, 2, "GET", []string{"/foods", "/healthz"}[i%2], "")
		if id := h.Get(requestIDHeader); id != "" {
			ids = append(ids, id)
		}
	}
	for i, line := range lines.await(t, runs) {
		if len(ids) != runs || !strings.Contains(line, "request_id="+ids[i]+" ") {
			t.Errorf("line %d is %s; the replies carry the IDs %q", i, line, ids)
		}
	}
	server.Kill(t)
	for range every {
		s.expect(t, 2, "GET", "/orders", "", 503, unavailable)
	}
	for _, line := range lines.await(t, runs+every)[runs:] {
		if !strings.Contains(line, " route=/orders status=503 code=SERVICE_UNAVAILABLE user=2 ") {
			t.Errorf("the line is %s", line)
		}
	}
}

func TestAccessLogOverTLS(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	log, lines := newAccessLog(t, 1)
	s.cfg.AccessLog = log
	address, trust, _ := s.encrypted(t)
	over := s.at(t, "https://"+address, trust)
	over.call(t, 2, "GET", "/foods", "")
	over.call(t, 2, "GET", "/healthz", "")
	for _, line := range lines.await(t, 2) {
		if !strings.Contains(line, " status=200 ") || !strings.HasSuffix(line, " connection=tls\n") {
			t.Errorf("the line is %s", line)
		}
	}
}

// Nothing secret gets into a line, wherever it stands in a request and whatever becomes of that.
func TestAccessLogHoldsNoSecrets(t *testing.T) { onBoth(t, testAccessLogHoldsNoSecrets) }

func testAccessLogHoldsNoSecrets(t *testing.T, s *shop) {
	log := testkit.CaptureLog(t)
	s.cfg.ServiceToken = "service-hush"
	s, lines := s.logged(t, 1)
	token, cart := s.token(2), s.cartOf(2)
	secrets := []string{token, cart, "hush", "pass2", "user2"}
	fields := "Host: shop\r\nAccess-Token: " + token + "\r\nAuthorization: Bearer service-hush\r\n" +
		"Cookie: hush\r\nIdempotency-Key: hush\r\nReferer: /carts/" + cart + "\r\nUser-Agent: hush\r\n" +
		"Traceparent: hush\r\nX-Forwarded-For: hush\r\nX-Request-Id: hush hush\r\nConnection: close\r\n"
	query := "?access_token=" + token + "&x=hush"
	targets := []string{"/foods", "/carts/" + cart, "/orders", "/admin/orders", "/healthz", "/hush/" + cart,
		"/c%61rts/" + cart, "//hush/orders", "http://hush/carts/" + cart, "/login", "/limits/hush", "*",
		"/%zz" + cart}
	bodies := []string{"", rawLogin, `{"username":"hush","password":"hush"}`, `{"cart_id":"` + cart + `"}`,
		`{"food_id":1,"count":1,"x":"hush"}`, "hush"}
	count := 0
	for _, target := range targets {
		for _, method := range []string{"GET", "POST", "PATCH", "OPTIONS", "HUSH"} {
			for i, body := range bodies {
				if method == "GET" && i > 0 {
					continue
				}
				text := fmt.Sprintf("%s %s%s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", method, target, query,
					fields, len(body), body)
				talk(t, strings.TrimPrefix(s.base, "http://"), text, "")
				count++
			}
		}
	}
	all := strings.Join(lines.await(t, count), "") + log.String()
	for _, secret := range append(secrets, "HUSH") {
		if i := strings.Index(all, secret); i >= 0 {
			t.Errorf("the log holds %q: %.200s", secret, all[max(i-100, 0):])
		}
	}
}

// Both engines log the same of all that a connection may bring.
func TestEnginesLogAlike(t *testing.T) {
	var lines [2]*accessLines
	r := newRivals(t, func(engine int, cfg *Config) { cfg.AccessLog, lines[engine] = newAccessLog(t, 1) })
	texts := slices.Clone(mixed)
	for _, probes := range rawTopics {
		for i := 0; i < len(probes); i += 8 {
			texts = append(texts, probes[i].send+rawFollower)
		}
	}
	count := 0
	for _, text := range texts {
		if text = r.filled(text); len(text) > pieceMax {
			continue
		}
		var told [2]string
		for engine := range told {
			lines[engine].forget()
			replies := bytes.Count(r.hear(t, engine, []string{text}), []byte("X-Request-Id: "))
			for _, line := range lines[engine].await(t, replies) {
				line, _, _ = strings.Cut(steady(t, line), " connection=")
				told[engine] += line + "\n"
				count++
			}
		}
		if told[0] != told[1] {
			t.Errorf("%q is logged\n%sby goroutines and\n%sby the loop", text, told[0], told[1])
		}
	}
	if count < 2*len(texts) {
		t.Errorf("only %d lines for %d texts", count, len(texts))
	}
}

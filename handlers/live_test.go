package handlers

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"flashsale/internal/figures"
	"flashsale/internal/live"
	"flashsale/internal/polltest"
	"flashsale/redisx/redistest"
)

// liveShop is a shop of the same sale with a live view, and its address.
func (s *shop) liveShop(t *testing.T, viewersMax int, change func(*Config)) (*shop, string) {
	t.Helper()
	memory, err := figures.New(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.File().Close() })
	worker, err := figures.Join(memory.File(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Leave)
	var with *shop
	hub, err := live.New(live.Config{Figures: memory, Own: worker, ViewersMax: viewersMax,
		Sale: func() []byte { return with.SaleBody() }, Look: func() live.State { return live.State{Up: true} },
		Top: func() []byte { return []byte(`[{"key":"k","hits":3}]`) }})
	if err != nil {
		t.Fatal(err)
	}
	with = s.twin(func(cfg *Config) {
		cfg.Live, cfg.Figures, cfg.ServiceToken = hub, worker, serviceToken
		if change != nil {
			change(cfg)
		}
	})
	with.keys = s.keys
	with.Publish(snapshotOf([]int64{9, 8, 7, 6, 5}))
	hub.PublishStock([]int64{9, 8, 7, 6, 5})
	background(t, hub.Run)
	return with, with.listen(t)
}

// stream is a viewer's connection.
type stream struct {
	*testing.T
	net.Conn
	*http.Response
	head   string
	reader *bufio.Reader
}

// watch sends a request and reads the head of the reply.
func watch(t *testing.T, address string, encryption *tls.Config, request string) *stream {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err == nil && encryption != nil {
		c = tls.Client(c, encryption)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(polltest.Patience))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	all, head := bufio.NewReader(c), ""
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := all.ReadString('\n')
		if err != nil {
			t.Fatalf("%v behind %q", err, head)
		}
		head += line
	}
	r, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(head), all)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &stream{t, c, r, head, bufio.NewReader(r.Body)}
}

// next reads an event; name is the first line where that is none.
func (s *stream) next() (name, data string) {
	s.Helper()
	var lines []string
	for {
		line, err := s.reader.ReadString('\n')
		if err != nil {
			s.Fatalf("%v behind %q", err, lines)
		}
		if line == "\n" {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "id: ") {
		return lines[0], ""
	}
	name, data = strings.TrimPrefix(lines[0], "event: "), strings.TrimPrefix(lines[2], "data: ")
	if err := readDescription(s).CheckEvent("/live", name, data); err != nil {
		s.Error(err)
	}
	return name, data
}

// want reads events, each of which must match, until one of each name has come.
func (s *stream) want(events map[string]string) {
	s.Helper()
	for seen := map[string]bool{}; len(seen) < len(events); {
		name, data := s.next()
		if pattern, ok := events[name]; ok {
			seen[name] = true
			if !regexp.MustCompile("^" + pattern + "$").MatchString(data) {
				s.Errorf("event %s: %s, want %s", name, data, pattern)
			}
		}
	}
}

const liveGet = "GET /live HTTP/1.1\r\nHost: shop\r\n"

// onThree runs a test on both engines, and with TLS.
func onThree(t *testing.T, test func(t *testing.T, s *shop, address string, encryption *tls.Config)) {
	for name, open := range map[string]opener{"goroutines": open, "event loop": openOnLoop} {
		t.Run(name, func(t *testing.T) {
			s, address := open(t, "unix", redistest.Start(t).Socket).liveShop(t, 2, nil)
			test(t, s, address, nil)
		})
	}
	t.Run("TLS", func(t *testing.T) {
		encryption, trust := certificates(t)
		s, address := open(t, "unix", redistest.Start(t).Socket).liveShop(t, 2,
			func(cfg *Config) { cfg.TLS = encryption })
		test(t, s, address, trust)
	})
}

var liveHead = regexp.MustCompile("^HTTP/1.1 200 OK\r\nDate: [^\r]+\r\nContent-Type: text/event-stream\r\n" +
	"Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nConnection: close\r\n\r\n$")

// Anybody gets the events of the sale, over any kind of connection, until it ends.
func TestLive(t *testing.T) { onThree(t, testLive) }

func testLive(t *testing.T, s *shop, address string, encryption *tls.Config) {
	zeros := strings.Repeat("0,", 599) + "0"
	first := map[string]string{
		"history": `{"from":\d+,"orders":\[` + zeros + `\]}`,
		"sale": `{"id":"` + s.cfg.Sale.ID() + `","state":"open","now":"[-\d]+T[:.\d]+Z","opens_at":null,` +
			`"closes_at":null,"pieces_left":35,"pieces_sold":15}`,
		"stock": `{"left":\[9,8,7,6,5\]}`,
		"pace": `{"t":\d+,"orders":0,"orders_of":"server","refused":{},"p50_ms":null,"p99_ms":null,` +
			`"connections":1,"redis":"up","ledger_lag":null}`,
	}
	for i, request := range []string{
		liveGet, liveGet + "Connection: close\r\n", liveGet + "Connection: keep-alive\r\n",
		"GET /live HTTP/1.0\r\n", liveGet + "Access-Token: " + s.token(2) + "\r\n",
	} {
		c := watch(t, address, encryption, request+"\r\n")
		if !liveHead.MatchString(c.head) {
			t.Errorf("%q: %q", request, c.head)
		}
		events := maps.Clone(first)
		if i > 0 {
			delete(events, "pace") // a second each
		}
		c.want(events)
		if s.limiter.Count() != 1 {
			t.Errorf("%d connections are counted, want 1", s.limiter.Count())
		}
		c.Conn.Close()
		polltest.Until(t, "end of the viewer", func() bool { return s.limiter.Count() == 0 })
	}
}

// HEAD and OPTIONS are answered as everywhere, and the connection goes on.
func TestLiveMethods(t *testing.T) {
	onThree(t, func(t *testing.T, s *shop, address string, encryption *tls.Config) {
		for range 5 { // a HEAD takes no viewer's place
			c := watch(t, address, encryption, "HEAD /live HTTP/1.1\r\nHost: shop\r\n\r\n")
			if c.StatusCode != 200 || c.Header.Get("Content-Type") != "text/event-stream" || strings.Contains(c.head, "close") {
				t.Errorf("HEAD: %v", c.Response)
			}
			c.Conn.Close()
		}
		for request, status := range map[string]int{"OPTIONS": 204, "POST": 405} {
			c := watch(t, address, encryption, request+" /live HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n\r\n")
			if allow := c.Header.Get("Allow"); c.StatusCode != status || allow != "GET, HEAD, OPTIONS" {
				t.Errorf("%s: %d, Allow %q", request, c.StatusCode, allow)
			}
		}
	})
}

// Root and other programs see the most-hit keys too. A token that is not valid is refused.
func TestLiveAccess(t *testing.T) { onBoth(t, testLiveAccess) }

func testLiveAccess(t *testing.T, s *shop) {
	s, address := s.liveShop(t, 10, nil)
	for _, header := range []string{
		"Access-Token: " + s.token(1), "Authorization: Bearer " + serviceToken,
	} {
		watch(t, address, nil, liveGet+header+"\r\n\r\n").want(map[string]string{
			"stock": `.*`, "top": `{"keys":\[{"key":"k","hits":3}\]}`})
	}
	watch(t, address, nil, "GET /live?access_token="+s.token(1)+" HTTP/1.1\r\nHost: shop\r\n\r\n").want(
		map[string]string{"top": `.*`})
	c := watch(t, address, nil, liveGet+"Access-Token: x\r\n\r\n")
	if text, err := io.ReadAll(c.Body); c.StatusCode != 401 || err != nil || string(text) != invalidToken {
		t.Errorf("%d %s, %v", c.StatusCode, text, err)
	}
}

// A viewer that comes back says what it has got.
func TestLiveResume(t *testing.T) { onBoth(t, testLiveResume) }

func testLiveResume(t *testing.T, s *shop) {
	_, address := s.liveShop(t, 10, nil)
	first := watch(t, address, nil, liveGet+"\r\n")
	pace := regexp.MustCompile(`{"t":(\d+),.*`)
	var id string
	for found := false; !found; {
		if name, data := first.next(); name == "pace" {
			id, found = pace.FindStringSubmatch(data)[1], true
		}
	}
	second := watch(t, address, nil, liveGet+"Last-Event-ID: "+id+"\r\n\r\n")
	for {
		name, _ := second.next()
		if name == "history" {
			t.Error("a viewer that has missed nothing gets the history")
		}
		if name == "stock" {
			return
		}
	}
}

// Over the limit a viewer gets 503, and the connection goes on.
func TestLiveLimit(t *testing.T) { onThree(t, testLiveLimit) }

func testLiveLimit(t *testing.T, s *shop, address string, encryption *tls.Config) {
	for range 2 {
		watch(t, address, encryption, liveGet+"\r\n").want(map[string]string{"stock": `.*`})
	}
	c := watch(t, address, encryption, liveGet+"\r\n")
	text, err := io.ReadAll(c.Body)
	if c.StatusCode != 503 || err != nil || string(text) != unavailable || c.Header.Get("Retry-After") != "1" ||
		c.Header.Get("Content-Type") != "application/json" || c.Header.Get("Cache-Control") != "" {
		t.Errorf("%d %s, %v", c.StatusCode, text, c.Header)
	}
	if _, err := io.WriteString(c.Conn, getHead+"\r\n"); err != nil {
		t.Error(err)
	}
	if r, err := http.ReadResponse(bufio.NewReader(c.Conn), nil); err != nil || r.StatusCode != 200 {
		t.Errorf("behind a refused viewer: %v, %v", r, err)
	}
}

// A drain ends viewers at once, with a hint when to come back. Later ones get 503.
func TestLiveDrain(t *testing.T) { onThree(t, testLiveDrain) }

func testLiveDrain(t *testing.T, s *shop, address string, encryption *tls.Config) {
	c := watch(t, address, encryption, liveGet+"\r\n")
	c.want(map[string]string{"stock": `.*`})
	s.cfg.Live.End() // as Drain does
	text, err := io.ReadAll(c.reader)
	if !regexp.MustCompile(`(^|\n\n)retry: [1-9]\d{3}\n\n$`).Match(text) || err != nil {
		t.Errorf("at the end %q, %v", text, err)
	}
	polltest.Until(t, "end of the viewer", func() bool { return s.limiter.Count() == 0 })
	if late := watch(t, address, encryption, liveGet+"\r\n"); late.StatusCode != 503 {
		t.Errorf("a late viewer gets %d", late.StatusCode)
	}
}

// Drain does not wait for viewers: the time for idle connections may be long.
func TestDrainWithViewers(t *testing.T) { onBoth(t, testDrainWithViewers) }

func testDrainWithViewers(t *testing.T, s *shop) {
	s, address := s.liveShop(t, 10, nil)
	for range 5 {
		watch(t, address, nil, liveGet+"\r\n").want(map[string]string{"stock": `.*`})
	}
	idle, cancel := context.WithTimeout(t.Context(), polltest.Patience)
	defer cancel()
	s.draining.Store(true)
	s.cfg.Live.End()
	s.awaitNoConns(idle)
	if idle.Err() != nil {
		t.Error("the viewers are still there")
	}
}

// On both engines a viewer has no goroutine.
func TestLiveGoroutines(t *testing.T) { onBoth(t, testLiveGoroutines) }

func testLiveGoroutines(t *testing.T, s *shop) {
	const viewers = 100
	s, address := s.liveShop(t, viewers, nil)
	before := runtime.NumGoroutine()
	for range viewers {
		watch(t, address, nil, liveGet+"\r\n")
	}
	polltest.Until(t, fmt.Sprintf("at most %d goroutines", before+10), func() bool {
		return runtime.NumGoroutine() <= before+10
	})
	if n := s.limiter.Count(); n != viewers {
		t.Errorf("%d connections, want %d", n, viewers)
	}
}

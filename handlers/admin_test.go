package handlers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const tooMany = `{"code":"TOO_MANY_REQUESTS","message":"请求过于频繁"}`

// openWithOrders opens a sale with this number of orders, each of one piece of the food.
func openWithOrders(t *testing.T, open opener, server *redistest.Server, orders, food int) *shop {
	t.Helper()
	s := open(t, "unix", server.Socket)
	script := fmt.Sprintf(
		`for user = 100, 99 + %d do redis.call('SET', 'o_' .. user, '%d:1,|\\n1') end return 1`, orders, food)
	server.Do(t, `EVAL "`+script+`" 0`)
	return s
}

// beginList asks for all orders over HTTP 1.1 or 1.0 and returns when the reply has begun.
func beginList(t *testing.T, s *shop, version string, c net.Conn) *http.Response {
	t.Helper()
	t.Cleanup(func() { c.Close() })
	testkit.Must(t, c.SetDeadline(time.Now().Add(testkit.Patience)))
	const request = "GET /admin/orders HTTP/%s\r\nHost: shop\r\nAccess-Token: %s\r\n\r\n"
	if _, err := fmt.Fprintf(c, request, version, s.token(rootUser)); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	testkit.Must(t, err)
	if version == "1.0" && (len(r.TransferEncoding) > 0 || r.ContentLength != -1 || !r.Close) {
		t.Errorf("HTTP/1.0 is answered with %v", r)
	}
	return r
}

// inside connects to the shop where little is buffered on the way: a list waits until it is read.
func (s *shop) inside(t *testing.T) net.Conn {
	t.Helper()
	c, err := s.dial()
	testkit.Must(t, err)
	return c
}

func checkList(t *testing.T, body io.Reader, orders int) {
	t.Helper()
	var list []struct {
		User int `json:"user_id"`
	}
	if err := json.NewDecoder(body).Decode(&list); err != nil || len(list) != orders {
		t.Errorf("%d orders, %v; want %d", len(list), err, orders)
	}
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		t.Errorf("behind the list: %q, %v", rest, err)
	}
}

func awaitNoLists(t *testing.T, s *shop) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(10 * time.Second); s.lists.count() != 0; {
		if (<-tick.C).After(limit) {
			t.Fatalf("%d lists are still counted", s.lists.count())
		}
	}
}

func (l *readers) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// fillLists takes all places of lists, freeLists gives them back.
func (s *shop) fillLists() {
	for i := range listsMax {
		s.lists.enter(strconv.Itoa(i / listsOwn))
	}
}

func (s *shop) freeLists() {
	for i := range listsMax {
		s.lists.leave(strconv.Itoa(i / listsOwn))
	}
}

// One operator takes half of the places, and each gives back what it has taken.
func TestListsAreShared(t *testing.T) {
	l := readers{allMax: listsMax, ownMax: listsOwn}
	for i, who := range []string{"ann", "ann", "bob", "bob"} {
		if !l.enter(who) {
			t.Errorf("list %d is refused", i)
		}
		if i > 0 && l.enter("ann") {
			t.Errorf("ann gets one more beside %d", i+1)
		}
	}
	testkit.Same(t, "one of somebody else", l.enter("cem"), false)
	l.leave("ann")
	testkit.Same(t, "of somebody else now", l.enter("cem"), true)
	for _, who := range []string{"ann", "bob", "bob", "cem"} {
		l.leave(who)
	}
	testkit.Same(t, "those under way", l.all+len(l.own), 0)
}

// A few lists at once, no more; each gives its place back, also when its client has gone.
func TestListsMax(t *testing.T) { onEngines(t, testListsMax) }

func testListsMax(t *testing.T, open opener) {
	const orders = 5000
	s := openWithOrders(t, open, redistest.Start(t), orders, 1)
	for _, version := range []string{"1.1", "1.0"} {
		t.Run("HTTP/"+version, func(t *testing.T) {
			var lists []*http.Response
			var conns []net.Conn
			for range listsOwn {
				conns = append(conns, s.inside(t))
				r := beginList(t, s, version, conns[len(conns)-1])
				if r.StatusCode != 200 {
					t.Fatalf("status %d", r.StatusCode)
				}
				lists = append(lists, r)
			}
			for range 3 {
				if h := s.expect(t, rootUser, "GET", "/admin/orders", "", 429,
					tooMany); h.Get("Retry-After") != "1" {
					t.Errorf("Retry-After %q, want 1", h.Get("Retry-After"))
				}
			}
			s.expect(t, 2, "GET", "/admin/orders", "", 401, invalidToken)
			conns[0].Close()
			for _, list := range lists[1:] {
				checkList(t, list.Body, orders)
			}
			awaitNoLists(t, s)
			checkList(t, beginList(t, s, version, s.inside(t)).Body, orders)
			awaitNoLists(t, s)
		})
	}
}

// The list is read from Redis as the client takes it, also for HTTP/1.0.
func TestListIsNotHeld(t *testing.T) { onEngines(t, testListIsNotHeld) }

func testListIsNotHeld(t *testing.T, open opener) {
	server := redistest.Start(t)
	const orders = 20_000 // 40 pages
	s := openWithOrders(t, open, server, orders, 1)
	for _, version := range []string{"1.1", "1.0"} {
		server.Do(t, "CONFIG RESETSTAT")
		r := beginList(t, s, version, s.inside(t))
		if pages := commandCalls(t, server, "mget"); pages > 20 {
			t.Errorf("HTTP/%s: %d pages of 40 were read before the client has taken any", version, pages)
		}
		checkList(t, r.Body, orders)
	}
}

// A list that breaks off cannot be taken for the whole, is logged once for many, and gives its place back.
func TestBrokenLists(t *testing.T) { onEngines(t, testBrokenLists) }

func testBrokenLists(t *testing.T, open opener) {
	server := redistest.New(t)
	s := openWithOrders(t, open, server, 100_000, 1)
	s.do(func() { s.cfg.RequestIDs = true })
	address := s.listen(t)
	log := testkit.CaptureLog(t)
	var lists []*http.Response
	for _, version := range []string{"1.1", "1.0"} {
		c, err := net.Dial("tcp", address)
		testkit.Must(t, err)
		lists = append(lists, beginList(t, s, version, c))
	}
	server.Kill(t)
	for i, want := range []error{io.ErrUnexpectedEOF, syscall.ECONNRESET} {
		if n, err := io.Copy(io.Discard, lists[i].Body); !errors.Is(err, want) {
			t.Errorf("%s: %d bytes, then %v, want %v", lists[i].Proto, n, err, want)
		}
	}
	awaitNoLists(t, s)
	if n := strings.Count(log.String(), `msg="a list for root breaks off" list=orders `); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
	first, second := lists[0].Header.Get(requestIDHeader), lists[1].Header.Get(requestIDHeader)
	named := regexp.MustCompile(`breaks off" .*request_id=(` + first + "|" + second + ")\n")
	if !named.MatchString(log.String()) {
		t.Errorf("no line names a request with the ID %s or %s: %s", first, second, log)
	}
}

// A panic gives the place back: before the reply has begun it is a 500, later the list breaks off.
func TestListPanics(t *testing.T) { onEngines(t, testListPanics) }

func testListPanics(t *testing.T, open opener) {
	s := openWithOrders(t, open, redistest.Start(t), 1, 5)
	all := s.cfg.Catalog
	one, err := catalog.Load(t.Context(), catalog.Config{Users: 20, Foods: 1, Stock: 10,
		RootPassword: "toor"})
	testkit.Must(t, err)
	s.do(func() { s.cfg.Catalog = one }) // the order is of a food that it does not have
	for range listsMax + 1 {
		s.expect(t, rootUser, "GET", "/admin/orders", "", 500, `{"code":"INTERNAL_ERROR","message":"内部错误"}`)
	}
	awaitNoLists(t, s)
	s.do(func() { s.cfg.Catalog = all })
	list := s.newList("", jsonList("log"), nil)
	list.text, list.of = nil, slog.String("request_id", "a1b2")
	log := testkit.CaptureLog(t)
	if n, err := list.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %d, %v", n, err)
	}
	if line := log.String(); !strings.Contains(line, `msg="a list for root failed" list=log `) ||
		!strings.HasSuffix(line, " request_id=a1b2\n") {
		t.Errorf("the log is %q", line)
	}
	list.Close()
	list.Close()
	awaitNoLists(t, s)
	s.expect(t, rootUser, "GET", "/admin/orders", "", 200,
		fmt.Sprintf(`[{"id":"%s-100","user_id":100,"items":[{"food_id":5,"count":1}],"total":%d}]`,
			s.cfg.Sale.ID(), s.price(5)))
}

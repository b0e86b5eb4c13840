package push

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	centrifugal "github.com/centrifugal/centrifuge"
	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

// ended is the code with which a client was disconnected.
func (s *running) ended(t *testing.T, cfg centrifuge.Config, protobuf bool) uint32 {
	t.Helper()
	make := centrifuge.NewJsonClient
	if protobuf {
		make = centrifuge.NewProtobufClient
	}
	c := make(s.url, cfg)
	defer c.Close()
	codes := (chan uint32)(nil)
	codes = newCodes()
	c.OnDisconnected(func(e centrifuge.DisconnectedEvent) { codes <- e.Code })
	c.OnError(func(e centrifuge.ErrorEvent) {
		if n := code(e.Error); n != 0 {
			codes <- n
		}
	})
	testkit.Must(t, c.Connect())
	select {
	case n := <-codes:
		return n
	case <-time.After(5 * time.Second):
		t.Fatal("the client was not refused")
		return 0
	}
}

func newCodes() chan uint32 { return make(chan uint32, 100) }

func TestTicketsAndProtocols(t *testing.T) {
	s, _ := one(t)
	late := string(keys.AppendTicket(nil, ann, 1, time.Now().Add(-time.Second)))
	access := string(keys.AppendAccess(nil, ann, 1, time.Now().Add(time.Hour)))
	for _, row := range []struct {
		name, token string
		protobuf    bool
		want        uint32
	}{
		{"forged", strings.Repeat("A", 32), false, 3500}, {"none", "", false, 3500},
		{"access token", access, false, 3500}, {"protobuf", ticket(ann), true, 3506},
	} {
		if got := s.ended(t, centrifuge.Config{Token: row.token}, row.protobuf); got != row.want {
			t.Errorf("%s: code %d, want %d", row.name, got, row.want)
		}
	}
	// The client of an expired ticket asks for another one and goes on.
	d := s.device(t, centrifuge.Config{Token: late,
		GetToken: func(centrifuge.ConnectionTokenEvent) (string, error) { return ticket(ann), nil }})
	d.online()
	own := &session{user: ann}
	if _, err := s.refresh(own, ticket(bob)); err == nil {
		t.Error("another user's ticket refreshes a connection")
	}
	if r, err := s.refresh(own, late); err != nil || !r.Expired {
		t.Errorf("refresh with an expired ticket: %+v, %v", r, err)
	}
	if r, err := s.refresh(own, ticket(ann)); err != nil || r.ExpireAt <= time.Now().Unix() {
		t.Errorf("refresh: %+v, %v", r, err)
	}
	// Delta is refused with an error of the protocol.
	sub, err := d.NewSubscription(threadPrefix+them,
		centrifuge.SubscriptionConfig{Delta: centrifuge.DeltaTypeFossil})
	testkit.Must(t, err)
	codes := newCodes()
	sub.OnUnsubscribed(func(e centrifuge.UnsubscribedEvent) { codes <- e.Code })
	testkit.Must(t, sub.Subscribe())
	if got := <-codes; got != 108 {
		t.Errorf("delta: code %d, want 108", got)
	}
}

// handshake is the reply to a websocket request.
func (s *running) handshake(t *testing.T, origin string) *http.Response {
	t.Helper()
	return s.handshakeVia(t, http.DefaultTransport, origin)
}

func (s *running) handshakeVia(t *testing.T, via http.RoundTripper, origin string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", strings.Replace(s.url, "ws", "http", 1), nil)
	testkit.Must(t, err)
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": origin} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	reply, err := via.RoundTrip(r)
	testkit.Must(t, err)
	reply.Body.Close()
	return reply
}

func TestOrigins(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	cfg.Origins, cfg.PagePort = []string{"https://shop.example"}, "8080"
	s := start(t, cfg)
	for origin, want := range map[string]int{
		"": 101, "http://127.0.0.1:8080": 101, "https://shop.example": 101, "https://SHOP.example": 101,
		"http://shop.example": 403, "http://127.0.0.1:9999": 403, "https://evil.example": 403, "null": 403,
	} {
		if got := s.handshake(t, origin).StatusCode; got != want {
			t.Errorf("origin %q: %d, want %d", origin, got, want)
		}
	}
}

// One network has three quarters of the handshakes of a second; the rest is for others.
func TestHandshakesAreAdmittedAtARate(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	clock := roomtest.NewClock(time.Now())
	cfg.Rate, cfg.Now = 4, clock.Now
	s := start(t, cfg)
	elsewhere := &http.Transport{DialContext: (&net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}
	for i, want := range []int{101, 101, 101, 503} {
		got := s.handshake(t, "")
		if got.StatusCode != want || want == 503 && got.Header.Get("Retry-After") != "1" {
			t.Errorf("handshake %d: %d, want %d", i, got.StatusCode, want)
		}
	}
	for i, want := range []int{101, 503} {
		if got := s.handshakeVia(t, elsewhere, "").StatusCode; got != want {
			t.Errorf("handshake %d from elsewhere: %d, want %d", i, got, want)
		}
	}
	clock.Add(time.Second)
	if got := s.handshake(t, "").StatusCode; got != 101 {
		t.Errorf("a second later: %d", got)
	}
}

// What opens no websocket takes no share of the rate: one connection could keep all others out.
func TestOtherRequestsTakeNoHandshake(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	clock := roomtest.NewClock(time.Now())
	cfg.Rate, cfg.Now = 1, clock.Now
	s := start(t, cfg)
	for range 3 {
		reply, err := http.Get(strings.Replace(s.url, "ws", "http", 1))
		testkit.Must(t, err)
		reply.Body.Close()
		if reply.StatusCode != 400 || !reply.Close {
			t.Errorf("no handshake: %d", reply.StatusCode)
		}
		other, err := http.Get(strings.Replace(strings.TrimSuffix(s.url, Path), "ws", "http", 1))
		testkit.Must(t, err)
		other.Body.Close()
		if other.StatusCode != 404 || !other.Close {
			t.Errorf("another path: %d", other.StatusCode)
		}
		if got := s.handshake(t, "https://evil.example").StatusCode; got != 403 {
			t.Errorf("another origin: %d", got)
		}
	}
	if got := s.handshake(t, "").StatusCode; got != 101 {
		t.Errorf("a handshake: %d", got)
	}
}

// A client that does not read is cut off; the others get everything.
func TestSlowClient(t *testing.T) {
	s, st := one(t)
	good := s.connect(t, bob)
	good.subscribe(club)
	silent(t, s, ann, club)
	content := strings.Repeat("x", 4000)
	count := 0
	testkit.Until(t, "the slow client is cut off", func() bool {
		for range 20 {
			st.write(t, club, content)
			count++
		}
		good.saw(fmt.Sprintf("%d %s", count, content))
		return s.cfg.Figures.PushDropped.Value() > 0
	})
}

func TestIdleClientIsSentToPolling(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	clock := roomtest.NewClock(time.Now())
	cfg.Idle, cfg.Now = time.Minute, clock.Now
	s := start(t, cfg)
	d := s.connect(t, ann)
	codes := newCodes()
	d.OnDisconnected(func(e centrifuge.DisconnectedEvent) { codes <- e.Code })
	clock.Add(time.Minute)
	_, err := d.History(t.Context(), threadPrefix+them)
	testkit.Must(t, err)
	clock.Add(time.Minute)
	s.closeIdle()
	if d.State() != centrifuge.StateConnected {
		t.Error("a client with activity was closed")
	}
	clock.Add(time.Second)
	s.closeIdle()
	if got := <-codes; got != disconnectIdle.Code || d.State() != centrifuge.StateDisconnected {
		t.Errorf("code %d, want %d; then %s", got, disconnectIdle.Code, d.State())
	}
}

// A logout everywhere ends the connections of the tickets before it, and those tickets.
func TestLogoutEndsConnections(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	var ended atomic.Int64 // Unix seconds of Ann's logout
	cfg.Ended = func(user, _ uint32, since time.Time) bool {
		return user == ann && since.Unix() <= ended.Load()
	}
	s := start(t, cfg)
	a, b := s.connect(t, ann), s.connect(t, bob)
	codes := newCodes()
	a.OnDisconnected(func(e centrifuge.DisconnectedEvent) { codes <- e.Code })
	ended.Store(time.Now().Unix() + 5) // the tickets below count as made before
	if got := <-codes; got != 3500 {
		t.Errorf("code %d, want 3500", got)
	}
	if got := s.ended(t, centrifuge.Config{Token: ticket(ann)}, false); got != 3500 {
		t.Errorf("a ticket of before: code %d, want 3500", got)
	}
	if b.State() != centrifuge.StateConnected {
		t.Error("another user was disconnected")
	}
}

// A logout ends the connections of its session, and its tickets, whenever they were made.
func TestLogoutEndsItsSession(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	var out atomic.Uint32 // the session that has ended
	cfg.Ended = func(user, session uint32, _ time.Time) bool { return user == ann && session == out.Load() }
	s := start(t, cfg)
	later := string(keys.AppendTicket(nil, ann, 2, time.Now().Add(TicketLife+time.Hour)))
	a, b := s.connect(t, ann), s.connect(t, bob)
	codes := newCodes()
	a.OnDisconnected(func(e centrifuge.DisconnectedEvent) { codes <- e.Code })
	out.Store(2)
	if got := s.ended(t, centrifuge.Config{Token: later}, false); got != 3500 {
		t.Errorf("a ticket of the session: code %d, want 3500", got)
	}
	if a.State() != centrifuge.StateConnected {
		t.Error("another session was disconnected")
	}
	out.Store(1)
	if got := <-codes; got != 3500 {
		t.Errorf("code %d, want 3500", got)
	}
	if b.State() != centrifuge.StateConnected {
		t.Error("another user was disconnected")
	}
}

// silent is a client that subscribes to a thread and then reads nothing.
func silent(t *testing.T, s *running, user uint32, thread string) {
	t.Helper()
	c := dial(t, s, user)
	testkit.Must(t, c.SetReadBuffer(4096))
	_, err := c.Write(frameOf(`{"id":2,"subscribe":{"channel":"` + threadPrefix + thread + `"}}`))
	testkit.Must(t, err)
	channel := threadPrefix + thread
	testkit.Until(t, "subscription", func() bool { return s.node.Hub().NumSubscribers(channel) > 1 })
}

// dial connects a client that does nothing, and takes no memory for it.
func dial(tb testing.TB, s *running, user uint32) *net.TCPConn {
	tb.Helper()
	c := open(tb, s)
	_, err := c.Write(frameOf(`{"id":1,"connect":{"token":"` + ticket(user) + `"}}`))
	testkit.Must(tb, err)
	return c
}

func handshakeOf(address string) string {
	return "GET " + Path + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: Upgrade\r\n" +
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
}

// frameOf is a text as a frame of a websocket.
func frameOf(text string) []byte {
	head := []byte{0x81, 0x80 | byte(min(len(text), 126))}
	switch {
	case len(text) > math.MaxUint16:
		head = binary.BigEndian.AppendUint64([]byte{0x81, 0x80 | 127}, uint64(len(text)))
	case len(text) >= 126:
		head = binary.BigEndian.AppendUint16(head, uint16(len(text)))
	}
	return append(append(head, 0, 0, 0, 0), text...) // the mask is 0
}

// A worker hears of a logout up to a second later, and may make a ticket in the next second for a token that
// has ended. Such a ticket is doubted: a client that may come back gets another one.
func TestTicketsOfTheNextSecondAreDoubted(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	var ended atomic.Int64 // Unix seconds of Ann's logout
	cfg.Ended = func(user, _ uint32, since time.Time) bool {
		return user == ann && since.Unix() <= ended.Load()
	}
	s := start(t, cfg)
	a, b := s.connect(t, ann), s.connect(t, ann)
	codes := newCodes()
	for _, d := range []*device{a, b} {
		d.OnDisconnected(func(e centrifuge.DisconnectedEvent) { codes <- e.Code })
		d.OnConnecting(func(e centrifuge.ConnectingEvent) { codes <- e.Code })
	}
	for _, c := range s.node.Hub().Connections() {
		sessionOf(c).shown.Store(&pass{user: ann, made: time.Now().Add(100 * time.Second)})
	}
	ended.Store(time.Now().Unix() + 99)
	for range 2 {
		if got := <-codes; got != 3005 { // expired
			t.Errorf("code %d, want 3005", got)
		}
	}
	made := time.Now().Truncate(time.Second)
	ended.Store(made.Unix() - 1)
	next := string(keys.AppendTicket(nil, ann, 1, made.Add(TicketLife)))
	if _, err := s.admit(next); err != centrifugal.ErrorTokenExpired {
		t.Errorf("a ticket of the next second: %v", err)
	}
	ended.Store(made.Unix() - 2)
	if _, err := s.admit(next); err != nil {
		t.Errorf("a ticket of two seconds later: %v", err)
	}
}

// A reply to history is short: it does not wait in the queue of the connection, so nothing else bounds it.
func TestHistoryIsBounded(t *testing.T) {
	s, st := one(t)
	for i := range historyMax + 20 {
		st.write(t, them, fmt.Sprint(i))
	}
	d := s.connect(t, ann)
	for _, limit := range []int32{-1, historyMax + 1} {
		found, err := d.History(t.Context(), threadPrefix+them, centrifuge.WithHistoryLimit(limit))
		testkit.Must(t, err)
		if len(found.Publications) != historyMax {
			t.Errorf("limit %d: %d messages", limit, len(found.Publications))
		}
	}
}

func TestHeartbeatsHaveAPace(t *testing.T) {
	s := &Server{cfg: Config{Heartbeat: func(uint32, []byte) ([]byte, error) { return []byte("{}"), nil }}}
	now, own := time.Now(), &session{user: ann}
	s.cfg.Now = func() time.Time { return now }
	for i := range beatsBurst + 2 {
		want := error(nil)
		if i >= beatsBurst {
			want = centrifugal.ErrorTooManyRequests
		}
		if _, err := s.call(own, centrifugal.RPCEvent{Method: presenceMethod}); err != want {
			t.Errorf("heartbeat %d: %v", i, err)
		}
	}
	now = now.Add(beatPace)
	if !own.beats.take(now, beatPace, beatsBurst) || own.beats.take(now, beatPace, beatsBurst) {
		t.Error("a second later: not one heartbeat")
	}
}

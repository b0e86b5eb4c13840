package events

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const (
	secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0LCBsb25nIGVub3VnaA=="
	sale      = "testsale"
)

// site is a receiver.
type site struct {
	*httptest.Server
	testing.TB
	mu     sync.Mutex
	answer func(order string, seq int) int // status; nil: 200
	got    []string                        // "order seq type" of what was taken
	tries  int
	ids    map[string]int
}

func newSite(t *testing.T) *site {
	s := &site{TB: t, ids: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for _, one := range []string{secret, newSecret} { // both sign while one replaces the other
		key, err := webhooks.NewWebhook(one)
		testkit.Must(s, err)
		if err := key.VerifyIgnoringTimestamp(body, r.Header); err != nil {
			s.Errorf("%v", err)
		}
	}
	var e struct {
		Type string
		Data struct {
			Order string `json:"order_id"`
			Seq   int
		}
	}
	testkit.Must(s, json.Unmarshal(body, &e))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	status := http.StatusOK
	if s.answer != nil {
		status = s.answer(e.Data.Order, e.Data.Seq)
	}
	if status == http.StatusOK {
		order := strings.TrimPrefix(e.Data.Order, sale+"-")
		s.got = append(s.got, fmt.Sprintf("%s %d %s", order, e.Data.Seq, e.Type))
		s.ids[r.Header.Get("webhook-id")]++
	}
	w.WriteHeader(status)
}

func (s *site) set(answer func(string, int) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// of returns what was taken of an order.
func (s *site) of(order string) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.got {
		if rest, found := strings.CutPrefix(text, order+" "); found {
			list = append(list, rest)
		}
	}
	return list
}

// stand delivers to a site, with a clock that the test moves.
type stand struct {
	*testing.T
	cfg    Config
	redis  redisx.Config
	server *redistest.Server
	mu     sync.Mutex
	now    time.Time
	counts [3]int // by outcome
}

func (d *stand) count(_ string, o Outcome, events int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[o] += events
}

func newStand(t *testing.T, s *site, types ...string) *stand {
	server := redistest.Start(t)
	d := &stand{T: t, server: server, now: time.Now()}
	d.redis = redisx.Config{Config: pipeline.Config{Network: "unix", Address: server.Socket,
		Timeout: testkit.Patience}}
	d.cfg = Config{Server: "a", Private: true, Look: time.Millisecond, Now: d.clock, Count: d.count,
		Receivers: []Receiver{{"shop", s.URL, []string{newSecret, secret}, types}}}
	return d
}

func (d *stand) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *stand) pass(t time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(t)
}

// deliver delivers until the end of the test, or until stop is called.
func (d *stand) deliver() (stop func()) {
	d.Helper()
	streams := d.streams()
	e, err := NewSender(streams, d.cfg)
	testkit.Must(d, err)
	return testkit.Background(d, e.Run)
}

// streams are the connected streams.
func (d *stand) streams() *Streams {
	d.Helper()
	s := Join(d.redis, sale)
	testkit.Background(d, s.Run)
	testkit.Until(d, "a connection", s.Up)
	return s
}

func (d *stand) raw(receiver any, words ...string) {
	d.Helper()
	redistest.Command(d, "unix", d.server.Socket, receiver, words...)
}

// tell adds events of users' first orders.
func (d *stand) tell(seq int, what string, users ...int) {
	for _, user := range users {
		d.raw(nil, "XADD", "events_"+sale, "*", "user", fmt.Sprint(user), "number", "0", "seq", fmt.Sprint(seq),
			"what", what, "items", "1:2,", "reason", "expired")
	}
}

// One order whose events fail does not hold up the others, and keeps its own order.
func TestOrderIsKept(t *testing.T) {
	s := newSite(t)
	s.set(func(order string, _ int) int {
		if order == sale+"-2" {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	d := newStand(t, s)
	d.tell(1, "held", 2, 3)
	d.deliver()
	testkit.Until(t, "the other order", func() bool { return len(s.of("3")) == 1 })
	d.tell(2, "paying", 2, 3)
	d.tell(3, "paid", 2, 3)
	testkit.Until(t, "the other order again", func() bool { return len(s.of("3")) == 3 })
	s.set(nil)
	d.pass(time.Hour)
	testkit.Until(t, "the order that failed", func() bool { return len(s.of("2")) == 3 })
	want := []string{"1 order.held", "2 order.paying", "3 order.paid"}
	if got := s.of("2"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	for id, times := range s.ids {
		if times != 1 {
			t.Errorf("%s came %d times", id, times)
		}
	}
}

// A receiver that was away gets all, also by the server that goes on.
func TestReceiverWasAway(t *testing.T) {
	s := newSite(t)
	s.set(func(string, int) int { return http.StatusServiceUnavailable })
	d := newStand(t, s)
	users := make([]int, 500)
	for i := range users {
		users[i] = i + 1
	}
	d.tell(1, "held", users...)
	d.deliver()
	testkit.Until(t, "tries", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tries > inFlight })
	d.tell(2, "released", users...)
	s.set(nil)
	testkit.Until(t, "all events", func() bool {
		d.pass(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.ids) == 2*len(users)
	})
	for _, user := range users {
		got := s.of(fmt.Sprint(user))
		if !slices.IsSorted(got) {
			t.Errorf("order %d: %v", user, got)
		}
	}
}

// A receiver that answers 410 gets nothing more, and one that wants some types gets only these.
func TestGoneAndFilter(t *testing.T) {
	s := newSite(t)
	d := newStand(t, s, "order.paid", "stock.")
	d.tell(1, "held", 2)
	d.tell(2, "paid", 2)
	d.raw(nil, "XADD", "log_"+sale, "*", "by", "root", "what", "stock", "food", "1", "add", "5",
		"before", "1", "after", "6")
	d.deliver()
	testkit.Until(t, "the two wanted", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.got) == 2 })
	if got := s.of("2"); !slices.Equal(got, []string{"2 order.paid"}) {
		t.Errorf("got %v", got)
	}
	s.set(func(string, int) int { return http.StatusGone })
	d.tell(3, "paid", 2)
	testkit.Until(t, "off", func() bool {
		var off string
		d.raw(&off, "HGET", "events_"+sale+":to:shop", "off")
		return off != ""
	})
}

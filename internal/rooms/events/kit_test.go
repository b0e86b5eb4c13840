package events

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	header http.Header                     // of each answer
	got    []string                        // "order seq type" of what was taken
	tries  int
	ids    map[string]int
}

func newSite(t testing.TB) *site {
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
	for name, values := range s.header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
}

func (s *site) set(answer func(string, int) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// tried is how many posts have come.
func (s *site) tried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries
}

// seen is how many events were taken.
func (s *site) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

func always(status int) func(string, int) int { return func(string, int) int { return status } }

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
	testing.TB
	cfg    Config
	redis  redisx.Config
	server *redistest.Server
	mu     sync.Mutex
	now    time.Time
	counts [3]int // by outcome
	look   *Webhooks
}

func (d *stand) count(_ string, o Outcome, events int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[o] += events
}

func (d *stand) counted() [3]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

func newStand(t testing.TB, s *site, types ...string) *stand {
	server := redistest.Start(t)
	d := &stand{TB: t, server: server, now: time.Now()}
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

// redisFill adds an event of each of the first orders.
func redisFill(tb testing.TB, d *stand, seq, orders int) {
	tb.Helper()
	d.raw(nil, "EVAL", "for user = 2, ARGV[1] + 1 do "+
		"redis.call('XADD', KEYS[1], '*', 'user', user, 'number', 0, 'seq', ARGV[2], 'what', 'held', "+
		"'items', '1:2,', 'till', '1764061200000') end", "1", "events_"+sale,
		fmt.Sprint(orders), fmt.Sprint(seq))
}

// state is how the receiver does.
func (d *stand) state() State {
	d.Helper()
	if d.look == nil {
		d.look = NewWebhooks(d.streams(), d.cfg.Receivers, true)
	}
	list, err := d.look.List()
	testkit.Must(d, err)
	return list[0]
}

// eventID is the id of the event in a dead letter.
func eventID(tb testing.TB, text []byte) string {
	tb.Helper()
	var l struct{ Event struct{ ID string } }
	testkit.Must(tb, json.Unmarshal(text, &l))
	return l.Event.ID
}

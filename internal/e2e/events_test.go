package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// told is an event.
type told struct {
	ID   string
	Type string
	Data struct {
		Order string `json:"order_id"`
		Seq   int
	}
}

// hook is a receiver of events. It refuses some.
type hook struct {
	*httptest.Server
	mu      sync.Mutex
	refuses int
	ids     map[string]int // how often each has come
	seqs    map[string]int // of each order, the last one that was new
	faults  []string
}

func newHook(t *testing.T, refuses int) *hook {
	h := &hook{refuses: refuses, ids: map[string]int{}, seqs: map[string]int{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuses > 0 {
		h.refuses--
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	body, err := io.ReadAll(r.Body)
	key, err2 := webhooks.NewWebhook(hookSecret)
	var e told
	if err == nil && err2 == nil {
		if err = key.Verify(body, r.Header); err == nil {
			err = json.Unmarshal(body, &e)
		}
	}
	if err != nil || err2 != nil || e.ID != r.Header.Get("webhook-id") {
		h.faults = append(h.faults, fmt.Sprintf("%s: %v, %v", e.ID, err, err2))
	}
	if h.ids[e.ID]++; h.ids[e.ID] > 1 || e.Data.Order == "" {
		return
	}
	if h.seqs[e.Data.Order]++; h.seqs[e.Data.Order] != e.Data.Seq {
		h.faults = append(h.faults, fmt.Sprintf("event %d of order %s comes as number %d",
			e.Data.Seq, e.Data.Order, h.seqs[e.Data.Order]))
	}
}

func (h *hook) has() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ids)
}

// Each event reaches a receiver at least once, those of an order in order, also when the receiver fails and
// the server is killed meanwhile. A program reads the same events. A file of receivers with a fault changes
// nothing.
func TestEvents(t *testing.T) {
	t.Parallel()
	h := newHook(t, 3)
	file := filepath.Join(t.TempDir(), "hooks.csv")
	good := "name,url,secrets,events\nshop," + h.URL + "," + hookSecret + ",\n"
	testkit.Must(t, os.WriteFile(file, []byte(good), 0o600))
	redis := redistest.New(t).Socket
	c := setup{args: []string{"-redis", redis, "-workers", "2", "-hold", "30m", "-webhooks", file,
		"-webhooks-private"}}
	s := c.serve(t)
	buy := func(first, last int) {
		t.Helper()
		for user := first; user <= last; user++ {
			one := s.client(t)
			id, err := one.Buy(user, item(1, 1))
			testkit.Must(t, err)
			if user%2 == 0 {
				testkit.Must(t, one.Call("DELETE", "/orders/"+id, "", nil))
			}
			one.HangUp()
		}
	}
	buy(2, 21) // 30 events, and that of the opening
	workers := s.Workers()
	kill(t, s.Pid())
	s.ExitCode(t)
	awaitEnd(t, workers...)
	c.data = s.Data
	s = c.serve(t)
	buy(22, 31)
	testkit.Until(t, "46 events", func() bool { return h.has() >= 46 })

	root, next, read := s.root(t), "", map[string]bool{}
	for more := true; more; {
		var page struct {
			Events []told
			Next   string
		}
		testkit.Must(t, root.Call("GET", "/events?limit=7&after="+next, "", &page))
		for _, e := range page.Events {
			read[e.ID] = true
			if h.ids[e.ID] == 0 {
				t.Errorf("%s %s did not reach the webhook", e.Type, e.ID)
			}
		}
		next, more = page.Next, len(page.Events) > 0
	}
	if len(read) != 46 || len(h.faults) > 0 {
		t.Errorf("%d events were read, want 46; faults of the webhook: %q", len(read), h.faults)
	}

	testkit.Must(t, os.WriteFile(file, []byte(good+"shop,x,y,z\n"), 0o600))
	s.Send(t, syscall.SIGHUP)
	testkit.Until(t, "a reload that fails", func() bool {
		return s.Logged(t, "webhooks_read=false") == 1 && s.Logged(t, "what=webhooks error=") == 1
	})
	buy(32, 32)
	testkit.Until(t, "two more events", func() bool { return h.has() == 48 })
	code, out, text := run(t, module, nil, "sale", "events", "-redis", redis)
	if lines := strings.Count(out, "\n"); code != 0 || lines != 48 || !strings.HasPrefix(text, "next: ") {
		t.Errorf("flashsale sale events prints %d lines, want 48: code %d, %s", lines, code, text)
	}
}

// Orders that are final at once are events too, from the start of a server with webhooks.
func TestFinalOrdersAreEvents(t *testing.T) {
	t.Parallel()
	h := newHook(t, 0)
	file := filepath.Join(t.TempDir(), "hooks.csv")
	testkit.Must(t, os.WriteFile(file, []byte("name,url,secrets,events\nshop,"+h.URL+","+hookSecret+
		",order.placed\n"), 0o600))
	s := setup{args: []string{"-workers", "2", "-webhooks", file, "-webhooks-private"}}.serve(t)
	id, err := s.client(t).Buy(2, item(1, 2))
	testkit.Must(t, err)
	testkit.Until(t, "the event of the order", func() bool { return h.has() == 1 })
	var page struct {
		Events []struct {
			ID, Type string
			Data     json.RawMessage
		}
	}
	testkit.Must(t, s.root(t).Call("GET", "/events", "", &page))
	sale, _, _ := strings.Cut(id, "-")
	want := fmt.Sprintf(`{"items":[{"count":2,"food_id":1}],"order_id":%q,"sale":%q,"seq":1,"user_id":2}`,
		id, sale)
	last := page.Events[len(page.Events)-1]
	if last.Type != "order.placed" || string(last.Data) != want || h.ids[last.ID] != 1 {
		t.Errorf("event %s %s %s, want %s; it has come %d times", last.ID, last.Type, last.Data, want,
			h.ids[last.ID])
	}
}

package push

import (
	"encoding/json"
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
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// shop is a hook that checks signatures and keeps what it takes.
type shop struct {
	*httptest.Server
	mu     sync.Mutex
	status int // of its replies
	tries  int
	took   []string
}

func newShop(tb testing.TB) *shop {
	key, err := webhooks.NewWebhook(hookSecret)
	testkit.Must(tb, err)
	h := &shop{status: 204}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.tries++; err != nil || key.Verify(body, r.Header) != nil {
			tb.Errorf("a post without a valid signature: %s", body)
		}
		w.WriteHeader(h.status)
		var event struct {
			Data struct {
				Message shownMessage
				Users   []uint32
			}
		}
		if h.status == 204 && json.Unmarshal(body, &event) == nil {
			for _, user := range event.Data.Users {
				h.took = append(h.took, userName(user)+" "+event.Data.Message.Content)
			}
		}
	}))
	tb.Cleanup(h.Close)
	return h
}

func (h *shop) saw() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.took)
}

func (h *shop) answer(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = status
}

// hurry lets the hook judge at once.
func hurry(tb testing.TB) {
	before := judgeAfter
	judgeAfter = 10 * time.Millisecond
	tb.Cleanup(func() { judgeAfter = before })
}

// Who is not connected gets a post, also after a hook that was away and a server that ended; who is
// connected, has muted the thread or wrote the message gets none.
func TestHookForOfflineUsers(t *testing.T) {
	hurry(t)
	h, st := newShop(t), newStore()
	st.threads[club].members = map[uint32]bool{ann: false, bob: false, 20: false, 21: true}
	cfg := config(st, roomtest.Redis(t))
	cfg.OfflineURL, cfg.OfflineSecret = h.URL, hookSecret
	s, stop := startHook(t, cfg)
	s.registry.beat()
	s.registry.came(ann)
	testkit.Until(t, "the registry", func() bool {
		found, err := s.registry.online([]uint32{ann})
		return err == nil && found[ann]
	})
	st.write(t, club, "one")
	testkit.Until(t, "the post", func() bool { return slices.Equal(h.saw(), []string{"20 one"}) })

	h.answer(500)
	st.write(t, club, "two")
	testkit.Until(t, "a failed post", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.tries > 1
	})
	stop()
	testkit.Must(t, s.Drain(time.Now()))
	st.write(t, club, "three")
	h.answer(204)
	roomtest.Ask[string](t, conn(t, cfg), "DEL", partKey(0, "hook")) // the lease ends
	start(t, cfg)
	testkit.Until(t, "the other posts", func() bool {
		saw := h.saw()
		return slices.Contains(saw, "20 two") && slices.Contains(saw, "20 three")
	})
	for _, post := range h.saw() {
		if strings.HasPrefix(post, "21 ") || strings.HasPrefix(post, "9 ") {
			t.Errorf("a post that should not be: %s", post)
		}
	}
}

// startHook runs a server until it has the lease of the hook.
func startHook(t *testing.T, cfg Config) (s *Server, stop func()) {
	t.Helper()
	s, err := New(cfg)
	testkit.Must(t, err)
	stop = testkit.Background(t, s.Run)
	testkit.Until(t, "the log is followed", s.Following)
	testkit.Until(t, "the lease", func() bool {
		redis := s.registry.redis.Part(0)
		return redis.Up() && roomtest.Ask[int](t, redis, "EXISTS", partKey(pipeline.Parts-1, "seen")) == 1
	})
	return s, stop
}

// A hook that is away for too long gets the newest messages; the others, and lines of the log that were not
// seen, are counted.
func TestFullQueueOfTheHook(t *testing.T) {
	hurry(t)
	before := queueMost
	queueMost = 2
	t.Cleanup(func() { queueMost = before })
	h, st := newShop(t), newStore()
	h.answer(500)
	st.threads[club].members = map[uint32]bool{bob: false, 20: false}
	cfg := config(st, roomtest.Redis(t))
	cfg.OfflineURL, cfg.OfflineSecret = h.URL, hookSecret
	s, _ := startHook(t, cfg)
	t.Cleanup(func() { testkit.Must(t, s.Drain(time.Now())) })
	st.write(t, club, "1", "2", "3", "4", "5")
	st.change(func() { st.log(Entry{What: Missed, Thread: club}) })
	lost := &s.cfg.Figures.PushHooksLost
	testkit.Until(t, "the count of what is lost", func() bool { return lost.Value() == 4 })
	h.answer(204)
	testkit.Until(t, "the newest messages", func() bool {
		return slices.Contains(h.saw(), "20 4") && slices.Contains(h.saw(), "20 5")
	})
}

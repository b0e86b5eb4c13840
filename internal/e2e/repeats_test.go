package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
)

// botArgs are the flags of a server with a VK bot; its secrets are in botEnv.
func botArgs(api string) []string {
	return []string{"-repeats", "-vk-confirmation", "a1b2c3d4", "-vk-api", api, "-workers", "2"}
}

var botEnv = []string{"VK_SECRET=key", "VK_TOKEN=group token"}

// vkAPI is VK's API: it takes messages.send where it is up.
type vkAPI struct {
	*httptest.Server
	mu   sync.Mutex
	up   bool
	sent map[string]string // message by peer and random_id
	got  int               // calls
}

func newVKAPI(t *testing.T) *vkAPI {
	vk := &vkAPI{sent: map[string]string{}}
	vk.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		vk.mu.Lock()
		defer vk.mu.Unlock()
		vk.got++
		if !vk.up || r.PostFormValue("access_token") != "group token" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		vk.sent[r.PostFormValue("peer_id")+" "+r.PostFormValue("random_id")] = r.PostFormValue("message")
		fmt.Fprint(w, `{"response":1}`)
	}))
	t.Cleanup(vk.Close)
	return vk
}

func (vk *vkAPI) calls() int {
	vk.mu.Lock()
	defer vk.mu.Unlock()
	return vk.got
}

func (vk *vkAPI) takes() {
	vk.mu.Lock()
	defer vk.mu.Unlock()
	vk.up = true
}

// messages are the texts that peers got, each reply once however often it was sent.
func (vk *vkAPI) messages() map[string][]string {
	vk.mu.Lock()
	defer vk.mu.Unlock()
	byPeer := map[string][]string{}
	for id, text := range vk.sent {
		peer, _, _ := strings.Cut(id, " ")
		byPeer[peer] = append(byPeer[peer], text)
	}
	return byPeer
}

// What was answered "ok" survives kill -9 of the whole server, its own Redis included.
func TestRepliesSurviveAKill(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	vk := newVKAPI(t)
	bot := setup{env: botEnv, args: botArgs(vk.URL)}
	s := bot.serve(t)
	c := s.client(t)
	const messages = 20
	event := func(i int) string {
		return fmt.Sprintf(`{"type":"message_new","event_id":"e%d","secret":"key",`+
			`"object":{"message":{"peer_id":%d,"text":"hi"}}}`, i, 100+i)
	}
	for i := range messages {
		if r, err := c.Do("POST", "/vk/callback", event(i)); err != nil || r.Status != 200 || r.Body != "ok" {
			t.Fatalf("message %d: %+v, %v", i, r, err)
		}
	}
	testkit.Until(t, "attempts to send", func() bool { return vk.calls() > 2 })
	s.Kill()
	vk.takes()
	bot.data = s.Data
	s = bot.serve(t)
	c = s.client(t)
	if r, err := c.Do("POST", "/vk/callback", event(0)); err != nil || r.Body != "ok" { // VK repeats one
		t.Errorf("%+v, %v", r, err)
	}
	testkit.Until(t, "replies to all peers", func() bool { return len(vk.messages()) == messages })
	for i := range messages {
		if got := vk.messages()[fmt.Sprint(100+i)]; len(got) != 1 || got[0] != fmt.Sprint(i) {
			t.Errorf("peer %d got %q, want the count %d once", 100+i, got, i)
		}
	}
}

// A bot without its secrets is refused at the start.
func TestBotWithoutSecrets(t *testing.T) {
	t.Parallel()
	s := setup{args: botArgs("http://127.0.0.1:1")}.launch(t)
	const line = "-vk-confirmation (VK_CONFIRMATION) is set without"
	if code := s.ExitCode(t); code == 0 || s.Logged(t, line) != 1 {
		t.Errorf("exit code %d", code)
	}
}

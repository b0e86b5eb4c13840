package repeats

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// fakeVK is VK's API as far as messages.send goes.
type fakeVK struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string      // of the next calls; then each is taken
	forms   []string      // of all calls: "peer message random_id"
	times   []time.Time   // of all calls
	hold    chan struct{} // unless nil, calls wait for it
}

const taken = `{"response":1}`

func newFakeVK(t *testing.T) *fakeVK {
	vk := &fakeVK{}
	vk.Server = httptest.NewServer(http.HandlerFunc(vk.serve))
	t.Cleanup(vk.Close)
	return vk
}

func (vk *fakeVK) serve(w http.ResponseWriter, r *http.Request) {
	vk.mu.Lock()
	answer, hold := taken, vk.hold
	if len(vk.answers) > 0 {
		answer, vk.answers = vk.answers[0], vk.answers[1:]
	}
	token, version := r.PostFormValue("access_token"), r.PostFormValue("v")
	right := r.Method == "POST" && r.URL.Path == "/method/messages.send" && version == "5.199"
	switch {
	case token == "revoked":
		answer = `{"error":{"error_code":5,"error_msg":"User authorization failed: invalid access_token (4)."}}`
	case !right || token != "group token":
		answer = `{"error":{"error_code":3,"error_msg":"not a call of the bot"}}`
	}
	vk.forms = append(vk.forms, fmt.Sprint(r.PostFormValue("peer_id"), " ", r.PostFormValue("message"), " ",
		r.PostFormValue("random_id")))
	vk.times = append(vk.times, time.Now())
	vk.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if status, err := strconv.Atoi(answer); err == nil {
		w.Header().Set("Location", vk.URL+"/elsewhere")
		w.WriteHeader(status)
	}
	fmt.Fprint(w, answer)
}

// seen returns what was sent, and the random ids apart.
func (vk *fakeVK) seen() (messages, ids []string) {
	vk.mu.Lock()
	defer vk.mu.Unlock()
	for _, form := range vk.forms {
		i := strings.LastIndexByte(form, ' ')
		messages, ids = append(messages, form[:i]), append(ids, form[i+1:])
	}
	return messages, ids
}

func (vk *fakeVK) await(t *testing.T, calls int) {
	t.Helper()
	testkit.Until(t, fmt.Sprint(calls, " calls of VK"), func() bool {
		messages, _ := vk.seen()
		return len(messages) >= calls
	})
}

func (vk *fakeVK) settings() VK {
	return VK{Groups: []Group{{Token: "group token"}}, API: vk.URL + "/"}
}

func TestAnswersOfVK(t *testing.T) {
	vk := newFakeVK(t)
	client := newVKClient(vk.settings())
	for answer, want := range map[string]string{
		taken:                  "<nil>",
		`{"response":{"x":1}}`: "<nil>",
		"500":                  "VK answers with status 500 Internal Server Error",
		"302":                  "VK answers with status 302 Found",
		"307":                  "VK answers with status 307 Temporary Redirect",
		"<html>": "cannot read the answer of VK: " +
			"invalid character '<' looking for beginning of value",
		`{}`: "the answer of VK has neither response nor error",
		`{"error":{"error_code":10,"error_msg":"Internal"}}`: `VK answers with error 10: "Internal"`,
	} {
		vk.answers = []string{answer}
		if err := client.send(context.Background(), "group token", 1, 1, "x"); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
	if messages, _ := vk.seen(); len(messages) != 8 {
		t.Errorf("%d calls: the token follows a redirect", len(messages))
	}
	for code, want := range map[int]bool{1: false, 5: false, 6: false, 9: false, 10: false, 14: false,
		7: true, 100: true, 901: true, 918: true, 936: true, 983: true} {
		if got := (&refusal{Code: code}).final(); got != want {
			t.Errorf("error %d: final %v, want %v", code, got, want)
		}
	}
}

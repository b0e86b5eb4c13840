package webhook

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// A receiver cannot fill the memory with a header. An error does not name the URL, which may have a secret.
func TestFailedPosts(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			w.Header().Set("Long", strings.Repeat("x", headerMax))
			return
		}
		panic(http.ErrAbortHandler)
	}))
	defer site.Close()
	for path, want := range map[string]string{"/long": "exceeded", "/secret?token=hush": "EOF"} {
		h, err := New(site.URL+path, true, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		testkit.Must(t, err)
		err = h.Post(t.Context(), "1", time.Now(), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error with %q and without the URL", path, err, want)
		}
	}
}

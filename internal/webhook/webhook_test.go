package webhook

import (
	"encoding/base64"
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

// Secrets that Standard Webhooks does not want sign nothing, with or without their mark.
func TestSecrets(t *testing.T) {
	sized := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	const want = "a secret is not whsec_ and the base64 of 24 to 64 bytes; to make one: " +
		"echo whsec_$(openssl rand -base64 24)"
	for secret, good := range map[string]bool{
		"": false, "whsec_": false, "whsec_no base64": false, "whsec_" + sized(23): false, sized(23): false,
		"whsec_" + sized(24): true, "whsec_" + sized(64): true, sized(24): true, "whsec_" + sized(65): false,
	} {
		_, err := New("http://localhost", true, sized(32), secret)
		if good && err != nil || !good && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

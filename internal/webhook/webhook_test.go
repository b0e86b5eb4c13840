package webhook

import (
	"encoding/base64"
	"testing"
)

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

package tokens

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// Equal secrets have equal fingerprints, others have others, and none shows the secret or the key that
// signs tokens.
func TestFingerprint(t *testing.T) {
	secrets := []string{strings.Repeat("s", SecretMin), strings.Repeat("s", SecretMin+1), "S" +
		strings.Repeat("s", SecretMin-1)}
	names, keys := map[string]string{}, map[string]string{}
	for _, secret := range secrets {
		name, key, err := Fingerprint([]byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		again, keyAgain, err := Fingerprint([]byte(secret))
		if err != nil || again != name || !bytes.Equal(keyAgain, key) {
			t.Errorf("%s: fingerprint %s, then %s, %v", secret, name, again, err)
		}
		raw, err := hex.DecodeString(name)
		if err != nil || len(raw) != fingerprintBytes || len(key) != 32 {
			t.Errorf("%s: name %q, %v, key of %d bytes", secret, name, err, len(key))
		}
		if bytes.Contains(key, raw) || strings.Contains(name, secret) {
			t.Errorf("%s: the name %s tells more than a name", secret, name)
		}
		names[name], keys[string(key)] = secret, secret
	}
	if len(names) != len(secrets) || len(keys) != len(secrets) {
		t.Errorf("%d names and %d keys of %d secrets", len(names), len(keys), len(secrets))
	}
}

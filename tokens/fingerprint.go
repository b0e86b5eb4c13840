package tokens

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

const fingerprintBytes = 8 // enough to tell secrets apart, too few to attack the secret

// Fingerprint returns a name of the secret, 16 hex digits, and a key for the fingerprints of other facts
// that servers with this secret must agree on. Servers may compare both; neither reveals the secret or the
// key that signs tokens.
func Fingerprint(secret []byte) (name string, key []byte, err error) {
	short, err := hkdf.Key(sha256.New, secret, nil, "flashsale fingerprint", fingerprintBytes)
	if err == nil {
		key, err = hkdf.Key(sha256.New, secret, nil, "flashsale fingerprint key", sha256.Size)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cannot make a fingerprint of the token secret: %w", err)
	}
	return hex.EncodeToString(short), key, nil
}

package tokens

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

const fingerprintBytes = 8 // tells secrets apart; too few to be of use for anything else

// Fingerprint returns a name of the secret, 16 hex digits, and a key for the fingerprints of what servers
// with this secret must agree on. The two may be compared with those of other servers; neither tells the
// secret, nor what a token is signed with.
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

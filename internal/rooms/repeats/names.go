package repeats

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"

	"golang.org/x/text/unicode/norm"
)

const nameBytes = 16

// names makes the names of texts and events in Redis: HMAC-SHA256, cut to 128 bits. Without the secret
// the store alone does not show whether a text was sent.
type names struct {
	texts, events []byte // keys
}

func newNames(secret []byte) (*names, error) {
	texts, err := hkdf.Key(sha256.New, secret, nil, "flashsale repeats: texts", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("cannot derive the key of texts: %w", err)
	}
	events, err := hkdf.Key(sha256.New, secret, nil, "flashsale repeats: events", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("cannot derive the key of events: %w", err)
	}
	return &names{texts, events}, nil
}

// text names a text by its NFC form: "é" as one character or as two is the same text.
func (n *names) text(text string) string { return name(n.texts, norm.NFC.String(text)) }

func (n *names) event(group int64, event string) string {
	return name(n.events, strconv.FormatInt(group, 10)+" "+event)
}

func name(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:nameBytes])
}

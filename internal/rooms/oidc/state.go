package oidc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// A state has these bytes, in base64url. Nobody but the servers of the sale can make one.
const (
	endBytes     = 4                          // the Unix second in which the login is over
	payloadBytes = endBytes + sha256.Size     // and the challenge
	stateBytes   = payloadBytes + sha256.Size // and a MAC of both
)

var encoding = base64.RawURLEncoding.Strict()

// newState begins a login.
func (o *OIDC) newState(challenge string) (string, error) {
	hash, err := encoding.DecodeString(challenge)
	if err != nil || len(hash) != sha256.Size {
		return "", ErrBadChallenge
	}
	payload := binary.BigEndian.AppendUint32(nil, uint32(o.cfg.Now().Add(loginMax).Unix()))
	payload = append(payload, hash...)
	return encoding.EncodeToString(append(payload, o.mac("state", payload)...)), nil
}

// checkState refuses a state that is over, or was not made for this verifier.
func (o *OIDC) checkState(state, verifier string) error {
	raw, err := encoding.DecodeString(state)
	if err != nil || len(raw) != stateBytes ||
		!hmac.Equal(raw[payloadBytes:], o.mac("state", raw[:payloadBytes])) {
		return fmt.Errorf("%w: no server of this sale has made the state", ErrRefused)
	}
	if o.cfg.Now().Unix() >= int64(binary.BigEndian.Uint32(raw)) {
		return fmt.Errorf("%w: it took longer than %v", ErrRefused, loginMax)
	}
	if sum := sha256.Sum256([]byte(verifier)); !hmac.Equal(sum[:], raw[endBytes:payloadBytes]) {
		return fmt.Errorf("%w: another page has begun it", ErrRefused)
	}
	return nil
}

// nonce is what the token of a login must have. It follows from the state.
func (o *OIDC) nonce(state string) string {
	return encoding.EncodeToString(o.mac("nonce", []byte(state)))
}

func (o *OIDC) mac(purpose string, text []byte) []byte {
	h := hmac.New(sha256.New, o.key)
	h.Write(append([]byte(purpose+"\n"), text...))
	return h.Sum(nil)
}

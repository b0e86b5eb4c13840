// Package tokens mints and checks the strings that a client carries: access tokens of users and of
// operators, tickets of the push service and cart IDs. All are 24 bytes in base64url (32 characters); the
// last 12 are an AES-CMAC, so any server with the secret can check them without Redis and without
// allocating. The package is pure: no I/O, no clock.
package tokens

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

const (
	// SecretMin is the length in bytes of the shortest secret that New accepts.
	SecretMin = 32
	// Length is the length in characters of an access token, a ticket and a cart ID.
	Length = 32
	// CartNameLength is the length in characters of the cart's name in a cart ID.
	CartNameLength = 16

	// Bytes of a token before base64: a multiple of 3, so no two texts decode to the same bytes.
	rawLength = 24
	payload   = 12 // user id, expiry, session; of a cart: user id, nonce. The MAC follows (96 bits)
)

// The first byte of the signed message, so that no kind of string ever passes for another.
const (
	kindAccess   = 'a'
	kindOperator = 'o'
	kindCart     = 'c'
	kindTicket   = 'p' // of the push service
)

// Keys signs with the current secret and accepts signatures of the current and of previous secrets.
// It is immutable and safe for concurrent use.
type Keys struct {
	current  secretKeys
	previous []secretKeys
}

// secretKeys are the keys derived from one secret.
type secretKeys struct{ access, cart key }

// of returns the key of a kind. Carts have their own, because it is of one sale.
func (k *secretKeys) of(kind byte) *key {
	if kind == kindCart {
		return &k.cart
	}
	return &k.access
}

// New makes Keys of the current secret and of previous secrets, which are only accepted. Each must have at
// least SecretMin bytes. A cart ID is valid only in the sale that minted it; access tokens are valid in all
// sales.
func New(sale string, secret []byte, previous ...[]byte) (*Keys, error) {
	k := &Keys{}
	for i, s := range append([][]byte{secret}, previous...) {
		if len(s) < SecretMin {
			return nil, fmt.Errorf("token secret has %d bytes; at least %d are needed", len(s), SecretMin)
		}
		made, err := newSecretKeys(sale, s)
		if err != nil {
			return nil, fmt.Errorf("cannot make a key of the token secret: %w", err)
		}
		if i == 0 {
			k.current = made
		} else {
			k.previous = append(k.previous, made)
		}
	}
	return k, nil
}

// AppendAccess appends an access token of the user, valid before expires (whole seconds, until the year
// 2106). The session, a random number, tells logins apart.
func (k *Keys) AppendAccess(dst []byte, user, session uint32, expires time.Time) []byte {
	return k.appendUntil(dst, kindAccess, user, session, expires)
}

// AppendOperator appends an access token of the operator with this number, like one of a user.
func (k *Keys) AppendOperator(dst []byte, number, session uint32, expires time.Time) []byte {
	return k.appendUntil(dst, kindOperator, number, session, expires)
}

// AppendTicket appends a ticket for the push service. It has the session of the access token that asks for
// it.
func (k *Keys) AppendTicket(dst []byte, user, session uint32, expires time.Time) []byte {
	return k.appendUntil(dst, kindTicket, user, session, expires)
}

func (k *Keys) appendUntil(dst []byte, kind byte, user, session uint32, expires time.Time) []byte {
	var raw [rawLength]byte
	binary.BigEndian.PutUint32(raw[0:], user)
	binary.BigEndian.PutUint32(raw[4:], uint32(expires.Unix()))
	binary.BigEndian.PutUint32(raw[8:], session)
	return k.current.of(kind).appendSigned(dst, kind, &raw)
}

// Access returns the user and the session of an access token, and when it expires, in Unix seconds; false if
// the token has expired at now, or was not minted under one of the secrets.
func (k *Keys) Access(token []byte, now time.Time) (user, session uint32, expires int64, ok bool) {
	return k.until(token, kindAccess, now.Unix())
}

// Operator does the same for an access token of an operator.
func (k *Keys) Operator(token []byte, now time.Time) (number, session uint32, expires int64, ok bool) {
	return k.until(token, kindOperator, now.Unix())
}

// Ticket does the same for a ticket, but ok is true also when it has expired.
func (k *Keys) Ticket(ticket []byte) (user, session uint32, expires int64, ok bool) {
	return k.until(ticket, kindTicket, never)
}

const never = -1 // before all tokens expire

func (k *Keys) until(token []byte, kind byte, now int64) (user, session uint32, expires int64, ok bool) {
	var raw [rawLength]byte
	if !k.verify(&raw, token, kind) {
		return 0, 0, 0, false
	}
	if expires = int64(binary.BigEndian.Uint32(raw[4:])); now >= expires {
		return 0, 0, 0, false
	}
	return binary.BigEndian.Uint32(raw[0:]), binary.BigEndian.Uint32(raw[8:]), expires, true
}

// AppendCart appends the ID of a cart of the user. The nonce distinguishes the user's carts.
func (k *Keys) AppendCart(dst []byte, user uint32, nonce uint64) []byte {
	var raw [rawLength]byte
	binary.BigEndian.PutUint32(raw[0:], user)
	binary.BigEndian.PutUint64(raw[4:], nonce)
	return k.current.cart.appendSigned(dst, kindCart, &raw)
}

// Cart returns the owner and the name of a cart: the first CartNameLength characters of the ID, which carry
// user and nonce and stay the same under every secret. False if no server minted the ID.
func (k *Keys) Cart(id []byte) (user uint32, name []byte, ok bool) {
	var raw [rawLength]byte
	if !k.verify(&raw, id, kindCart) {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(raw[0:]), id[:CartNameLength], true
}

// verify decodes text into raw and checks the MAC in constant time.
func (k *Keys) verify(raw *[rawLength]byte, text []byte, kind byte) bool {
	if len(text) != Length {
		return false
	}
	// encoding/base64 skips line breaks, so a text with one decodes to fewer bytes.
	if n, err := base64.RawURLEncoding.Decode(raw[:], text); err != nil || n != rawLength {
		return false
	}
	if k.current.of(kind).signed(raw, kind) {
		return true
	}
	for i := range k.previous {
		if k.previous[i].of(kind).signed(raw, kind) {
			return true
		}
	}
	return false
}

// key computes AES-CMAC (RFC 4493) of messages of one whole block. That is one call of AES-256, for which
// the CPU has instructions, and much cheaper than HMAC-SHA256: scripts/bench/TUNING.md has the figures. An
// order checks ten tokens.
type key struct {
	block cipher.Block
	mask  [aes.BlockSize]byte // K1 of the RFC
}

func newSecretKeys(sale string, secret []byte) (k secretKeys, err error) {
	if k.access, err = newKey(secret, "flashsale tokens"); err == nil {
		k.cart, err = newKey(secret, "flashsale carts of sale "+sale)
	}
	return k, err
}

// newKey derives the AES key, because secrets may be longer and need not be uniform.
func newKey(secret []byte, purpose string) (key, error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return key{}, err
	}
	return newCMAC(derived)
}

func newCMAC(aesKey []byte) (key, error) {
	block, err := aes.NewCipher(aesKey)
	if err != nil {
		return key{}, err
	}
	k := key{block: block}
	k.block.Encrypt(k.mask[:], k.mask[:])
	carry := k.mask[0] >> 7
	for i := range k.mask[:aes.BlockSize-1] {
		k.mask[i] = k.mask[i]<<1 | k.mask[i+1]>>7
	}
	k.mask[aes.BlockSize-1] = k.mask[aes.BlockSize-1]<<1 ^ carry*0x87
	return k, nil
}

// blocks are reused buffers for the cipher: its interface makes a buffer escape to the heap.
var blocks = sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}

// mac returns the CMAC of the block kind || message || zeros. All messages of a kind have one length, so no
// two have the same block.
func (k *key) mac(kind byte, message []byte) (sum [aes.BlockSize]byte) {
	b := blocks.Get().(*[aes.BlockSize]byte)
	*b = k.mask
	b[0] ^= kind
	subtle.XORBytes(b[1:], b[1:], message)
	k.block.Encrypt(b[:], b[:])
	sum = *b
	blocks.Put(b)
	return sum
}

func (k *key) appendSigned(dst []byte, kind byte, raw *[rawLength]byte) []byte {
	sum := k.mac(kind, raw[:payload])
	copy(raw[payload:], sum[:])
	return base64.RawURLEncoding.AppendEncode(dst, raw[:])
}

func (k *key) signed(raw *[rawLength]byte, kind byte) bool {
	sum := k.mac(kind, raw[:payload])
	return subtle.ConstantTimeCompare(raw[payload:], sum[:rawLength-payload]) == 1
}

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

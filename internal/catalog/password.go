package catalog

import "crypto/sha256"

const (
	keyBytes  = 32
	hashBytes = 16 // of 32: half of SHA-256 is still far out of reach, and a million users save 16 MB
)

// hasher computes HMAC-SHA256 (RFC 2104) under one key without allocation, which crypto/hmac cannot.
type hasher struct {
	inner, outer [sha256.BlockSize]byte // the key, padded, XOR 0x36 and 0x5c
}

func newHasher(key []byte) hasher {
	var h hasher
	copy(h.inner[:], key)
	copy(h.outer[:], key)
	for i := range h.inner {
		h.inner[i] ^= 0x36
		h.outer[i] ^= 0x5c
	}
	return h
}

// hash returns the truncated HMAC of length of name (one byte), name, password. The length keeps ("ab",
// "c") apart from ("a", "bc"). What is longer than its limit is cut: the caller refuses it, after the
// same work.
func (h *hasher) hash(name, password []byte) (truncated [hashBytes]byte) {
	name = name[:min(len(name), nameBytesMax)]
	password = password[:min(len(password), passwordBytesMax)]

	var message [sha256.BlockSize + 1 + nameBytesMax + passwordBytesMax]byte
	n := copy(message[:], h.inner[:])
	message[n] = byte(len(name))
	n++
	n += copy(message[n:], name)
	n += copy(message[n:], password)
	innerSum := sha256.Sum256(message[:n])

	var envelope [sha256.BlockSize + sha256.Size]byte
	copy(envelope[:], h.outer[:])
	copy(envelope[sha256.BlockSize:], innerSum[:])
	sum := sha256.Sum256(envelope[:])
	copy(truncated[:], sum[:])
	return truncated
}

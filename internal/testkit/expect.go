package testkit

import (
	"crypto/sha256"
	"errors"
	"testing"
)

// Wants compares an error with the wanted one, as errors.Is does.
func Wants(tb testing.TB, what string, got, want error) {
	tb.Helper()
	if !errors.Is(got, want) {
		tb.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Same compares two values.
func Same(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: %v, want %v", what, got, want)
	}
}

// FastHash takes the place of Argon2id where a test hashes much.
func FastHash(password, salt []byte) ([sha256.Size]byte, error) {
	return sha256.Sum256(append(append([]byte{}, salt...), password...)), nil
}

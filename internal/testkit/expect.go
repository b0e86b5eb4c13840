package testkit

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
)

// Wants compares an error with the wanted one, as errors.Is does.
func Wants(tb testing.TB, what string, got, want error) {
	tb.Helper()
	if !errors.Is(got, want) {
		tb.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Tells expects an error whose text has all parts.
func Tells(tb testing.TB, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			tb.Errorf("error %q does not say %q", err, part)
		}
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

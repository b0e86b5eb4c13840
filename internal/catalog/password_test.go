package catalog

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

func TestHashIsHMAC(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	h := newHasher(key)
	for _, lengths := range [][2]int{{0, 0}, {1, 0}, {4, 6}, {20, 40}, {55, 64}, {255, 255}} {
		t.Run(fmt.Sprint(lengths), func(t *testing.T) {
			name, password := bytes.Repeat([]byte("n"), lengths[0]), bytes.Repeat([]byte("p"), lengths[1])
			reference := hmac.New(sha256.New, key)
			reference.Write([]byte{byte(len(name))})
			reference.Write(name)
			reference.Write(password)
			got := h.hash(name, password)
			if want := reference.Sum(nil)[:hashBytes]; !bytes.Equal(got[:], want) {
				t.Errorf("hash %x, want %x", got, want)
			}
		})
	}
}

func TestLoadsDoNotShareAKey(t *testing.T) {
	first, second := mustLoad(t, builtInConfig(1)), mustLoad(t, builtInConfig(1))
	if bytes.Equal(first.image[headerKey:headerBytes], second.image[headerKey:headerBytes]) {
		t.Error("two loads hash under the same key")
	}
}

func TestImageHoldsNoPassword(t *testing.T) {
	catalog := mustLoad(t, builtInConfig(3))
	for _, password := range []string{"geheim", "pass2", "pass3"} {
		if strings.Contains(string(catalog.image), password) {
			t.Errorf("image holds the password %s", password)
		}
	}
}

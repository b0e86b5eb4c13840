package framing

import (
	"bytes"
	"testing"
)

func TestBuffers(t *testing.T) {
	const small, large = 16, 40
	b := NewBuffers(small, large)
	for text, want := range map[string]int{"": small, "small": small, "exactly 16 bytes": small,
		"seventeen bytes ..": large} {
		buffer := b.With([]byte(text))
		if len(*buffer) != want || !bytes.HasPrefix(*buffer, []byte(text)) {
			t.Errorf("buffer %q of %q", *buffer, text)
		}
		b.Put(buffer)
	}
	full := b.With([]byte("exactly 16 bytes"))
	grown := b.Grow(full)
	if len(*grown) != large || !bytes.HasPrefix(*grown, []byte("exactly 16 bytes")) {
		t.Errorf("grown to %q", *grown)
	}
	b.Put(grown)
	other := make([]byte, 2*large)
	b.Put(&other)
	if n := len(*b.With([]byte("seventeen bytes .."))); n != large {
		t.Errorf("a large buffer has %d bytes", n)
	}
	for range 10 { // none gets into the other pool
		if n := len(*b.Small.Get().(*[]byte)); n != small {
			t.Errorf("a small buffer has %d bytes", n)
		}
	}
}

package framing

import "sync"

// Buffers are buffers for what connections receive, in two sizes. Nearly all requests fit a small one. A
// connection takes a large one only when it has filled a small one with one request. They are safe for
// concurrent use.
type Buffers struct {
	Small sync.Pool // of *[]byte

	large                  sync.Pool
	smallBytes, largeBytes int
}

// NewBuffers makes Buffers of these lengths in bytes.
func NewBuffers(small, large int) *Buffers {
	b := &Buffers{smallBytes: small, largeBytes: large}
	b.Small.New = func() any { return newBuffer(small) }
	b.large.New = func() any { return newBuffer(large) }
	return b
}

func newBuffer(size int) *[]byte {
	b := make([]byte, size)
	return &b
}

// Longest returns the length of a large buffer.
func (b *Buffers) Longest() int { return b.largeBytes }

// With returns a buffer that begins with a text, which must fit a large one.
func (b *Buffers) With(text []byte) *[]byte {
	pool := &b.Small
	if len(text) > b.smallBytes {
		pool = &b.large
	}
	buffer := pool.Get().(*[]byte)
	copy(*buffer, text)
	return buffer
}

// Grow takes a small buffer that is full and returns a large one with the same bytes.
func (b *Buffers) Grow(full *[]byte) *[]byte {
	buffer := b.large.Get().(*[]byte)
	copy(*buffer, *full)
	b.Put(full)
	return buffer
}

// Put gives a buffer back. One of another length is not kept.
func (b *Buffers) Put(buffer *[]byte) {
	switch len(*buffer) {
	case b.smallBytes:
		b.Small.Put(buffer)
	case b.largeBytes:
		b.large.Put(buffer)
	}
}

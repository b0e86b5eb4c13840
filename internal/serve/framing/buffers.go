package framing

import "sync"

// Buffers are pools of receive buffers in two sizes. Nearly all requests fit a small buffer. A connection
// takes a large buffer only after one request has filled a small one. They are safe for concurrent use.
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

// With returns a buffer that begins with a text. The text must fit into a large buffer.
func (b *Buffers) With(text []byte) *[]byte {
	pool := &b.Small
	if len(text) > b.smallBytes {
		pool = &b.large
	}
	buffer := pool.Get().(*[]byte)
	copy(*buffer, text)
	return buffer
}

// Grow exchanges a full small buffer for a large one with the same bytes.
func (b *Buffers) Grow(full *[]byte) *[]byte {
	buffer := b.large.Get().(*[]byte)
	copy(*buffer, *full)
	b.Put(full)
	return buffer
}

// Put gives a buffer back. It drops a buffer of another length.
func (b *Buffers) Put(buffer *[]byte) {
	switch len(*buffer) {
	case b.smallBytes:
		b.Small.Put(buffer)
	case b.largeBytes:
		b.large.Put(buffer)
	}
}

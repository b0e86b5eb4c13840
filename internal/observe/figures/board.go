package figures

import (
	"encoding/binary"
	"sync/atomic"
)

// BoardMax is the longest text of a Board, in bytes.
const BoardMax = 64 << 10

const wordBytes = 8

// Board is a text in shared memory with one writer and any number of readers. Nobody waits: a reader that
// is disturbed by the writer has nothing new, and reads later.
type Board struct {
	version atomic.Uint64 // odd while the text is being written
	size    atomic.Uint64
	words   [BoardMax / wordBytes]atomic.Uint64
}

// Write puts up a text in place of the last one. It reports false for a text that is too long.
func (b *Board) Write(text []byte) bool {
	if len(text) > BoardMax {
		return false
	}
	version := b.version.Load() | 1 // odd already if a writer was killed
	b.version.Store(version)
	b.size.Store(uint64(len(text)))
	var word [wordBytes]byte
	for i := 0; i < len(text); i += wordBytes {
		clear(word[copy(word[:], text[i:]):])
		b.words[i/wordBytes].Store(binary.LittleEndian.Uint64(word[:]))
	}
	b.version.Store(version + 1)
	return true
}

// Read appends the text to dst, and returns its version. Without another text than that of the version
// known, or while one is being written, it returns dst and that version.
func (b *Board) Read(dst []byte, known uint64) ([]byte, uint64) {
	version := b.version.Load()
	if version == known || version%2 == 1 {
		return dst, known
	}
	begin, size := len(dst), int(min(b.size.Load(), BoardMax))
	for i := 0; i < size; i += wordBytes {
		dst = binary.LittleEndian.AppendUint64(dst, b.words[i/wordBytes].Load())
	}
	if b.version.Load() != version {
		return dst[:begin], known
	}
	return dst[:begin+size], version
}

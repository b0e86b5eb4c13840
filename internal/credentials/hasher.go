package credentials

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"flashsale/redisx/pipeline"
)

const (
	yieldMax  = time.Second      // for one hash while the sale goes first
	hashLimit = 20 * time.Second // for one hash that no longer yields
	hashIdle  = 30 * time.Second // after which the other process ends
)

// Hasher hashes in another process. In this one a hash would delay the event loop: its thread would share a
// processor with it, its 19 MiB would begin a garbage collection each time, and a thread of low priority
// could not be stopped in time for one.
//
// The other process yields to the sale. On processors that are full of orders it gets no time at all, so a
// hash that takes longer than yieldMax is asked again of a process that does not yield. Thus a worker hashes
// at least about one password a second, and takes a few hundredths of a processor for it.
type Hasher struct {
	start func(yields bool) (io.ReadWriteCloser, error)

	mu    sync.Mutex
	other io.ReadWriteCloser // it yields; nil where none runs
	idle  *time.Timer
}

// NewHasher makes a Hasher. start starts a process that runs ServeHashes, and that runs only on idle
// processors if it yields; Close of its connection ends it. A process runs only while it is used.
func NewHasher(start func(yields bool) (io.ReadWriteCloser, error)) *Hasher {
	h := &Hasher{start: start}
	h.idle = time.AfterFunc(hashIdle, h.Close)
	return h
}

// Close ends the process. The next Hash starts another one.
func (h *Hasher) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.close()
}

func (h *Hasher) close() {
	if h.other != nil {
		_ = h.other.Close()
		h.other = nil
	}
}

// Hash is Hash in the other process; pipeline.ErrUnavailable if that fails.
func (h *Hasher) Hash(password, salt []byte) (hash [hashBytes]byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.other == nil {
		if h.other, err = h.begin(true); err != nil {
			return hash, err
		}
	}
	h.idle.Reset(hashIdle)
	question := binary.BigEndian.AppendUint16(append([]byte{}, salt...), uint16(len(password)))
	question = append(question, password...)
	hash, late, err := ask(h.other, question, yieldMax)
	if err == nil {
		return hash, nil
	}
	h.close()
	if !late {
		return hash, err
	}
	atOnce, err := h.begin(false)
	if err != nil {
		return hash, err
	}
	defer atOnce.Close()
	hash, _, err = ask(atOnce, question, hashLimit)
	return hash, err
}

func (h *Hasher) begin(yields bool) (io.ReadWriteCloser, error) {
	other, err := h.start(yields)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot start the process that hashes passwords: %w",
			pipeline.ErrUnavailable, err)
	}
	return other, nil
}

// ask returns the other process's answer. Without one after limit it ends that process, and late is true.
func ask(other io.ReadWriteCloser, question []byte, limit time.Duration) (
	hash [hashBytes]byte, late bool, err error,
) {
	timer := time.AfterFunc(limit, func() { _ = other.Close() })
	if _, err = other.Write(question); err == nil {
		_, err = io.ReadFull(other, hash[:])
	}
	late = !timer.Stop()
	if err != nil {
		err = fmt.Errorf("%w: the process that hashes passwords has ended: %w", pipeline.ErrUnavailable, err)
	}
	return hash, late, err
}

// ServeHashes answers a Hasher until r ends.
func ServeHashes(r io.Reader, w io.Writer) error {
	for {
		var head [saltBytes + 2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		password := make([]byte, binary.BigEndian.Uint16(head[saltBytes:]))
		if _, err := io.ReadFull(r, password); err != nil {
			return err
		}
		hash, _ := Hash(password, head[:saltBytes]) // it does not fail
		if _, err := w.Write(hash[:]); err != nil {
			return err
		}
	}
}

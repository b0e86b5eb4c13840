package accounts

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"flashsale/redisx/pipeline"
)

// Argon2id (RFC 9106) with the first parameters of the OWASP Password Storage Cheat Sheet: 19 MiB, two
// passes, one lane. RFC 9106 would have 64 MiB in each of several processes at the same moment, beside a
// sale.
const (
	hashMemory = 19 << 10 // KiB
	hashPasses = 2
	hashLanes  = 1
	saltBytes  = 16
	hashBytes  = 32

	hashHead = "$argon2id$v=19$m=19456,t=2,p=1$" // the form in which others write them
)

const (
	waitingMax = 16               // passwords of this process that are hashed or wait
	waitingNew = waitingMax / 2   // registrations are refused beyond this, so that logins find room
	hashWait   = 5 * time.Second  // until ErrBusy
	yieldMax   = time.Second      // for one hash while the sale goes first
	hashLimit  = 20 * time.Second // for one hash that no longer yields
	hashIdle   = 30 * time.Second // after which the other process ends
)

// queue hashes one password after another. Few wait: a flood of logins or registrations is refused.
type queue struct {
	hash    func(password, salt []byte) ([hashBytes]byte, error)
	waiting chan struct{}
	turn    chan struct{}
}

func newQueue(hash func(password, salt []byte) ([hashBytes]byte, error)) queue {
	return queue{hash, make(chan struct{}, waitingMax), make(chan struct{}, 1)}
}

// make returns salt and hash of a password.
func (q *queue) make(password []byte) (string, error) {
	if len(q.waiting) >= waitingNew {
		return "", ErrBusy
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt) // it does not fail
	hash, err := q.do(password, salt)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return hashHead + b64.EncodeToString(salt) + "$" + b64.EncodeToString(hash[:]), nil
}

// nobody is salt and hash where there is no account: no password has this hash.
var nobody = hashHead + base64.RawStdEncoding.EncodeToString(make([]byte, saltBytes)) + "$" +
	base64.RawStdEncoding.EncodeToString(make([]byte, hashBytes))

// check returns nil if this is the password of a stored hash, ErrWrongPassword if it is not. "" stands for
// no account and takes as long.
func (q *queue) check(stored string, password []byte) error {
	if stored == "" {
		stored = nobody
	}
	text, found := strings.CutPrefix(stored, hashHead)
	salt64, hash64, _ := strings.Cut(text, "$")
	salt, err1 := base64.RawStdEncoding.DecodeString(salt64)
	want, err2 := base64.RawStdEncoding.DecodeString(hash64)
	if !found || err1 != nil || err2 != nil || len(salt) != saltBytes || len(want) != hashBytes {
		return fmt.Errorf("cannot read the hash of a password: it does not begin with %s", hashHead)
	}
	hash, err := q.do(password, salt)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(hash[:], want) != 1 || stored == nobody || len(password) > passwordMax {
		return ErrWrongPassword
	}
	return nil
}

func (q *queue) do(password, salt []byte) (hash [hashBytes]byte, err error) {
	select {
	case q.waiting <- struct{}{}:
		defer func() { <-q.waiting }()
	default:
		return hash, ErrBusy
	}
	late := time.NewTimer(hashWait)
	defer late.Stop()
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-late.C:
		return hash, ErrBusy
	}
	return q.hash(password, salt)
}

// Hash is Argon2id. It takes 19 MiB and tens of milliseconds.
func Hash(password, salt []byte) (hash [hashBytes]byte, err error) {
	copy(hash[:], argon2.IDKey(password, salt, hashPasses, hashMemory, hashLanes, hashBytes))
	return hash, nil
}

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

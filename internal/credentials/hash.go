package credentials

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
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

	passwordMax = 256 // bytes

	hashHead = "$argon2id$v=19$m=19456,t=2,p=1$" // the form in which others write them
)

const (
	waitingMax = 16              // passwords of a Queue that are hashed or wait
	waitingNew = waitingMax / 2  // new passwords are refused beyond this, so that logins find room
	hashWait   = 5 * time.Second // until ErrBusy
)

// HashOf hashes a password as Argon2id does.
type HashOf func(password, salt []byte) ([hashBytes]byte, error)

// Queue hashes one password after another. Few wait: a flood of logins or registrations is refused. Its
// methods are safe for concurrent use.
type Queue struct {
	hash    HashOf
	waiting chan struct{}
	turn    chan struct{}
}

// NewQueue makes a Queue that hashes with this function.
func NewQueue(hash HashOf) *Queue {
	return &Queue{hash, make(chan struct{}, waitingMax), make(chan struct{}, 1)}
}

// Make returns salt and hash of a new password, see Password. Error: ErrBusy.
func (q *Queue) Make(password []byte) (string, error) {
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

// Check returns nil if this is the password of a stored hash, ErrWrongPassword if it is not. "" stands for
// no account and takes as long. Error: ErrBusy.
func (q *Queue) Check(stored string, password []byte) error {
	if stored == "" {
		stored = nobody
	}
	salt, want, err := parse(stored)
	if err != nil {
		return err
	}
	password = normal(password[:min(len(password), passwordMax+1)])
	hash, err := q.do(password, salt)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(hash[:], want) != 1 || stored == nobody || len(password) > passwordMax {
		return ErrWrongPassword
	}
	return nil
}

// IsHash reports whether Check can read a text as a stored hash.
func IsHash(stored string) bool {
	_, _, err := parse(stored)
	return err == nil
}

func parse(stored string) (salt, hash []byte, err error) {
	text, found := strings.CutPrefix(stored, hashHead)
	salt64, hash64, _ := strings.Cut(text, "$")
	salt, err1 := base64.RawStdEncoding.DecodeString(salt64)
	hash, err2 := base64.RawStdEncoding.DecodeString(hash64)
	if !found || err1 != nil || err2 != nil || len(salt) != saltBytes || len(hash) != hashBytes {
		return nil, nil, fmt.Errorf("cannot read the hash of a password: it does not begin with %s", hashHead)
	}
	return salt, hash, nil
}

// Password returns a new password in the form that is hashed; ErrBadPassword if it has fewer characters than
// least or is too long.
func Password(password []byte, least int) ([]byte, error) {
	if utf8.RuneCount(password) < least || len(password) > passwordMax {
		return nil, ErrBadPassword
	}
	return normal(password), nil
}

// normal is Unicode NFC: keyboards differ in how they write an é.
func normal(password []byte) []byte { return norm.NFC.Bytes(password) }

func (q *Queue) do(password, salt []byte) (hash [hashBytes]byte, err error) {
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

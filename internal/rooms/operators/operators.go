// Package operators knows the people who run the sale: their names, roles, passwords and second factors. A
// list of them stands in a file or in a database (source.go); the room has it in memory, so the check of a
// token asks nobody. Redis keeps only which codes were used and how many were wrong (codes.go).
//
// The package knows nothing of HTTP or of tokens. It is slow where a password is hashed: tens of
// milliseconds of a processor, in another process. It must never keep or log a password or a code.
package operators

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/credentials"
	"flashsale/redisx/pipeline"
)

// Outcomes of a login, besides credentials.ErrWrongPassword and credentials.ErrBusy.
var (
	ErrCodeNeeded = errors.New("the operator has a second factor: the code is missing")
	ErrWrongCode  = errors.New("the code is wrong or was used")
)

// TooManyCodesError is the outcome of a login of an operator under whose password too many codes were wrong.
type TooManyCodesError struct{ Wait time.Duration }

func (e *TooManyCodesError) Error() string {
	return "too many codes were wrong; the next one counts in " + e.Wait.String()
}

// Role is what an operator may do. Each includes those before it.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // reads all that concerns the sale
	Operates Role = "operator" // changes the sale
	Admin    Role = "admin"    // users, and what cannot be undone
)

// Roles are all roles, the least first.
var Roles = []Role{Viewer, Operates, Admin}

// Includes reports whether the role may do what another one may.
func (r Role) Includes(other Role) bool { return r.rank() >= other.rank() }

func (r Role) rank() int {
	for i, role := range Roles {
		if role == r {
			return i
		}
	}
	return -1
}

// Operator is one operator, as in the list.
type Operator struct {
	Number   uint32 // 1 to NumberMax
	Name     string
	Role     Role
	Password string   // salt and hash, see credentials.Queue
	TOTP     string   // secret of the second factor in base32, "" for none
	Recovery []string // hashes of the recovery codes, see hashCode
}

// NumberMax is the highest number of an operator, and so the greatest number of them.
const NumberMax = 1<<numberBits - 1

const numberBits = 12

// Holder is the operator as a token names him: his number, and some bits of a hash over name, password and
// second factor. So a token ends with those that it was got for, and nobody gets the tokens of a former
// operator with the same number. One in a million changes leaves the bits as they were.
func (o *Operator) Holder() uint32 {
	sum := sha256.Sum256([]byte(o.Name + "\n" + o.Password + "\n" + o.TOTP))
	return binary.BigEndian.Uint32(sum[:])<<numberBits | o.Number
}

// Config is what the room needs.
type Config struct {
	Redis pipeline.Config // see HashTag
	List  []Operator
	Hash  credentials.HashOf
}

// Operators is the room in one process. Its methods are safe for concurrent use.
type Operators struct {
	redis  *pipeline.Conn
	hashes *credentials.Queue
	list   atomic.Pointer[lists]

	knowing  sync.Mutex // of writers of networks
	networks atomic.Pointer[map[netip.Addr]bool]
}

// lists are the operators by what a call names.
type lists struct {
	byName   map[string]*Operator // folded
	byHolder map[uint32]*Operator
}

// New makes the room. Run must run for second factors to be checked.
func New(cfg Config) *Operators {
	o := &Operators{hashes: credentials.NewQueue(cfg.Hash), redis: pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{codeScript},
		Outage:  &pipeline.Outage{Effect: "operators with a second factor cannot log in"},
	})}
	o.Use(cfg.List)
	return o
}

// Run keeps the connection, and hears of networks, until ctx ends. It returns nil.
func (o *Operators) Run(ctx context.Context) error {
	background.Beside(o.redis.Run, func() { background.Repeat(ctx, o.hearNetworks) })
	return nil
}

// Up reports whether Redis can be reached.
func (o *Operators) Up() bool { return o.redis.Up() }

// Use replaces the list.
func (o *Operators) Use(list []Operator) {
	l := &lists{map[string]*Operator{}, map[uint32]*Operator{}}
	for i := range list {
		l.byName[credentials.Fold(list[i].Name)] = &list[i]
		l.byHolder[list[i].Holder()] = &list[i]
	}
	o.list.Store(l)
}

// Find returns the operator whom a token names, nil where there is none any more. It does not wait.
func (o *Operators) Find(holder uint32) *Operator { return o.list.Load().byHolder[holder] }

// Named returns the operator of this name, whatever its case, nil where there is none. Its time may reveal
// whether there is: do not use it in answers to clients.
func (o *Operators) Named(name string) *Operator { return o.list.Load().byName[credentials.Fold(name)] }

// LogIn returns the operator with this name, password and code; code may be "". An unknown name costs the
// same hashing as a wrong password, and a code counts only beside the right password. Errors:
// credentials.ErrWrongPassword, credentials.ErrBusy, ErrCodeNeeded, ErrWrongCode, *TooManyCodesError,
// pipeline.ErrUnavailable.
func (o *Operators) LogIn(name string, password []byte, code string) (*Operator, error) {
	stored, found := "", o.Named(name)
	if found != nil {
		stored = found.Password
	}
	if err := o.hashes.Check(stored, password); err != nil {
		return nil, err
	}
	if found.TOTP == "" {
		return found, nil
	}
	return found, o.checkCode(found, code)
}

// key names what Redis keeps of the operator. Who gets the number of a former operator, or another second
// factor, begins anew.
func (o *Operator) key(kind string) string {
	sum := sha256.Sum256([]byte(o.TOTP))
	return fmt.Sprintf("%s%s:%d:%x", HashTag, kind, o.Number, sum[:4])
}

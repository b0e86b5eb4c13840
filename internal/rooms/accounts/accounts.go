// Package accounts keeps people who register: their names, passwords and contacts. Its ids begin at
// redisx.FirstRegistered, so the ids of a growing catalogue never meet them.
//
// The hash with the account, under the folded name, is the truth: who writes it first has the name, on all
// servers. The id and the name of that id are written before it, so a crash in between loses only an id.
//
// The package knows nothing of HTTP or of the sale. It is slow where a password is hashed: tens of
// milliseconds of a processor, in another process (see credentials.Hasher).
package accounts

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"slices"
	"sync"

	"flashsale/internal/credentials"
	"flashsale/redisx/pipeline"
)

// Outcomes, besides those of package credentials.
var (
	ErrBadEmail        = errors.New("this is no e-mail address")
	ErrNameTaken       = errors.New("another user has this name")
	ErrFull            = errors.New("there are as many accounts as there may be")
	ErrCatalogueUser   = errors.New("the catalogue has the password of this user")
	ErrNoUser          = errors.New("no user has this name or id")
	ErrNoContact       = errors.New("the user is not among the contacts")
	ErrBadContact      = errors.New("users cannot be contacts of themselves, or the nickname is too long")
	ErrTooManyContacts = errors.New("the user has as many contacts as there may be")
)

// Config is what the room needs.
type Config struct {
	Redis    []pipeline.Config // the parts, see redisx.Config.Spread
	UsersMax int               // accounts that there may be

	// EndSessions ends all sessions of a user; those that begin after it returns are valid. NoteEnd does not
	// wait for that: it ends sessions that begin in the same second, too. See package sessions.
	EndSessions, NoteEnd func(user uint32) error

	Hash credentials.HashOf // nil: no user can register or log in here

	// The users of the catalogue.
	UserOf   func(name []byte) (user uint32, found bool)
	NameOf   func(user uint32) []byte // nil where there is none
	EachName func(visit func(name []byte))
}

// Accounts is the room in one process. Its methods are safe for concurrent use.
type Accounts struct {
	cfg      Config
	redis    *pipeline.Spread
	hashes   *credentials.Queue
	unfolded func() map[string]struct{} // folded forms of the catalogue's names that are not folded
}

// New makes the room. Run must run for its calls to be answered.
func New(cfg Config) *Accounts {
	a := &Accounts{cfg: cfg, hashes: credentials.NewQueue(cfg.Hash)}
	a.redis = pipeline.NewSpread(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{newIDScript, registerScript, passwordScript, putContactScript, resetScript,
			contactsScript},
		Outage: &pipeline.Outage{Effect: "accounts and contacts get 503"},
	})
	a.unfolded = sync.OnceValue(func() map[string]struct{} { return unfoldedNames(cfg.EachName) })
	return a
}

// Run keeps the connections until ctx ends. It returns nil.
func (a *Accounts) Run(ctx context.Context) error { return a.redis.Run(ctx) }

// Up reports whether all parts can be reached.
func (a *Accounts) Up() bool {
	return !slices.ContainsFunc(a.redis.Conns(), func(c *pipeline.Conn) bool { return !c.Up() })
}

// do sends a call to a part.
func (a *Accounts) do(part int, x *pipeline.Call) error { return a.redis.Part(part).Do(x) }

var (
	newIDScript      = pipeline.NewScript(newIDLua)
	registerScript   = pipeline.NewScript(registerLua)
	passwordScript   = pipeline.NewScript(passwordLua)
	putContactScript = pipeline.NewScript(putContactLua)
	contactsScript   = pipeline.NewScript(contactsLua)
)

var (
	//go:embed new_id.lua
	newIDLua string
	//go:embed register.lua
	registerLua string
	//go:embed password.lua
	passwordLua string
	//go:embed put_contact.lua
	putContactLua string
	//go:embed contacts.lua
	contactsLua string
)

package accounts

import (
	_ "embed" // the script
	"errors"
	"strconv"
	"time"

	"flashsale/internal/credentials"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// What the operator of the shop does with accounts.

// ErrClosed is the outcome of a change to an account that is closed.
var ErrClosed = errors.New("the account is closed")

// ListMax is how many ids List looks at.
const ListMax = 100

// What reset.lua returns.
const (
	accountClosed = 0
	passwordReset = 1
)

//go:embed reset.lua
var resetLua string

var resetScript = pipeline.NewScript(resetLua)

// Registered is a registered user as the operator sees him.
type Registered struct {
	User
	Email   string // "" for none
	Created time.Time
	Closed  time.Time // zero while the account is open
}

// List returns the accounts of the next ids behind after, at most limit, by id. next is the last of these
// ids, 0 if no id follows. Some ids have no account, so a page may be short, or empty, before the last.
func (a *Accounts) List(after uint32, limit int) (list []Registered, next uint32, err error) {
	var given int64
	if err := a.do(onePart, pipeline.Command(&given, "GET", idsKey)); err != nil {
		return nil, 0, err
	}
	first := max(int64(after)+1, redisx.FirstRegistered)
	end := redisx.FirstRegistered + given
	if end > first+int64(limit) {
		end = first + int64(limit)
		next = uint32(end - 1)
	}
	var users []uint32
	for id := first; id < end; id++ {
		users = append(users, uint32(id))
	}
	names, err := a.Names(users)
	if err != nil {
		return nil, 0, err
	}
	found, err := a.read(users, names)
	return found, next, err
}

// Search returns the registered user with this name, whatever its case, or nobody.
func (a *Accounts) Search(name string) ([]Registered, error) {
	_, folded, err := credentials.Name(name)
	if err != nil {
		return nil, nil
	}
	x, err := a.account(folded)
	if errors.Is(err, ErrNoUser) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a.read([]uint32{x.ID}, map[uint32]string{x.ID: x.Name})
}

// read reads the accounts of users with these names. It asks each Redis once, all at the same time.
func (a *Accounts) read(users []uint32, names map[uint32]string) (list []Registered, err error) {
	fields := make([][]string, len(users))
	calls := a.redis.Calls()
	for i, user := range users {
		if name := names[user]; name != "" {
			part, key := nameKey(credentials.Fold(name))
			calls.Of(part).Command(&fields[i], "HMGET", key, "id", "name", "email", "created", "closed")
		}
	}
	if err := calls.Do(); err != nil {
		return nil, err
	}
	for i, user := range users {
		if f := fields[i]; f != nil && f[0] == idText(user) { // else another user was given the name
			list = append(list, Registered{User{user, f[1]}, f[2], moment(f[3]), moment(f[4])})
		}
	}
	return list, nil
}

// moment reads Unix milliseconds; "" is the zero time.
func moment(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Reset sets the password of a registered user who has lost it, and ends his tokens. Errors: ErrBadPassword,
// ErrCatalogueUser, ErrNoUser, ErrClosed. After pipeline.ErrUnavailable the password may be set, and the
// tokens not ended.
func (a *Accounts) Reset(user uint32, password []byte) error {
	password, err := credentials.Password(password, passwordMin)
	if err != nil {
		return err
	}
	x, err := a.accountOf(user)
	if err != nil {
		return err
	}
	if x.hash == "" {
		return ErrClosed
	}
	hash, err := a.hashes.Make(password)
	if err != nil {
		return err
	}
	var code int64
	if err := a.do(x.part, resetScript.Call(&code, []string{x.key}, hash)); err != nil {
		return err
	}
	switch code {
	case passwordReset:
		return a.cfg.EndSessions(user)
	case accountClosed: // while the password was hashed
		return ErrClosed
	}
	return pipeline.UnknownCode("reset.lua", code)
}

// Close closes the account of a registered user for good: nobody can log in with it, its tokens end, its
// e-mail address and its contacts are deleted. The name stays taken. It may be repeated, and must be after
// an error other than ErrCatalogueUser and ErrNoUser.
func (a *Accounts) Close(user uint32) error {
	x, err := a.accountOf(user)
	if err != nil {
		return err
	}
	if x.hash != "" { // no password has an empty hash
		now := strconv.FormatInt(time.Now().UnixMilli(), 10)
		err := a.do(x.part, pipeline.Command(new(int64), "HSET", x.key, "hash", "", "email", "", "closed", now))
		if err != nil {
			return err
		}
	}
	if err := a.cfg.EndSessions(user); err != nil {
		return err
	}
	return a.deleteContacts(user)
}

// accountOf reads the account of a registered user. Errors: ErrCatalogueUser, ErrNoUser.
func (a *Accounts) accountOf(user uint32) (account, error) {
	if user < redisx.FirstRegistered {
		return account{}, ErrCatalogueUser
	}
	names, err := a.Names([]uint32{user})
	if err != nil {
		return account{}, err
	}
	x, err := a.account(credentials.Fold(names[user]))
	if err == nil && x.ID != user {
		err = ErrNoUser
	}
	return x, err
}

// deleteContacts deletes the contacts of a user. The list goes last: after an error it still tells whom the
// user has blocked.
func (a *Accounts) deleteContacts(user uint32) error {
	list, err := a.Contacts(user)
	if err != nil {
		return err
	}
	calls := a.redis.Calls()
	for _, c := range list {
		if c.Blocked {
			part, key := userKey("blockers", c.User)
			calls.Of(part).Command(new(int64), "SREM", key, idText(user))
		}
	}
	if err := calls.Do(); err != nil {
		return err
	}
	part, key := userKey("contacts", user)
	return a.do(part, pipeline.Command(new(int64), "DEL", key))
}

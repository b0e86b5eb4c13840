package accounts

import (
	"errors"
	"strconv"

	"flashsale/internal/credentials"
	"flashsale/redisx/pipeline"
)

// account is what the hash of an account holds, as far as a login needs it.
type account struct {
	User
	hash string // with salt
	part int
	key  string
}

// account reads an account by its folded name; ErrNoUser.
func (a *Accounts) account(folded string) (account, error) {
	x := account{}
	x.part, x.key = nameKey(folded)
	var fields []string
	if err := a.do(x.part, pipeline.Command(&fields, "HMGET", x.key, "id", "name", "hash")); err != nil {
		return x, err
	}
	id, err := strconv.ParseUint(fields[0], 10, 32)
	if err != nil {
		return x, ErrNoUser
	}
	x.ID, x.Name, x.hash = uint32(id), fields[1], fields[2]
	return x, nil
}

// Authenticate returns the registered user with this name and password; the case of the name does not
// matter. credentials.ErrWrongPassword: an unknown name costs the same reading and hashing as a wrong
// password.
func (a *Accounts) Authenticate(name string, password []byte) (User, error) {
	_, folded, err := credentials.Name(name)
	if err != nil {
		folded = "" // no account
	}
	x, err := a.account(folded)
	if err != nil && !errors.Is(err, ErrNoUser) {
		return User{}, err
	}
	if err := a.hashes.Check(x.hash, password); err != nil {
		return User{}, err
	}
	return x.User, nil
}

// SetPassword changes the password of a registered user and ends his sessions. Errors:
// credentials.ErrWrongPassword if old is not his password, ErrCatalogueUser for another user, or why
// sessions cannot end; then the password is as before. After pipeline.ErrUnavailable it may be changed, and
// the sessions not ended.
func (a *Accounts) SetPassword(user uint32, old, new []byte) error {
	x, err := a.accountOf(user)
	if err != nil {
		return err
	}
	if new, err = credentials.Password(new, passwordMin); err != nil {
		return err
	}
	if err := a.hashes.Check(x.hash, old); err != nil {
		return err
	}
	hash, err := a.hashes.Make(new)
	if err != nil {
		return err
	}
	// Tokens end before and after the change. The first end finds out whether there is room for it: then the
	// second one, which also ends what the old password has opened in between, has room too.
	if err := a.cfg.NoteEnd(user); err != nil {
		return err
	}
	var code int64
	if err := a.do(x.part, passwordScript.Call(&code, []string{x.key}, x.hash, hash)); err != nil {
		return err
	}
	switch code {
	case passwordChanged:
		return a.cfg.EndSessions(user)
	case passwordIsOther:
		return credentials.ErrWrongPassword
	}
	return pipeline.UnknownCode("password.lua", code)
}

// What password.lua returns.
const (
	passwordIsOther = 0
	passwordChanged = 1
)

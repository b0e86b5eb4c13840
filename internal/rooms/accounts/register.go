package accounts

import (
	"net/mail"
	"strconv"
	"time"

	"flashsale/internal/credentials"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// Limits of what is registered.
const (
	passwordMin = 8   // characters, as NIST SP 800-63B wants
	emailMax    = 254 // bytes, RFC 5321
)

// What new_id.lua and register.lua return.
const (
	idsFull   = 0
	nameTaken = 0
	made      = 1
)

// User is a user with his name as others see it.
type User struct {
	ID   uint32
	Name string
}

// Register makes an account; email may be "". After pipeline.ErrUnavailable it may have been made: a login
// shows it.
func (a *Accounts) Register(name string, password []byte, email string) (User, error) {
	shown, folded, err := credentials.Name(name)
	switch {
	case err != nil:
		return User{}, err
	case !isEmail(email):
		return User{}, ErrBadEmail
	case a.inCatalogue(folded):
		return User{}, ErrNameTaken
	}
	if password, err = credentials.Password(password, passwordMin); err != nil {
		return User{}, err
	}
	part, key := nameKey(folded)
	if err := a.room(part, key); err != nil { // else it would be for nothing to hash
		return User{}, err
	}
	hash, err := a.hashes.Make(password)
	if err != nil {
		return User{}, err
	}
	u := User{Name: shown}
	if u.ID, err = a.newID(); err != nil {
		return User{}, err
	}
	idPart, idKey := userKey("user", u.ID)
	if err := a.do(idPart, pipeline.Command(new(string), "SET", idKey, shown)); err != nil {
		return User{}, err
	}
	var code int64
	err = a.do(part, registerScript.Call(&code, []string{key}, idText(u.ID), shown, hash, email,
		strconv.FormatInt(time.Now().UnixMilli(), 10)))
	switch {
	case err != nil:
		return User{}, err
	case code == nameTaken: // by another call at this moment
		_ = a.do(idPart, pipeline.Command(new(int64), "DEL", idKey)) // the id is lost; its name would do no harm
		return User{}, ErrNameTaken
	case code != made:
		return User{}, pipeline.UnknownCode("register.lua", code)
	}
	return u, nil
}

// room returns nil if the name is free and another account may be made.
func (a *Accounts) room(part int, key string) error {
	var taken, given int64
	if err := a.do(part, pipeline.Command(&taken, "EXISTS", key)); err != nil {
		return err
	}
	if taken != 0 {
		return ErrNameTaken
	}
	if err := a.do(onePart, pipeline.Command(&given, "GET", idsKey)); err != nil {
		return err
	}
	if given >= int64(a.cfg.UsersMax) {
		return ErrFull
	}
	return nil
}

// newID gives the next id.
func (a *Accounts) newID() (uint32, error) {
	var number int64
	err := a.do(onePart, newIDScript.Call(&number, []string{idsKey}, strconv.Itoa(a.cfg.UsersMax)))
	if err == nil && number == idsFull {
		err = ErrFull
	}
	return uint32(redisx.FirstRegistered + number - 1), err
}

// isEmail reports whether a text is a plain address, or empty.
func isEmail(text string) bool {
	if text == "" {
		return true
	}
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text && len(text) <= emailMax
}

// inCatalogue reports whether the catalogue has a name of this folded form.
func (a *Accounts) inCatalogue(folded string) bool {
	if _, found := a.cfg.UserOf([]byte(folded)); found {
		return true
	}
	_, found := a.unfolded()[folded]
	return found
}

// unfoldedNames are the folded forms of the names that are not folded themselves: of a catalogue in small
// letters there are none.
func unfoldedNames(each func(visit func(name []byte))) map[string]struct{} {
	list := map[string]struct{}{}
	each(func(name []byte) {
		if !credentials.IsFolded(name) {
			if folded := credentials.Fold(string(name)); folded != string(name) {
				list[folded] = struct{}{}
			}
		}
	})
	return list
}

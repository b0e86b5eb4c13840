package accounts

import (
	"strconv"
	"strings"

	"flashsale/internal/credentials"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// NoUserError is an ErrNoUser that has the text for which there is no user.
type NoUserError struct{ Text string }

func (e *NoUserError) Error() string        { return ErrNoUser.Error() + ": " + e.Text }
func (e *NoUserError) Is(target error) bool { return target == ErrNoUser }

// Find returns the users whom texts name: digits are an id, whether there is such a user or not, and other
// text is a name, of the catalogue or registered. It asks each Redis once, all at the same time. Error:
// *NoUserError.
func (a *Accounts) Find(texts ...string) (users []uint32, err error) {
	users = make([]uint32, len(texts))
	ids := make([]string, len(texts))
	calls := a.redis.Calls()
	for i, text := range texts {
		if strings.Trim(text, "0123456789") == "" {
			ids[i] = text
		} else if user, found := a.cfg.UserOf([]byte(text)); found {
			users[i] = user
		} else if _, folded, err := credentials.Name(text); err == nil {
			part, key := nameKey(folded)
			calls.Of(part).Command(&ids[i], "HGET", key, "id")
		}
	}
	if err := calls.Do(); err != nil {
		return nil, err
	}
	for i, text := range texts {
		if users[i] == 0 {
			id, err := strconv.ParseUint(ids[i], 10, 32)
			if err != nil || id == 0 {
				return nil, &NoUserError{text}
			}
			users[i] = uint32(id)
		}
	}
	return users, nil
}

// Names returns the names of users by their ids, without the users that there are not. It asks each Redis
// once, all at the same time.
func (a *Accounts) Names(users []uint32) (names map[uint32]string, err error) {
	names = map[uint32]string{}
	var parts [pipeline.Parts][]uint32 // registered ones
	for _, user := range users {
		if user >= redisx.FirstRegistered {
			part := pipeline.PartOf(idText(user))
			parts[part] = append(parts[part], user)
		} else if name := a.cfg.NameOf(user); name != nil {
			names[user] = string(name)
		}
	}
	var found [pipeline.Parts][]string
	calls := a.redis.Calls()
	for part, users := range parts {
		if len(users) == 0 {
			continue
		}
		words := []string{"MGET"}
		for _, user := range users {
			_, key := userKey("user", user)
			words = append(words, key)
		}
		calls.Of(part).Command(&found[part], words...)
	}
	if err := calls.Do(); err != nil {
		return nil, err
	}
	for part, users := range parts {
		for i, name := range found[part] {
			if name != "" {
				names[users[i]] = name
			}
		}
	}
	return names, nil
}

// Resolve returns the user whom a text names, as in Find. Error: ErrNoUser.
func (a *Accounts) Resolve(text string) (User, error) {
	users, err := a.Find(text)
	if err != nil {
		return User{}, err
	}
	names, err := a.Names(users)
	if err != nil {
		return User{}, err
	}
	name, found := names[users[0]]
	if !found {
		return User{}, &NoUserError{text}
	}
	return User{users[0], name}, nil
}

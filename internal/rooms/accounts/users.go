package accounts

import (
	"strconv"
	"strings"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// Find returns the id of the user with this name, of the catalogue or registered. Error: ErrNoUser.
func (a *Accounts) Find(name string) (uint32, error) {
	if user, found := a.cfg.UserOf([]byte(name)); found {
		return user, nil
	}
	_, folded, err := display(name)
	if err != nil {
		return 0, ErrNoUser
	}
	x, err := a.account(folded)
	return x.ID, err
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

// Resolve returns the user whom a text in a URL names: digits are an id, other text is a name. Error:
// ErrNoUser.
func (a *Accounts) Resolve(text string) (User, error) {
	user, err := uint32(0), error(nil)
	if strings.Trim(text, "0123456789") == "" {
		id, fault := strconv.ParseUint(text, 10, 32)
		if fault != nil {
			return User{}, ErrNoUser
		}
		user = uint32(id)
	} else if user, err = a.Find(text); err != nil {
		return User{}, err
	}
	names, err := a.Names([]uint32{user})
	if err != nil {
		return User{}, err
	}
	name, found := names[user]
	if !found {
		return User{}, ErrNoUser
	}
	return User{user, name}, nil
}

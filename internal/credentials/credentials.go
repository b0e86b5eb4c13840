// Package credentials has what people log in with: the form of their names, and the hashes of their
// passwords. It is below the rooms that keep people: users who register, and operators.
//
// It is slow where a password is hashed: tens of milliseconds of a processor, in another process (Hasher).
// It must never keep or log a password.
package credentials

import "errors"

// Outcomes.
var (
	ErrBadName       = errors.New("this cannot be a name")
	ErrMixedName     = errors.New("the name mixes letters of different scripts")
	ErrBadPassword   = errors.New("the password is too short or too long")
	ErrBusy          = errors.New("too many passwords wait to be hashed")
	ErrWrongPassword = errors.New("wrong name or password")
)

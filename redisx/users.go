package redisx

// FirstRegistered is the lowest id of a user who has registered (internal/rooms/accounts). Users of the
// catalogue have lower ids, so a growing catalogue never meets them.
const FirstRegistered = 1 << 31

// Users is how many users may buy. It gives each a place in a table, without gaps if the ids have none.
type Users struct {
	Catalogue  int // with the ids from 1
	Registered int // with the ids from FirstRegistered
}

// Places is the length of the table.
func (u Users) Places() int { return 1 + u.Catalogue + u.Registered }

// Place is the place of a user, -1 for an id above those of the Users.
func (u Users) Place(user uint32) int {
	switch {
	case int(user) <= u.Catalogue:
		return int(user)
	case user >= FirstRegistered && int(user-FirstRegistered) < u.Registered:
		return 1 + u.Catalogue + int(user-FirstRegistered)
	}
	return -1
}

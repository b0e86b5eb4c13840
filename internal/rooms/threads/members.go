package threads

import "time"

// MemberOf is a member of a group.
type MemberOf struct {
	User uint32
	Role Role
}

// Members returns members of a thread in no order: those of one step of a walk. The walk begins with cursor
// "" and ends when next is "". A user who is a member during the whole walk is returned at least once.
// Errors: ErrNoThread, ErrNotMember.
func (t *Threads) Members(thread string, by uint32, cursor string, limit int) (list []MemberOf, next string,
	err error) {
	panic("to come")
}

// Add makes a user a member of a group, or gives a member this role. Only owners may.
// Errors: ErrNoThread, ErrNotMember, ErrNotOwner, ErrPair, ErrBlocked, ErrFull.
func (t *Threads) Add(thread string, by, user uint32, role Role) error { panic("to come") }

// Remove takes a member out of a group. Owners may remove anybody, and everybody may leave (user is by). When
// the last owner leaves, another member becomes an owner; with the last member the group ends. It is no
// error if the user is no member. Errors: ErrNoThread, ErrNotMember, ErrNotOwner, ErrPair.
func (t *Threads) Remove(thread string, by, user uint32) error { panic("to come") }

// RoomID is the thread of a sale's room.
func RoomID(sale string) string { return roomPrefix + sale }

// ShowRoom returns the room of a sale. It exists from the first call on.
func (t *Threads) ShowRoom(sale string) (Thread, error) { panic("to come") }

// The methods that follow are for root alone: the caller has to check that. They work in rooms.

// Erase takes the content of a message away; its position stays. Errors: ErrNoThread, ErrNoMessage.
func (t *Threads) Erase(thread string, message int64) error { panic("to come") }

// Pin pins a message, 0 for none. Errors: ErrNoThread, ErrNoMessage.
func (t *Threads) Pin(thread string, message int64) error { panic("to come") }

// Mute keeps a user from writing for a time; 0 ends that.
func (t *Threads) Mute(thread string, user uint32, d time.Duration) error { panic("to come") }

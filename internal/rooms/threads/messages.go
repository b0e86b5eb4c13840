package threads

// Post stores a message of a user. clientID makes it safe to repeat: a message that is stored already is
// returned again. clientID "" stores a new message always.
// Errors: ErrBadMessage, ErrNoThread, ErrNotMember, ErrMuted, ErrPace, ErrBusy.
func (t *Threads) Post(thread string, by uint32, clientID, content string) (Message, error) {
	panic("to come")
}

// Messages returns messages in the order of their ids, and the id of the newest message of the thread.
// Without After it returns the newest ones (before Before), with After the oldest ones after it. by is 0 for
// somebody without a login, who may read rooms. Errors: ErrNoThread, ErrNotMember.
func (t *Threads) Messages(thread string, by uint32, p Page) (list []Message, last int64, err error) {
	panic("to come")
}

// MayRead reports whether a user may read a thread at this moment. by 0 is somebody without a login. A thread
// that does not exist has no readers, but a room has.
func (t *Threads) MayRead(thread string, by uint32) (bool, error) { panic("to come") }

// Past is the newest part of a thread.
type Past struct {
	Epoch    string    // another one: another thread of this id, whose messages count from 1 again
	Last     int64     // id of the newest message
	First    int64     // of the oldest message that Redis or the archive still has; Last+1 for none
	Messages []Message // in order
}

// History returns the messages after since, at most limit. limit 0 returns none and costs the least. Whoever
// asks must know that the reader may read. Messages are gone if since+1 < First.
// A thread without a message has Last 0. Errors: ErrNoThread.
func (t *Threads) History(thread string, since int64, limit int) (Past, error) { panic("to come") }

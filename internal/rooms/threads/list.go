package threads

// Page asks for a part of a list. Zero values mean "no bound"; Limit 0 means PageMax.
type Page struct {
	Before, After int64 // both excluded
	Limit         int
}

// List returns the threads of a user, newest change first. Before and After are the Cursors of threads. After
// is for clients that poll: it returns what has changed since that cursor; a large group that had a message
// in the minute before may come again. more reports whether further threads follow.
func (t *Threads) List(user uint32, p Page) (list []Thread, more bool, err error) { panic("to come") }

// Get returns a thread as a user sees it. Errors: ErrNoThread, ErrNotMember.
func (t *Threads) Get(thread string, by uint32) (Thread, error) { panic("to come") }

// Change is a change to a member's view of a thread; nil leaves a value as it is.
type Change struct {
	Muted    *bool
	Nickname *string // "" takes it away
	Read     *int64  // up to this message; it never goes back, and not past the newest message
}

// Change changes the view of a member and returns it. Errors: ErrNoThread, ErrNotMember, ErrBadThread.
func (t *Threads) Change(thread string, by uint32, c Change) (Thread, error) { panic("to come") }

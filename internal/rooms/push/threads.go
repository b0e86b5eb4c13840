package push

import (
	"context"
	"errors"
	"time"

	"flashsale/redisx/pipeline"
)

// Outcomes of the functions of Threads. Another error means that the store does not answer.
var (
	ErrDenied  = errors.New("no such thread, or no right to it")
	ErrTooMany = errors.New("too many messages")
	ErrRefused = errors.New("the message cannot be stored")
)

// Message is a stored message. Its id is its position in the thread, from 1 without gaps.
type Message struct {
	ID      uint64
	Thread  string
	User    uint32
	Content string
	Created time.Time
	Erased  bool // its content is gone
}

// History is a piece of a thread as it is stored.
type History struct {
	Epoch    string // another one: another thread of this id
	Last     uint64 // id of the newest message, 0 without any
	Messages []Message
}

// What is the kind of an Entry. Any other one is told to the members as it is.
type What string

// The kinds that change what this server does.
const (
	Stored What = "message" // a message was stored
	Erased What = "erased"  // the content of a message is gone
	Joined What = "joined"  // a user is a member now
	Left   What = "left"    // a user is no longer a member
	Ended  What = "ended"   // the thread is gone
	Missed What = "missed"  // lines of the log of the part can no longer be read
)

// Entry is a line of the log of a part of the threads. The log has a line for each change that others must
// see, in the order of the changes.
type Entry struct {
	Part     int
	Position int64 // in the log of the part; it grows
	What     What
	Thread   string
	Large    bool    // the members get no updates of the thread: they subscribe to it
	User     uint32  // the member of Joined and Left
	Message  Message // of Stored; of other kinds its ID
}

// Positions are places in the logs of all parts.
type Positions [pipeline.Parts]int64

// Threads is the room that stores the messages, as far as the push service needs it. App makes it.
type Threads interface {
	// Post stores a message. Repeated with the same client ID it returns the first message.
	Post(thread string, by uint32, clientID, content string) (Message, error)
	// History returns the stored messages after an id, at most limit, oldest first; limit 0 returns only the
	// position. Messages that are gone are left out.
	History(thread string, after uint64, limit int) (History, error)
	// MayRead reports whether a user may read a thread now.
	MayRead(thread string, user uint32) (bool, error)
	// Of returns the groups of a user that are not large.
	Of(user uint32) ([]string, error)
	// Members returns the members of a thread that is not large, and whether each has muted it.
	Members(thread string) (map[uint32]bool, error)
	// Now returns the positions of the newest lines.
	Now() (Positions, error)
	// Tail calls do for each line after the positions, in the order of each log, on one goroutine for each
	// part. It returns nil after the end of ctx.
	Tail(ctx context.Context, from Positions, do func(Entry)) error
}

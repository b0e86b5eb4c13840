package push

import (
	"context"
	"errors"
	"time"
)

// Outcomes of the functions of Threads. Another error means that the store does not answer.
var (
	ErrDenied  = errors.New("no such thread, or no right to it")
	ErrTooMany = errors.New("too many messages")
	ErrRefused = errors.New("the message cannot be stored") // wrap it: the client gets the text
)

// Message is a stored message. Its id is its position in the thread, from 1 without gaps.
type Message struct {
	ID      uint64
	Thread  string
	User    uint32
	Content string
	Created time.Time
}

// History is a piece of a thread as it is stored.
type History struct {
	Epoch    string // of the thread's creation
	Last     uint64 // id of the newest message, 0 without any
	Messages []Message
}

// What a line of a log tells.
const (
	Stored  = iota // a message
	Added          // a member
	Removed        // a member, also one who has left
	Changed        // anything else in the thread: members read it again
)

// Entry is a line of the log of a part of the threads. The log has a line for each change that others must
// see, in the order of the changes.
type Entry struct {
	Position string // in the log of the part
	What     int
	Thread   string
	Large    bool    // the members have no channel of their own for the thread: they subscribe to it
	User     uint32  // the member of Added and Removed
	Message  Message // of Stored
	Event    []byte  // JSON for the members, of Changed
}

// Threads is the room that stores the messages, as far as the push service needs it. App makes it.
type Threads interface {
	// Post stores a message. Repeated with the same client ID it returns the first message.
	Post(thread string, by uint32, clientID, content string) (Message, error)
	// History returns the stored messages after an id, at most limit, oldest first; limit 0 returns only the
	// position. Messages that are gone are left out.
	History(thread string, after uint64, limit int) (History, error)
	// MayRead returns nil, ErrDenied or that the store does not answer.
	MayRead(thread string, user uint32) error
	// Of returns the threads of a user that are not large.
	Of(user uint32) ([]string, error)
	// Tail calls deliver for each line of the logs that is written from now on, in the order of each log, and
	// ready once it follows all logs. deliver runs on one goroutine for each part. lost is called, on the same
	// goroutine, when lines of a part cannot be read any more. It returns nil after the end of ctx.
	Tail(ctx context.Context, ready func(), deliver func(part int, e Entry), lost func(part int)) error
}

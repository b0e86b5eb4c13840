// Package threads keeps conversations in Redis: threads of two users, groups, and the room of a sale. A
// message is stored first, in one script; what follows from it (the lists of its readers, pushes) is read
// from the log that the same script writes.
//
// A Threads belongs to each process that serves requests or pushes. One Keeper in each server does the work
// behind it: it makes the members' lists of threads follow the log, and trims old messages.
//
// It must not know HTTP, nor the sale, nor who a user is: users are ids here. It is slow where a call waits
// for Redis: one round trip for most calls, two to list threads or to start one.
package threads

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// Limits that clients meet.
const (
	ContentMax      = 4 << 10   // bytes of a message
	ClientIDMax     = 64        // bytes of the client's id of a message, and of the key of a new group
	NicknameMax     = 64        // characters
	ParticipantsMax = 200       // other participants of a new group
	MembersMax      = 1_000_000 // of a group
	PageMax         = 100       // threads, messages or members of one reply
	ShownMax        = 20        // participants that a Thread names
)

// Outcomes.
var (
	ErrNoThread   = errors.New("there is no such thread")
	ErrNotMember  = errors.New("only members of the thread may do this")
	ErrNotOwner   = errors.New("only an owner of the group may do this")
	ErrLastOwner  = errors.New("the last owner of a group stays an owner")
	ErrNoGroup    = errors.New("this kind of thread cannot do this") // a pair has no comings and goings
	ErrBlocked    = errors.New("one of the users has blocked the other")
	ErrStarts     = errors.New("the user has started as many threads as may")
	ErrStartsRate = errors.New("the user has started as many threads as may in an hour")
	ErrFull       = errors.New("the group has as many members as may")
	ErrBadStart   = errors.New("such a thread cannot be started")
	ErrBadChange  = errors.New("such a change cannot be made")
	ErrBadMessage = errors.New("the message is empty or not UTF-8") // or its client id is too long
	ErrTooLong    = errors.New("the message is too long")
	ErrNoUser     = errors.New("there is no such user")
	ErrMuted      = errors.New("the user may not write in this room for a time")
	ErrPace       = errors.New("the room takes one message of a user in a time") // a *PaceError has the time
	ErrNoMessage  = errors.New("there is no such message")
	// ErrBusy: so many changes wait for the keeper that further ones are refused; nothing was done.
	ErrBusy = fmt.Errorf("%w: changes to threads wait for a keeper", pipeline.ErrUnavailable)
	// ErrArchive: the archive does not answer; messages that Redis has can be read.
	ErrArchive = fmt.Errorf("%w: the archive of old messages does not answer", pipeline.ErrUnavailable)
)

// PaceError is an ErrPace.
type PaceError struct{ Wait time.Duration } // until the user may write

func (e *PaceError) Error() string        { return ErrPace.Error() }
func (e *PaceError) Is(target error) bool { return target == ErrPace }

// Config is what the room needs.
type Config struct {
	Redis       []pipeline.Config // of the parts, see redisx.Config.Spread
	Fanout      int               // members from which on a group is large
	MessagesMax int               // of a thread that Redis keeps
	AgeMax      time.Duration     // of a message that Redis keeps
	Pace        time.Duration     // between two messages of a user in a room; 0 for no slow mode
	Sale        string            // its room is there from the first call on; "" for none

	// Exist reports whether all of these are users; nil: every number is one.
	Exist func(users []uint32) (bool, error)
	// Blocked reports whether a user has blocked one of the others, or one of them the user; nil: never.
	Blocked func(user uint32, others []uint32) (bool, error)
	// Archive gets messages before Redis forgets them; nil: they are gone then.
	Archive Archive

	// Now is the clock, to the millisecond; nil is that of Redis, which all servers share.
	Now func() time.Time
}

// Archive keeps messages that Redis no longer has. A message has the same id in both. A group that has ended
// may be started again under its id, with the same key: then other messages come, from id 1, and the epoch
// is another one.
type Archive interface {
	// Store keeps messages of a thread, in order; the same messages may come again. A message that was
	// removed stays removed.
	Store(thread, epoch string, messages []Message) error
	// Load returns the messages from and to these ids, both included, in order.
	Load(thread, epoch string, from, to int64) ([]Message, error)
	// Erase makes a message one that was removed.
	Erase(thread, epoch string, message int64) error
	// Forget removes all messages of a thread that has ended.
	Forget(thread, epoch string) error
}

// Kind is the kind of a thread.
type Kind string

// The kinds.
const (
	Pair  Kind = "pair"  // of two users, for ever
	Group Kind = "group" // members come and go
	Room  Kind = "room"  // everybody may read, users may write; it has no members
)

// Role is the role of a member.
type Role string

// The roles. In a Pair both are members.
const (
	Owner  Role = "owner"
	Member Role = "member"
)

// Thread is a thread as one of its members sees it, or a room.
type Thread struct {
	ID           string
	Kind         Kind
	Owner        uint32   // of this view: the user who asks; 0 for a Room
	Role         Role     // of that user
	Participants []uint32 // at most ShownMax, in the order of joining
	Members      int64
	Large        bool // lists of threads are not kept for each of its messages
	History      bool // new members see the messages from before
	Muted        bool
	Nickname     string // that the user gave the thread
	Last         int64  // id of the newest message, 0 for none
	Read         int64  // up to here the user has read
	Unread       int64
	Pinned       *Message // nil for none
	Created      time.Time
	Updated      time.Time
	Cursor       int64 // place in List
}

// Message is a message. Its ID is its position in the thread: 1, 2, 3, without gaps.
type Message struct {
	ID      int64
	Thread  string
	User    uint32
	Content string
	Created time.Time
	Removed bool // its content is gone; then User and Created are zero
}

// Threads is the room of conversations. Its methods are safe for concurrent use. Every method may return
// pipeline.ErrUnavailable; then a change may have been made, and all changes may be repeated.
type Threads struct {
	cfg   Config
	redis *pipeline.Spread
}

// New makes a Threads. Run must run for its calls to be answered.
func New(cfg Config) *Threads {
	return &Threads{cfg: cfg, redis: pipeline.NewSpread(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{startScript, postScript, readScript, changeScript, addScript, removeScript,
			eraseScript, pinScript, muteScript, reserveScript},
		Outage: &pipeline.Outage{Effect: "conversations get 503"},
	})}
}

// Run keeps the connections until ctx ends, and returns nil then.
func (t *Threads) Run(ctx context.Context) error { return t.redis.Run(ctx) }

// now is the last ARGV of most scripts: Unix milliseconds, "" for the clock of Redis.
func (c *Config) now() string {
	if c.Now == nil {
		return ""
	}
	return strconv.FormatInt(c.Now().UnixMilli(), 10)
}

// of is the connection to a thread.
func (t *Threads) of(thread string) *pipeline.Conn { return t.redis.Part(pipeline.PartOf(thread)) }

// run runs a script of a thread that returns a code.
func (t *Threads) run(s *pipeline.Script, thread string, names []string, args ...string) error {
	var code int64
	err := t.of(thread).Do(s.Call(&code, keysOf(thread, names...), args...))
	if err != nil {
		return err
	}
	return outcome(code)
}

// What the scripts return.
const (
	isDone      = 0
	isThere     = 1 // start.lua, post.lua; erase.lua: in the archive
	noThread    = 2
	noMember    = 3
	noOwner     = 4 // add.lua, remove.lua
	noGroup     = 5 // the same, and mute.lua: no room
	isBusy      = 6
	isFull      = 7
	lastOwner   = 8
	noMessage   = 9
	postMuted   = 4
	postPace    = 5
	tooMany     = 1 // reserve.lua
	tooManyHour = 2
)

// errArchived: the archive has the message that is to be erased.
var errArchived = errors.New("the archive has the message")

// outcome is the error of a code, except of those that mean another thing in a script.
func outcome(code int64) error {
	switch code {
	case isDone:
		return nil
	case isThere:
		return errArchived
	case noThread:
		return ErrNoThread
	case noMember:
		return ErrNotMember
	case noOwner:
		return ErrNotOwner
	case noGroup:
		return ErrNoGroup
	case isBusy:
		return ErrBusy
	case isFull:
		return ErrFull
	case lastOwner:
		return ErrLastOwner
	case noMessage:
		return ErrNoMessage
	}
	return pipeline.UnknownCode("a script of threads", code)
}

// milli is a time in Redis.
func milli(text string) time.Time {
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms)
}

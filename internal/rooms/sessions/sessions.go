// Package sessions knows which logins have ended before their tokens expire: single sessions, and all
// sessions of a user or an operator up to a moment. Every server learns of an end within a second.
//
// Redis keeps the ends, and each process a copy (hear.go). IsEnded asks the copy alone: it is for the order
// path and neither waits nor allocates. While Redis is away the ends that are known hold. The other calls
// are slow: they wait for Redis, EndAll also for the next second.
//
// The package knows nothing of HTTP, of tokens or of the sale.
package sessions

import (
	"context"
	_ "embed" // the script
	"errors"
	"strconv"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	peopleMax   = 200_000         // who have ended a session whose token may still be valid
	sessionsMax = 16              // that one of them has ended one by one; one more ends all
	skewMax     = 2 * time.Second // that EndAll waits at most
)

// ErrTooMany is the outcome of an end of somebody who has no place among the others.
var ErrTooMany = errors.New("too many people have ended sessions")

// Config is what the room needs.
type Config struct {
	Redis    pipeline.Config
	TokenTTL time.Duration // how long a token is valid, the same on all servers; see Lifetime
}

// operatorMax is how long the session of an operator lasts at most.
const operatorMax = 12 * time.Hour

// Lifetime is how long a session of the holder lasts where a token is valid for this time.
func Lifetime(h Holder, tokenTTL time.Duration) time.Duration {
	if h&operators != 0 {
		return min(tokenTTL, operatorMax)
	}
	return tokenTTL
}

// Sessions is the room in one process. Its methods are safe for concurrent use.
type Sessions struct {
	cfg   Config
	conn  *pipeline.Conn
	ended ended
	heard float64 // the latest end that Redis has told, Unix milliseconds; only hear uses it
}

// New makes the room. Run must run.
func New(cfg Config) *Sessions {
	return &Sessions{cfg: cfg, conn: pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{endScript},
		Outage:  &pipeline.Outage{Effect: "to log out gets 503, and logouts on other servers are not heard of"},
	})}
}

// Run keeps the connection, and hears of ends, until ctx ends. It returns nil.
func (s *Sessions) Run(ctx context.Context) error {
	background.Beside(s.conn.Run, func() { s.hear(ctx) })
	return nil
}

// Up reports whether Redis can be reached.
func (s *Sessions) Up() bool { return s.conn.Up() }

// Holder is somebody who has sessions.
type Holder uint64

const operators Holder = 1 << 32 // above the numbers of users

// User is the user with this id.
func User(id uint32) Holder { return Holder(id) }

// Operator is the operator with this number.
func Operator(number uint32) Holder { return operators | Holder(number) }

// String is the name of a holder in Redis.
func (h Holder) String() string {
	kind := "u"
	if h&operators != 0 {
		kind = "o"
	}
	return kind + strconv.FormatUint(uint64(uint32(h)), 10)
}

// holderOf reads what String has written.
func holderOf(text string) (h Holder, ok bool) {
	if len(text) < 2 {
		return 0, false
	}
	number, err := strconv.ParseUint(text[1:], 10, 32)
	if text[0] == 'o' {
		number |= uint64(operators)
	}
	return Holder(number), err == nil && (text[0] == 'o' || text[0] == 'u')
}

// IsEnded reports whether this session has ended, whose token expires then (Unix seconds).
func (s *Sessions) IsEnded(h Holder, session uint32, expires int64) bool {
	return s.ended.has(h, session, expires)
}

// End ends a session whose token expires then (Unix seconds), on every server within a second. If the holder
// has ended too many single sessions lately, all of them end, as with EndAll: a session that its holder has
// ended must never come back. Error: ErrTooMany.
func (s *Sessions) End(h Holder, session uint32, expires int64) error {
	end, err := s.note(h, strconv.FormatUint(uint64(session), 10), expires)
	switch {
	case err != nil:
		return err
	case end == tooManySessions:
		return s.EndAll(h)
	}
	s.ended.add(map[Holder]ends{h: {single: []single{{session, expires}}}}, time.Now().Unix())
	return nil
}

// EndAll ends all sessions of a holder, on every server within a second; those that begin after it returns
// are valid. It waits for the next second: a token has no finer time. Error: ErrTooMany.
func (s *Sessions) EndAll(h Holder) error {
	end, err := s.noteAll(h)
	if err != nil {
		return err
	}
	next := time.Unix(s.last(h, end)+1, 0).Add(-Lifetime(h, s.cfg.TokenTTL))
	time.Sleep(min(time.Until(next), skewMax))
	return nil
}

// NoteAll is EndAll without the wait: sessions that begin in the same second end too.
func (s *Sessions) NoteAll(h Holder) error {
	_, err := s.noteAll(h)
	return err
}

func (s *Sessions) noteAll(h Holder) (end int64, err error) {
	if end, err = s.note(h, "", 0); err == nil {
		s.ended.add(map[Holder]ends{h: {all: s.last(h, end)}}, time.Now().Unix())
	}
	return end, err
}

// last is when the last token of a holder expires that was minted in the second of an end (Unix
// milliseconds).
func (s *Sessions) last(h Holder, end int64) (expires int64) {
	return time.Unix(end/1000+1, 0).Add(Lifetime(h, s.cfg.TokenTTL) - 1).Unix()
}

// What end.lua returns, beside the time.
const (
	tooManyPeople   = 0
	tooManySessions = -1
)

// note tells Redis of an end.
func (s *Sessions) note(h Holder, session string, expires int64) (end int64, err error) {
	err = s.conn.Do(endScript.Call(&end, []string{changedKey, notesKey}, h.String(), session,
		strconv.FormatInt(expires, 10), strconv.FormatInt((s.cfg.TokenTTL+time.Second).Milliseconds(), 10),
		strconv.Itoa(peopleMax), strconv.Itoa(sessionsMax)))
	switch {
	case err != nil:
		return 0, err
	case end == tooManyPeople:
		return 0, ErrTooMany
	case end < tooManySessions:
		return 0, pipeline.UnknownCode("end.lua", end)
	}
	return end, nil
}

//go:embed end.lua
var endLua string

var endScript = pipeline.NewScript(endLua)

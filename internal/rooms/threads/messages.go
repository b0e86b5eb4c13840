package threads

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"flashsale/redisx/pipeline"
)

// Post stores a message of a user. clientID makes it safe to repeat: a message that was stored under it, one
// of the user's newest 100 in this thread and 24 hours, is returned again. clientID "" always stores one.
// Errors: ErrBadMessage, ErrTooLong, ErrNoThread, ErrNotMember, ErrBlocked, ErrMuted, ErrPace, ErrBusy.
func (t *Threads) Post(thread string, by uint32, clientID, content string) (m Message, err error) {
	switch {
	case content == "" || len(clientID) > ClientIDMax || !utf8.ValidString(content):
		return m, ErrBadMessage
	case len(content) > ContentMax:
		return m, ErrTooLong
	case kindOf(thread) == "":
		return m, ErrNoThread
	}
	if err := t.mayTalk(thread, by); err != nil {
		return m, err
	}
	err = t.inRoom(thread, func() error {
		m, err = t.post(thread, by, clientID, content)
		return err
	})
	return m, err
}

// mayTalk checks that in a thread of two no user has blocked the other.
func (t *Threads) mayTalk(thread string, by uint32) error {
	one, other, ok := pairOf(thread)
	switch {
	case !ok || t.cfg.Blocked == nil || by != one && by != other: // post.lua refuses others
		return nil
	case by == other:
		other = one
	}
	blocked, err := t.cfg.Blocked(by, []uint32{other})
	if err == nil && blocked {
		err = ErrBlocked
	}
	return err
}

func (t *Threads) post(thread string, by uint32, clientID, content string) (Message, error) {
	user := idText(by)
	var r posted
	err := t.of(thread).Do(postScript.Call(&r, keysOf(thread, "", "members", "messages", "sent:"+user, "muted",
		"pace:"+user, "log", "state", "trim"), thread, user, clientID, content, strconv.Itoa(t.cfg.MessagesMax),
		strconv.FormatInt(t.cfg.AgeMax.Milliseconds(), 10), strconv.FormatInt(t.cfg.Pace.Milliseconds(), 10),
		bit(t.cfg.Archive != nil), t.cfg.now()))
	if err != nil {
		return Message{}, err
	}
	m := Message{ID: r.number(1), Thread: thread, User: by, Content: content}
	switch code := r.number(0); code {
	case isDone:
		m.Created = time.UnixMilli(r.number(2))
		return m, nil
	case isThere:
		if m.Created = time.UnixMilli(r.number(2)); r.number(2) == 0 {
			return t.archived(thread, user, m.ID)
		}
		m.Content = r[3]
		return m, nil
	case postMuted:
		return Message{}, ErrMuted
	case postPace:
		return Message{}, &PaceError{time.Duration(r.number(2)) * time.Millisecond}
	default:
		return Message{}, outcome(code)
	}
}

// archived returns a message that Redis has no more: it was removed, or it is in the archive.
func (t *Threads) archived(thread, user string, id int64) (Message, error) {
	past, err := t.read(thread, user, 0, id-1, 1)
	if len(past.Messages) == 1 && past.Messages[0].ID == id {
		return past.Messages[0], err
	}
	return Message{ID: id, Thread: thread, Removed: true}, err
}

// posted is the reply of post.lua.
type posted []string

func (r posted) number(i int) int64 {
	if i >= len(r) {
		return 0
	}
	return number(r[i])
}

// Messages returns messages in the order of their ids, and the id of the newest message of the thread.
// Without After it returns the newest ones (before Before), with After (0 is the beginning) the oldest ones
// after it. by is 0 for somebody without a login, who may read rooms. Errors: ErrNoThread, ErrNotMember,
// ErrArchive.
func (t *Threads) Messages(thread string, by uint32, p Page) (list []Message, last int64, err error) {
	after := int64(-1)
	if p.After != nil {
		after = *p.After
	}
	past, err := t.read(thread, idText(by), p.Before, after, p.limit())
	return past.Messages, past.Last, err
}

// MayRead reports whether a user may read a thread at this moment. by 0 is somebody without a login. A
// thread that does not exist has no readers.
func (t *Threads) MayRead(thread string, by uint32) (bool, error) {
	switch _, err := t.read(thread, idText(by), 0, -1, 0); err {
	case ErrNoThread, ErrNotMember:
		return false, nil
	default:
		return err == nil, err
	}
}

// Past is a part of a thread.
type Past struct {
	Epoch    string    // another one: another thread of this id, whose messages count from 1 again
	Last     int64     // id of the newest message
	First    int64     // id of the oldest message that is still there; Last+1 for none
	Messages []Message // in order
}

// History returns the messages after since, at most limit. limit 0 returns none and costs the least. Whoever
// asks must know that the reader may read. Messages are gone if since+1 < First. Errors: ErrNoThread,
// ErrArchive.
func (t *Threads) History(thread string, since int64, limit int) (Past, error) {
	return t.read(thread, "", 0, since, limit)
}

// read reads messages of a thread. user, before and after are as for read.lua.
func (t *Threads) read(thread, user string, before, after int64, limit int) (past Past, err error) {
	if kindOf(thread) == "" {
		return past, ErrNoThread
	}
	var r []string
	err = t.inRoom(thread, func() error {
		err := t.of(thread).Do(readScript.Call(&r, keysOf(thread, "", "members", "messages"), user,
			strconv.FormatInt(before, 10), strconv.FormatInt(after, 10), strconv.Itoa(limit),
			bit(t.cfg.Archive != nil)))
		if err != nil {
			return err
		}
		return outcome(number(r[0]))
	})
	if err != nil {
		return past, err
	}
	past = Past{Epoch: epoch(milli(r[3])), Last: number(r[1]), First: number(r[4])}
	first, from, to := number(r[2]), number(r[5]), number(r[6])
	past.Messages = entriesOf(thread, r[7:], max(from, first), to)
	if t.cfg.Archive == nil || from > min(to, first-1) {
		return past, nil
	}
	old, err := t.cfg.Archive.Load(thread, past.Epoch, from, min(to, first-1))
	switch {
	case err == nil:
		past.Messages = append(old, past.Messages...)
	case after >= 0 || len(past.Messages) == 0: // else the page before these messages gets the error
		return past, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return past, nil
}

// entriesOf makes the messages from and to these ids of the entries that Redis has. What has no entry was
// erased.
func entriesOf(thread string, r []string, from, to int64) (list []Message) {
	for id := from; id <= to; id++ {
		if len(r) > 0 && number(r[0]) == id {
			list = append(list, messageOf(thread, r[0], r[1], r[2]))
			r = r[3:]
		} else {
			list = append(list, Message{ID: id, Thread: thread, Removed: true})
		}
	}
	return list
}

// Erase takes the content of a message away; its position stays. The caller checks that the user may.
// Errors: ErrNoThread, ErrNoMessage, ErrBusy, ErrArchive.
func (t *Threads) Erase(thread string, message int64) error {
	err := t.moderate(eraseScript, thread, message, bit(t.cfg.Archive != nil))
	if err != errArchived {
		return err
	}
	past, err := t.History(thread, 0, 0)
	if err != nil {
		return err
	}
	if err := t.cfg.Archive.Erase(thread, past.Epoch, message); err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return nil
}

// Pin pins a message, 0 for none. The caller checks that the user may. Errors: ErrNoThread, ErrNoMessage,
// ErrBusy.
func (t *Threads) Pin(thread string, message int64) error {
	return t.moderate(pinScript, thread, message)
}

func (t *Threads) moderate(s *pipeline.Script, thread string, message int64, more ...string) error {
	switch {
	case kindOf(thread) == "":
		return ErrNoThread
	case message < 0 || message > positionMax:
		return ErrNoMessage
	}
	return t.inRoom(thread, func() error {
		return t.run(s, thread, []string{"", "messages", "log", "state"}, append([]string{thread,
			strconv.FormatInt(message, 10), t.cfg.now()}, more...)...)
	})
}

// MuteMax is the longest time for which a user may be muted.
const MuteMax = 31 * 24 * time.Hour

// Mute keeps a user from writing in a room for a time; 0 ends that. The caller checks that root asks.
// Errors: ErrNoThread, ErrNoGroup if it is no room, ErrBadChange, ErrBusy.
func (t *Threads) Mute(thread string, user uint32, d time.Duration) error {
	switch {
	case kindOf(thread) == "":
		return ErrNoThread
	case d < 0 || d > MuteMax:
		return ErrBadChange
	}
	return t.inRoom(thread, func() error {
		return t.run(muteScript, thread, []string{"", "muted", "log", "state"}, thread, idText(user),
			strconv.FormatInt(d.Milliseconds(), 10), strconv.FormatInt(MuteMax.Milliseconds(), 10), t.cfg.now())
	})
}

package threads

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"flashsale/redisx/pipeline"
)

// view is what Redis has about a thread and one of its members.
type view struct {
	id     string
	fields []string // of threadFields
	member string
}

// threadFields are those of a thread's hash that a Thread shows.
var threadFields = []string{"kind", "created", "updated", "last", "members", "large", "history", "shown",
	"pinned", "pinned_head", "pinned_content"}

// ask adds the commands that read the view of a user to a call.
func (v *view) ask(x *pipeline.Call, user uint32) {
	keys := keysOf(v.id, "", "members")
	x.Command(&v.fields, append([]string{"HMGET", keys[0]}, threadFields...)...)
	x.Command(&v.member, "HGET", keys[1], idText(user))
}

// thread makes a Thread of what was read. Errors: ErrNoThread, ErrNotMember.
func (v *view) thread(user uint32) (Thread, error) {
	f := v.fields
	t := Thread{ID: v.id, Kind: Kind(f[0]), Created: milli(f[1]), Updated: milli(f[2]), Last: number(f[3]),
		Members: number(f[4]), Large: f[5] != "", History: f[6] == "1"}
	if t.Kind == "" {
		return Thread{}, ErrNoThread
	}
	t.Cursor = number(f[2]) * 1000
	if f[8] != "" {
		pinned := messageOf(v.id, f[8], f[9], f[10])
		t.Pinned = &pinned
	}
	if t.Kind == Room {
		t.History = true
		return t, nil
	}
	for text := range strings.SplitSeq(f[7], ",") {
		id, _ := userOf(text)
		t.Participants = append(t.Participants, id)
	}
	m, ok := memberOf(v.member)
	if !ok {
		return Thread{}, ErrNotMember
	}
	t.Owner, t.Role, t.Read, t.Muted, t.Nickname = user, m.role, max(m.read, m.joined), m.muted, m.nickname
	t.Unread = max(0, t.Last-t.Read)
	return t, nil
}

// member is a member as member.lua writes it.
type member struct {
	role         Role
	joined, read int64
	muted        bool
	nickname     string
}

func memberOf(text string) (m member, ok bool) {
	f := strings.SplitN(text, ":", 5)
	if len(f) < 5 {
		return m, false
	}
	return member{roleOf(f[0]), number(f[1]), number(f[2]), f[3] == "1", f[4]}, true
}

// The letters of roles in Redis.
const ownerLetter, memberLetter = "o", "m"

func roleOf(letter string) Role {
	if letter == ownerLetter {
		return Owner
	}
	return Member
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Get returns a thread as a user sees it. Errors: ErrNoThread, ErrNotMember.
func (t *Threads) Get(thread string, by uint32) (Thread, error) {
	if kindOf(thread) == "" {
		return Thread{}, ErrNoThread
	}
	var found Thread
	err := t.inRoom(thread, func() (err error) {
		v := view{id: thread}
		x := pipeline.NewCall()
		v.ask(x, by)
		if err = t.of(thread).Do(x); err == nil {
			found, err = v.thread(by)
		}
		return err
	})
	return found, err
}

// inRoom does a task in a thread. If that is the room of the sale, it makes the room first where necessary.
func (t *Threads) inRoom(thread string, do func() error) error {
	err := do()
	if err != ErrNoThread || t.cfg.Sale == "" || thread != RoomID(t.cfg.Sale) {
		return err
	}
	if err := t.start(thread, Room, 0, true, nil); err != nil {
		return err
	}
	return do()
}

// ShowRoom returns the room of a sale. That of Config.Sale exists from the first call on.
// Errors: ErrNoThread.
func (t *Threads) ShowRoom(sale string) (Thread, error) { return t.Get(RoomID(sale), 0) }

// Change is a change to a member's view of a thread; nil leaves a value as it is.
type Change struct {
	Muted    *bool
	Nickname *string // "" takes it away
	Read     *int64  // up to this message; it never goes back, and not past the newest message
}

// Change changes the view of a member and returns it. Errors: ErrNoThread, ErrNotMember, ErrBadChange.
func (t *Threads) Change(thread string, by uint32, c Change) (Thread, error) {
	var muted, nickname, read string
	if c.Muted != nil {
		muted = bit(*c.Muted)
	}
	if c.Nickname != nil {
		if !utf8.ValidString(*c.Nickname) || utf8.RuneCountInString(*c.Nickname) > NicknameMax {
			return Thread{}, ErrBadChange
		}
		nickname = "=" + *c.Nickname
	}
	if c.Read != nil {
		if *c.Read < 0 || *c.Read > positionMax {
			return Thread{}, ErrBadChange
		}
		read = strconv.FormatInt(*c.Read, 10)
	}
	switch kindOf(thread) {
	case "":
		return Thread{}, ErrNoThread
	case Room:
		return Thread{}, ErrNoGroup
	}
	err := t.run(changeScript, thread, []string{"", "members"}, idText(by), muted, nickname, read)
	if err != nil {
		return Thread{}, err
	}
	return t.Get(thread, by)
}

// positionMax is above every position; the scripts count exactly up to there.
const positionMax = 1<<53 - 1

// messageOf makes a message of its fields in Redis.
func messageOf(thread, id, head, content string) Message {
	user, at, _ := strings.Cut(head, ":")
	by, _ := userOf(user)
	return Message{ID: number(id), Thread: thread, User: by, Content: content, Created: milli(at)}
}

// Epoch is a text for the moment at which a thread began.
func epoch(created time.Time) string { return strconv.FormatInt(created.UnixMilli(), 36) }

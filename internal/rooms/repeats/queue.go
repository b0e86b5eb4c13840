package repeats

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// waiting is a reply in the queue.
type waiting struct {
	event    string
	peer     int64
	reply    string // a count, or noText
	attempts int    // that have failed
}

// noText stands in the queue for the reply to a message without a text.
const noText = "?"

// text is the reply as the conversation gets it.
func (r *waiting) text() string {
	if r.reply == noText {
		return "Пришлите текст, и я отвечу, сколько раз он приходил."
	}
	return r.reply
}

func parseWaiting(event, text string) (*waiting, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is not peer:reply:attempts", text)
	}
	peer, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("cannot read the peer of a reply: %w", err)
	}
	attempts, err := strconv.Atoi(parts[2])
	if err != nil {
		return nil, fmt.Errorf("cannot read the attempts of a reply: %w", err)
	}
	return &waiting{event: event, peer: peer, reply: parts[1], attempts: attempts}, nil
}

func (r *waiting) String() string { return fmt.Sprintf("%d:%s:%d", r.peer, r.reply, r.attempts) }

// take returns the reply of the group that is due, or how long to wait before the next take.
func (s *sender) take() (r *waiting, wait time.Duration) {
	var reply []string
	x := takeScript.Call(&reply, []string{s.queue.due, s.queue.replies, s.queue.pace},
		strconv.Itoa(1000/ratePerSecond), strconv.FormatInt(lease.Milliseconds(), 10),
		s.cfg.now())
	if err := s.redis.Do(x); err != nil || len(reply) != 3 {
		return nil, idleWait
	}
	if reply[1] != "" {
		r, err := parseWaiting(reply[1], reply[2])
		if err == nil {
			return r, 0
		}
		slog.Error("a reply in the queue cannot be read; it is thrown away", "group", s.group.ID, "error", err)
		s.settle(&waiting{event: reply[1]}, "", 0)
		return nil, 0
	}
	ms, err := strconv.ParseInt(reply[0], 10, 64)
	if err != nil || ms < 0 {
		return nil, idleWait
	}
	return nil, min(time.Duration(ms)*time.Millisecond, idleWait)
}

// settle takes a reply out of the queue or, with its text, puts it back. While Redis is away that fails, and
// the reply is sent again after the lease: VK knows it by its random_id.
func (s *sender) settle(r *waiting, text string, wait time.Duration) {
	var code int64
	_ = s.redis.Do(settleScript.Call(&code, []string{s.queue.due, s.queue.replies}, r.event, text,
		strconv.FormatInt(wait.Milliseconds(), 10), s.cfg.now()))
}

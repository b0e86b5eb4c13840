package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// ErrUnavailable is the error of a call without an answer in time, or with an error reply. Redis may have
// carried the call out.
var ErrUnavailable = errors.New("redis does not answer")

// ErrLoading is the answer of a Redis that has just started and still loads its data from disk. It is an
// ErrUnavailable too.
var ErrLoading = errors.New("redis is loading its data")

// refusal is an error reply: OOM, READONLY, WRONGTYPE, MISCONF, LOADING or the like. It is the text of
// Redis; Error adds advice. For callers it is an ErrUnavailable like an outage; only its text differs.
type refusal string

func (r refusal) Error() string {
	text := "redis answers with an error: " + string(r)
	for _, a := range advice {
		if strings.HasPrefix(string(r), a.reply) {
			return text + " (" + a.advice + ")"
		}
	}
	return text
}

func (r refusal) Is(target error) bool {
	return target == ErrUnavailable || target == ErrLoading && strings.HasPrefix(string(r), "LOADING")
}

const (
	// Redis does not know the script, so nothing was carried out.
	errNoScript = refusal("NOSCRIPT it has lost the scripts")
	// The key holds another type than the command needs.
	errWrongType = refusal("WRONGTYPE a key holds a value of another type")
)

const refusalBytesMax = 300 // of an error reply, for the log and /readyz

// advice tells what to do about error replies with a cause in the settings of this server or of Redis.
var advice = []struct{ reply, advice string }{
	{"WRONGPASS", "check REDIS_PASSWORD and REDIS_USERNAME"},
	{"NOAUTH", "set REDIS_PASSWORD"},
	{"ERR Protocol error: unauthenticated", "set REDIS_PASSWORD"},
	{"ERR AUTH", "REDIS_PASSWORD is set, but this Redis has none"},
	{"NOPERM", "the user of REDIS_USERNAME needs the right to do so"},
	{"OOM", "raise maxmemory of this Redis"},
	{"MISCONF", "this Redis cannot write to its disk: look at its log"},
	{"READONLY", "this Redis is a replica: name its master in REDIS_HOST or -redis"},
}

// replyError makes an error of the text of an error reply.
func replyError(text string) error {
	if strings.HasPrefix(text, "NOSCRIPT") {
		return errNoScript
	}
	return refusal(text[:min(len(text), refusalBytesMax)])
}

// Outage is the time during which a connection does not serve. The log gets one line for each reason and one
// at the end. Connections of one owner may share an Outage: it is over when all of them serve.
type Outage struct {
	Effect string                 // what fails meanwhile, for the log: "orders get 503"
	Over   string                 // log line at the end; "" for "Redis answers again"
	Reason func(err error) string // the owner's name for an error, "" for none; may be nil

	mu     sync.Mutex
	away   map[*Conn]bool
	logged []string // the reasons, empty while all connections serve
}

// note logs the error that ended a connection or prevented a new one.
func (o *Outage) note(c *Conn, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away == nil {
		o.away = map[*Conn]bool{}
	}
	o.away[c] = true
	reason := o.reasonOf(err)
	if slices.Contains(o.logged, reason) {
		return
	}
	o.logged = append(o.logged, reason)
	text := reason
	if o.Effect != "" {
		text += ": " + o.Effect + " until it does"
	}
	slog.Error(text, "redis", c.cfg.Address, "error", err)
}

// end logs that all connections serve again, if one of them did not.
func (o *Outage) end(c *Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.away, c)
	if len(o.away) == 0 && len(o.logged) > 0 {
		slog.Info(cmp.Or(o.Over, "Redis answers again"), "redis", c.cfg.Address)
		o.logged = nil
	}
}

func (o *Outage) reasonOf(err error) string {
	if o.Reason != nil {
		if reason := o.Reason(err); reason != "" {
			return reason
		}
	}
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return "Redis refuses to serve"
	case errors.Is(err, errBadReply):
		return "Redis does not keep to its protocol"
	}
	return "Redis does not answer"
}

// badReply is an errBadReply with the beginning of the wrong line; due is the first byte that was due.
func badReply(line []byte, due byte) error {
	return fmt.Errorf("%w: %.40q where %q is due", errBadReply, line, due)
}

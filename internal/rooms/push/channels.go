package push

import (
	"strconv"
	"strings"
)

// The channels. Each other name is an unknown channel.
const (
	userPrefix   = "user:"   // the user's devices; the server subscribes them
	threadPrefix = "thread:" // the messages of a thread; positioned and recoverable
	foodPrefix   = "food:"   // the stock of a food
	saleChannel  = "sale"    // state and stock; everybody may subscribe
)

const threadIDMax = 64 // characters

// channel is a channel name in parts.
type channel struct {
	user   uint32 // of a user's channel
	thread string // of a thread's channel; "" and user 0 for those of the sale and its foods
}

// parseChannel reads the name of a channel. ok is false for a name that no channel can have.
func parseChannel(name string) (c channel, ok bool) {
	if name == saleChannel {
		return c, true
	}
	if id, found := strings.CutPrefix(name, threadPrefix); found {
		return channel{thread: id}, isThreadID(id)
	}
	if id, found := strings.CutPrefix(name, userPrefix); found {
		c.user, ok = number(id)
		return c, ok
	}
	if id, found := strings.CutPrefix(name, foodPrefix); found {
		_, ok = number(id)
	}
	return c, ok
}

// number reads an id: digits without a leading zero.
func number(text string) (n uint32, ok bool) {
	long, err := strconv.ParseUint(text, 10, 32)
	return uint32(long), err == nil && text[0] != '0'
}

// isThreadID reports whether a text can be the id of a thread: u3-9, g and base32, sale- and the sale's id.
func isThreadID(id string) bool {
	if len(id) < 2 || len(id) > threadIDMax || id[0] != 'u' && id[0] != 'g' && !strings.HasPrefix(id, "sale-") {
		return false
	}
	for _, c := range []byte(id) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func userChannel(user uint32) string { return userPrefix + strconv.FormatUint(uint64(user), 10) }

func userName(user uint32) string { return strconv.FormatUint(uint64(user), 10) }

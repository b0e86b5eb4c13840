package redisx

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
)

// errNoScript: Redis does not know the script, so nothing was carried out.
var errNoScript = fmt.Errorf("%w: it has lost the scripts", ErrUnavailable)

// call is one or more commands of one caller, sent together, and their replies.
type call struct {
	request []byte // encoded commands
	into    []any  // a receiver for each reply (as for resp3.Unmarshal); empty: one reply, an integer, goes to code
	code    int64
	err     error

	queued time.Time
	done   chan struct{}
}

// Calls are kept for reuse with their buffer and channel: no allocation per request.
var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

func newCall() *call {
	x := calls.Get().(*call)
	x.request, x.into, x.code, x.err = x.request[:0], x.into[:0], 0, nil
	return x
}

func (x *call) free() {
	clear(x.into)
	calls.Put(x)
}

func (x *call) finish(err error) {
	x.err = err
	x.done <- struct{}{}
}

// command adds a command whose reply goes into the receiver.
func (x *call) command(receiver any, args ...string) *call {
	x.request = append(x.request, '*')
	x.request = strconv.AppendInt(x.request, int64(len(args)), 10)
	x.request = append(x.request, '\r', '\n')
	for _, arg := range args {
		x.request = appendBulk(x.request, arg)
	}
	x.into = append(x.into, receiver)
	return x
}

func appendBulk[T string | []byte](dst []byte, arg T) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(len(arg)), 10)
	dst = append(dst, '\r', '\n')
	dst = append(dst, arg...)
	return append(dst, '\r', '\n')
}

// read takes the replies of the call off the connection. Error replies stay in the call; the error returned
// is one of the connection.
func (x *call) read(br resp.BufferedReader, o *resp.Opts) error {
	x.err = nil
	if len(x.into) == 0 {
		return x.readCode(br)
	}
	for _, receiver := range x.into {
		err := resp3.Unmarshal(br, receiver, o)
		if err == nil {
			continue
		}
		var usable resp.ErrConnUsable
		if !errors.As(err, &usable) {
			return err
		}
		x.err = replyError(usable.Error())
	}
	return nil
}

// readCode reads an integer reply without the allocations of resp3.Unmarshal.
func (x *call) readCode(br resp.BufferedReader) error {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("cannot read a reply of Redis: %w", err)
	}
	if len(line) < 4 || line[len(line)-2] != '\r' {
		return fmt.Errorf("cannot read a reply of Redis: %w: %q", io.ErrUnexpectedEOF, line)
	}
	text := line[1 : len(line)-2]
	switch line[0] {
	case ':':
		x.code, err = strconv.ParseInt(string(text), 10, 64)
		return err
	case '-':
		x.err = replyError(string(text))
		return nil
	}
	return fmt.Errorf("cannot read a reply of Redis: an integer is due, not %q", line)
}

func replyError(text string) error {
	switch {
	case strings.HasPrefix(text, "NOSCRIPT"):
		return errNoScript
	case strings.HasPrefix(text, "NOAUTH"), strings.Contains(text, "unauthenticated"):
		return fmt.Errorf("%w: it wants a password (REDIS_PASSWORD)", ErrUnavailable)
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, text)
}

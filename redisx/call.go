package redisx

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
)

var wrongTypeReply = []byte("WRONGTYPE")

// call is what one caller wants: one run of a script that it shares with the others that wait, or commands of
// its own.
type call struct {
	script *evaluation // nil for commands
	single bool        // the only command returns a number, the code
	keys   []byte      // its KEYS for the script, encoded
	args   []byte      // its ARGV, or its commands, encoded
	into   []any       // a receiver for the reply of each command (as for resp3.Unmarshal)
	code   int64       // what the script or the single command returned
	err    error

	queued   time.Time // from when its time counts; zero: from when it is sent
	detached bool      // nobody waits for it
	done     chan struct{}
}

// Calls are kept for reuse with their buffer and channel: no allocation per request.
var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

func newCall() *call {
	x := calls.Get().(*call)
	x.script, x.single, x.detached, x.code, x.err = nil, false, false, 0, nil
	x.keys, x.args, x.into, x.queued = x.keys[:0], x.args[:0], x.into[:0], time.Time{}
	return x
}

func (x *call) free() {
	clear(x.into)
	calls.Put(x)
}

// finish answers the caller, or frees a call for which nobody waits.
func (x *call) finish() {
	if x.detached {
		x.free()
	} else {
		x.done <- struct{}{}
	}
}

func (x *call) refuse() {
	x.err = ErrUnavailable
	x.finish()
}

// wrongType is the code of a single command whose key holds something of another type.
const wrongType = -1

// number makes the call one command that returns a number; it does not allocate.
func (x *call) number(name string, args ...[]byte) {
	x.single = true
	x.args = appendHeader(x.args, '*', 1+len(args))
	x.args = appendBulk(x.args, name)
	for _, arg := range args {
		x.args = appendBulk(x.args, arg)
	}
}

// command adds a command whose reply goes into the receiver.
func (x *call) command(receiver any, args ...string) *call {
	x.args = appendHeader(x.args, '*', len(args))
	for _, arg := range args {
		x.args = appendBulk(x.args, arg)
	}
	x.into = append(x.into, receiver)
	return x
}

func appendBulk[T string | []byte](dst []byte, arg T) []byte {
	dst = appendHeader(dst, '$', len(arg))
	dst = append(dst, arg...)
	return append(dst, '\r', '\n')
}

func appendHeader(dst []byte, kind byte, n int) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

// read takes the replies of the commands off the connection. Error replies stay in the call; the error
// returned is one of the connection.
func (x *call) read(br resp.BufferedReader, o *resp.Opts) (err error) {
	if x.single {
		x.code, x.err, err = readNumber(br, ':')
		if errors.Is(x.err, errWrongType) { // for the caller an answer like others, and none for the log
			x.code, x.err = wrongType, nil
		}
		return err
	}
	x.err = nil
	for _, receiver := range x.into {
		err := unmarshal(br, receiver, o)
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

// unmarshal reads one reply. radix panics on some that no Redis sends; a peer that is none must not end the process.
func unmarshal(br resp.BufferedReader, receiver any, o *resp.Opts) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errBadReply, fault)
		}
	}()
	return resp3.Unmarshal(br, receiver, o)
}

// readNumber reads the number behind one of ':' and '*' without the allocations of resp3.Unmarshal. An error
// reply is the first error, one of the connection the second.
func readNumber(br resp.BufferedReader, kind byte) (n int64, refused, broken error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return 0, nil, fmt.Errorf("cannot read a reply of Redis: %w", err)
	}
	if len(line) < 4 || line[len(line)-2] != '\r' {
		return 0, nil, badReply(line, kind)
	}
	text := line[1 : len(line)-2]
	switch line[0] {
	case kind:
		n, err = strconv.ParseInt(string(text), 10, 64)
		return n, nil, err
	case '-':
		if kind == ':' && bytes.HasPrefix(text, wrongTypeReply) {
			return 0, errWrongType, nil
		}
		return 0, replyError(string(text)), nil
	}
	return 0, nil, badReply(line, kind)
}

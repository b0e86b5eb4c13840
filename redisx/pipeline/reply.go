package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
)

var wrongTypeReply = []byte("WRONGTYPE")

// read reads the replies to the commands. An error reply becomes the call's error; the returned error is one
// of the connection.
func (x *Call) read(br resp.BufferedReader, o *resp.Opts) (err error) {
	if x.single {
		x.integer, x.err, err = readNumber(br, ':')
		if errors.Is(x.err, errWrongType) { // a normal answer for the caller: not logged
			x.integer, x.err = WrongType, nil
		}
		return err
	}
	x.err, x.undone = nil, x.undone[:0]
	for i, receiver := range x.into {
		err := unmarshal(br, receiver, o)
		if err == nil {
			continue
		}
		var usable resp.ErrConnUsable
		var refused resp3.SimpleError
		switch {
		case !errors.As(err, &usable):
			return err
		case errors.As(err, &refused):
			x.refuse(i, replyError(refused.S))
		default: // a reply that is not of the type that was due
			x.err = fmt.Errorf("%w: %w: %w", ErrUnavailable, errBadReply, err)
		}
	}
	return nil
}

// refuse notes the error reply to a command. A redirect counts only if no other error makes the call fail.
func (x *Call) refuse(command int, err error) {
	r, before := redirectOf(err), redirectOf(x.err)
	if r.route != nowhere {
		x.undone = append(x.undone, command)
	}
	if r.route == nowhere || x.err == nil || before.route != nowhere && before.route < r.route {
		x.err = err
	}
}

// unmarshal reads one reply. radix panics on some replies that no Redis sends; another program at its
// address must not end the process.
func unmarshal(br resp.BufferedReader, receiver any, o *resp.Opts) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errBadReply, fault)
		}
	}()
	return resp3.Unmarshal(br, receiver, o)
}

// readNumber reads the number behind ':' or '*', whichever kind is due, without the allocations of
// resp3.Unmarshal. An error reply is the first error, a fault of the connection the second.
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

// Verdict receives the integer reply of a command that Redis may refuse: a refusal is a result, not an error
// of the call, except that the slot is elsewhere.
type Verdict struct {
	Refused string // the text of Redis, "" if it has carried the command out
}

// UnmarshalRESP reads the reply.
func (v *Verdict) UnmarshalRESP(br resp.BufferedReader, _ *resp.Opts) error {
	_, err, broken := readNumber(br, ':')
	var refused refusal
	if errors.As(err, &refused) {
		if r := parseRedirect(string(refused)); r.route == later || r.route != nowhere && r.slot >= 0 {
			return resp.ErrConnUsable{Err: resp3.SimpleError{S: string(refused)}}
		}
		v.Refused = string(refused)
	}
	return broken
}

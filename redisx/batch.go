package redisx

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mediocregopher/radix/v4/resp"
)

// batch is some calls as one message of radix: it writes their requests and reads their replies. First come the
// commands, then one EVALSHA for each script.
type batch struct {
	calls   []*call
	scripts []*evaluation
	head    []byte // scratch

	failed        bool // some call got an error reply
	unknownScript bool // and one of those was NOSCRIPT
	reading       bool // touched by the reader of the connection only
}

func newBatch(scripts []*evaluation, calls ...*call) *batch {
	return &batch{calls: calls, scripts: scripts}
}

// MarshalRESP writes all requests.
func (b *batch) MarshalRESP(w io.Writer, _ *resp.Opts) error {
	for _, x := range b.calls {
		if x.script == nil {
			if _, err := w.Write(x.args); err != nil {
				return err
			}
		}
	}
	for _, e := range b.scripts {
		if err := b.writeScript(w, e); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) writeScript(w io.Writer, e *evaluation) error {
	n := b.count(e)
	if n == 0 {
		return nil
	}
	b.head = e.appendHead(b.head[:0], n)
	_, err := w.Write(b.head)
	for _, x := range b.calls {
		if x.script == e && err == nil {
			_, err = w.Write(x.keys)
		}
	}
	if err == nil {
		_, err = w.Write(e.args)
	}
	for _, x := range b.calls {
		if x.script == e && err == nil {
			_, err = w.Write(x.args)
		}
	}
	return err
}

// oldest is from when the time of its oldest call counts. That is not always the first one: the second step of an add
// comes with the time of its first.
func (b *batch) oldest() time.Time {
	return slices.MinFunc(b.calls, func(x, y *call) int { return x.queued.Compare(y.queued) }).queued
}

func (b *batch) count(e *evaluation) (n int) {
	for _, x := range b.calls {
		if x.script == e {
			n++
		}
	}
	return n
}

// UnmarshalRESP reads the replies of all calls. An error reply belongs to its call, or to all calls of its script;
// what is returned is an error of the connection.
func (b *batch) UnmarshalRESP(br resp.BufferedReader, o *resp.Opts) error {
	// After a deadline radix reads once more into what it was given, to discard the late reply; by then the
	// calls have been answered and may be in use again.
	if b.reading {
		return errNoReply
	}
	b.reading = true
	b.failed, b.unknownScript = false, false
	for _, x := range b.calls {
		if x.script == nil {
			if err := x.read(br, o); err != nil {
				return err
			}
			b.note(x.err)
		}
	}
	for _, e := range b.scripts {
		if err := b.readScript(br, e); err != nil {
			return err
		}
	}
	b.reading = false
	return nil
}

func (b *batch) readScript(br resp.BufferedReader, e *evaluation) error {
	n := b.count(e)
	if n == 0 {
		return nil
	}
	codes, refused, err := readNumber(br, '*')
	if err != nil {
		return err
	}
	if refused == nil && codes != int64(n) {
		return fmt.Errorf("%w: %d codes for %d calls of a script", errBadReply, codes, n)
	}
	b.note(refused)
	for _, x := range b.calls {
		if x.script != e {
			continue
		}
		if x.err = refused; refused == nil {
			if x.code, x.err, err = readNumber(br, ':'); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *batch) note(err error) {
	if err != nil {
		b.failed = true
		b.unknownScript = b.unknownScript || errors.Is(err, errNoScript)
	}
}

// finish wakes the callers; err, if any, replaces what they got.
func (b *batch) finish(err error) {
	for _, x := range b.calls {
		if err != nil {
			x.err = err
		}
		x.finish()
	}
	clear(b.calls)
	b.calls = b.calls[:0]
}

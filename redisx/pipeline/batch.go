package pipeline

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mediocregopher/radix/v4/resp"
)

// batch is some calls as one message of radix: it writes their requests and reads their replies. The
// commands come first, then one EVALSHA for each shared script.
type batch struct {
	calls    []*Call // all, in the order of arrival
	commands []*Call // calls without a shared script
	groups   []group // the others, one group for each shared script, by slot
	oldest   time.Time
	text     []byte // scratch
	fenced   fenced // without a fence the answers count at once

	failed        bool // some call got an error reply
	unknownScript bool // some error reply was NOSCRIPT
	repeated      bool // its calls were sent before
	reading       bool // touched by the reader of the connection only
}

// group is the calls of one shared script.
type group struct {
	shared *Shared
	calls  []*Call
}

func newBatch(shared []*Shared, calls ...*Call) *batch {
	b := &batch{groups: make([]group, len(shared))}
	for i, s := range shared {
		b.groups[i].shared = s
	}
	for _, x := range calls {
		b.add(x)
	}
	return b
}

// add adds a call. The time of a batch is that of its oldest call, which is not always the first one: the
// second step of a task has the time of its first.
func (b *batch) add(x *Call) {
	if len(b.calls) == 0 || x.queued.Before(b.oldest) {
		b.oldest = x.queued
	}
	b.calls = append(b.calls, x)
	if x.shared == nil {
		b.commands = append(b.commands, x)
		return
	}
	g := &b.groups[x.shared.slot]
	g.calls = append(g.calls, x)
}

// MarshalRESP writes all requests.
func (b *batch) MarshalRESP(w io.Writer, _ *resp.Opts) error {
	b.text = b.appendTo(b.text[:0])
	_, err := w.Write(b.text)
	return err
}

// appendTo appends all requests.
func (b *batch) appendTo(dst []byte) []byte {
	for _, x := range b.commands {
		dst = append(dst, x.args...)
	}
	for i := range b.groups {
		if g := &b.groups[i]; len(g.calls) > 0 {
			dst = g.appendTo(dst)
		}
	}
	if b.fenced.fence != nil {
		dst = b.fenced.appendTo(dst)
	}
	return dst
}

func (g *group) appendTo(dst []byte) []byte {
	dst = g.shared.appendHead(dst, len(g.calls))
	for _, x := range g.calls {
		dst = append(dst, x.keys...)
	}
	dst = append(dst, g.shared.args...)
	for _, x := range g.calls {
		dst = append(dst, x.args...)
	}
	return dst
}

// replies returns the number of replies that the requests get.
func (b *batch) replies() (n int) {
	for _, x := range b.commands {
		n += x.replies()
	}
	for i := range b.groups {
		if len(b.groups[i].calls) > 0 {
			n++
		}
	}
	if b.fenced.fence != nil {
		n += fenceReplies
	}
	return n
}

// UnmarshalRESP reads the replies of all calls. An error reply belongs to its call, or to all calls of its
// script; the returned error is one of the connection.
func (b *batch) UnmarshalRESP(br resp.BufferedReader, o *resp.Opts) error {
	// After a deadline radix reads once more, to discard the late reply; by then the calls have been answered
	// and may be in use again.
	if b.reading {
		return errNoReply
	}
	b.reading = true
	b.failed, b.unknownScript = false, false
	for _, x := range b.commands {
		if err := x.read(br, o); err != nil {
			return err
		}
		b.note(x.err)
	}
	for i := range b.groups {
		if g := &b.groups[i]; len(g.calls) > 0 {
			refused, err := g.read(br)
			if err != nil {
				return err
			}
			b.note(refused)
		}
	}
	if b.fenced.fence != nil {
		unkept, err := b.fenced.read(br)
		if err != nil {
			return err
		}
		b.refuse(unkept)
	}
	b.reading = false
	if n := br.Buffered(); n > 0 { // else later replies would go to the wrong calls
		return fmt.Errorf("%w: %d bytes behind the last one that was due", errBadReply, n)
	}
	return nil
}

// read reads the reply to the group's script. An error reply is the first error, a fault of the connection
// the second.
func (g *group) read(br resp.BufferedReader) (refused, broken error) {
	n, refused, err := readNumber(br, '*')
	if err != nil {
		return nil, err
	}
	if refused == nil && n != int64(len(g.calls)) {
		return nil, fmt.Errorf("%w: %d integers for %d calls of a script", errBadReply, n, len(g.calls))
	}
	for _, x := range g.calls {
		if x.err = refused; refused == nil {
			if x.integer, x.err, err = readNumber(br, ':'); err != nil {
				return nil, err
			}
		}
	}
	return refused, nil
}

// refuse lets the calls fail that Redis has carried out.
func (b *batch) refuse(err error) {
	if err == nil {
		return
	}
	b.failed = true
	for _, x := range b.calls {
		if x.err == nil {
			x.err = err
		}
	}
}

func (b *batch) note(err error) {
	if err != nil {
		b.failed = true
		b.unknownScript = b.unknownScript || errors.Is(err, errNoScript)
	}
}

// again returns a batch that loads the scripts and repeats the calls that Redis did not carry out because it
// did not know their script (after SCRIPT FLUSH). It returns nil if there are no such calls, or if they were
// repeated already: then Redis does not keep scripts.
func (b *batch) again(shared []*Shared, scripts []*Script) *batch {
	if !b.unknownScript || b.repeated {
		return nil
	}
	load := loading(scripts).Since(b.oldest)
	load.completion = frees{}
	again := newBatch(shared, load)
	again.repeated, again.fenced = true, b.fenced
	for _, x := range b.calls {
		if x.lostScript() {
			again.add(x)
		}
	}
	return again
}

// complete returns all calls to their callers; an err that is not nil replaces their results. The batch is
// empty afterwards.
func (b *batch) complete(err error) {
	for _, x := range b.calls {
		x.complete(err)
	}
	b.repeated = false
	b.calls = empty(b.calls)
	b.commands = empty(b.commands)
	for i := range b.groups {
		b.groups[i].calls = empty(b.groups[i].calls)
	}
}

// empty returns the list for reuse, without its calls.
func empty(calls []*Call) []*Call {
	clear(calls)
	return calls[:0]
}

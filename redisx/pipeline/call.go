package pipeline

import (
	"errors"
	"strconv"
	"sync"
	"time"
)

// Call is one request to Redis: one run of a script, or commands. It comes from NewCall, Script.Call or
// Shared.Call and ends with Free; in between it is sent once.
type Call struct {
	script  *Script // the script that it runs, nil for commands
	shared  *Shared // the same if calls run it together
	single  bool    // one command with an integer reply
	keys    []byte  // its KEYS for the shared script, encoded
	args    []byte  // its ARGV for the shared script, or its commands, encoded
	into    []any   // a receiver for each command's reply (as for resp3.Unmarshal)
	integer int64   // the reply of the shared script or of the single command
	err     error
	undone  []int // which commands were answered with a redirect

	queued     time.Time // its timeout begins here; zero: when it is sent
	completion Completion
	done       chan struct{} // for Do
}

// Completion is told that a call is answered.
type Completion interface {
	// Complete gets the call with its Result, and frees it. It runs on the goroutine or event loop that owns
	// the connection and must not wait: all other calls would wait with it.
	Complete(x *Call)
}

// Calls are kept for reuse with their buffers and channel: no allocation per request.
var calls = sync.Pool{New: func() any { return &Call{done: make(chan struct{}, 1)} }}

// NewCall makes an empty call.
func NewCall() *Call {
	x := calls.Get().(*Call)
	x.script, x.shared, x.single, x.completion = nil, nil, false, nil
	x.keys, x.args, x.into = x.keys[:0], x.args[:0], x.into[:0]
	x.integer, x.err, x.queued = 0, nil, time.Time{}
	return x
}

// Command makes a call of one command; Call.Command adds further commands.
func Command(receiver any, args ...string) *Call { return NewCall().Command(receiver, args...) }

// Free gives the call back. Afterwards only the receivers may be used.
func (x *Call) Free() {
	clear(x.into)
	calls.Put(x)
}

// Result returns the integer of a Shared script or of Integer, and the error. Other replies are in their
// receivers. Errors: ErrUnavailable, also for an error reply, with the text of Redis.
func (x *Call) Result() (int64, error) { return x.integer, x.err }

// Since begins the call's timeout earlier than the moment of sending: the second step of a task has only the
// time that the first step left.
func (x *Call) Since(begin time.Time) *Call {
	x.queued = begin
	return x
}

// Begin returns the moment at which the timeout of a sent call began.
func (x *Call) Begin() time.Time { return x.queued }

// Command adds a command. Its reply goes into the receiver, a pointer as for resp3.Unmarshal of radix.
func (x *Call) Command(receiver any, args ...string) *Call {
	x.args = appendBulks(appendHeader(x.args, '*', len(args)), args)
	x.into = append(x.into, receiver)
	return x
}

// WrongType is the integer of a command made by Integer on a key that holds a value of another type.
const WrongType = -1

// Integer makes the call one command that returns an integer. It does not allocate.
func (x *Call) Integer(name string, args ...[]byte) *Call {
	x.single = true
	x.args = appendHeader(x.args, '*', 1+len(args))
	x.args = appendBulk(x.args, name)
	for _, arg := range args {
		x.args = appendBytes(x.args, arg)
	}
	return x
}

// Key adds a key of the call itself to those of its Shared script. It does not allocate.
func (x *Call) Key(key []byte) *Call {
	x.keys = appendBytes(x.keys, key)
	return x
}

// Arg adds an argument of the call itself to those of its Shared script. It does not allocate.
func (x *Call) Arg(arg []byte) *Call {
	x.args = appendBytes(x.args, arg)
	return x
}

// replies returns the number of replies that its commands get.
func (x *Call) replies() int {
	if x.single {
		return 1
	}
	return len(x.into)
}

// lostScript reports whether Redis did not carry the call out because it did not know the script.
func (x *Call) lostScript() bool { return x.script != nil && errors.Is(x.err, errNoScript) }

// complete returns the call to its caller; an err that is not nil is its outcome.
func (x *Call) complete(err error) {
	if err != nil {
		x.err = err
	}
	x.completion.Complete(x)
}

// wakes is the Completion of Do, which frees the call itself.
type wakes struct{}

func (wakes) Complete(x *Call) { x.done <- struct{}{} }

// frees is the Completion of Detach, which has no caller.
type frees struct{}

func (frees) Complete(x *Call) { x.Free() }

func appendBulks(dst []byte, args []string) []byte {
	for _, arg := range args {
		dst = appendBulk(dst, arg)
	}
	return dst
}

func appendBulk(dst []byte, arg string) []byte {
	dst = append(appendHeader(dst, '$', len(arg)), arg...)
	return append(dst, '\r', '\n')
}

// appendBytes is appendBulk for bytes. A generic function for both would move the arguments of callers in
// other packages to the heap.
func appendBytes(dst, arg []byte) []byte {
	dst = append(appendHeader(dst, '$', len(arg)), arg...)
	return append(dst, '\r', '\n')
}

func appendHeader(dst []byte, kind byte, n int) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

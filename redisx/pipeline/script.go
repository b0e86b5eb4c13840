package pipeline

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Script is a Lua script. The Lua file documents its arguments and results.
type Script struct {
	source string
	sha    string // its name in Redis
}

// NewScript makes a Script of its source.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// Call makes a call that runs the script alone; the reply goes into the receiver, as with Call.Command. The
// script must be among the Scripts of the Conn.
func (s *Script) Call(receiver any, keys []string, args ...string) *Call {
	return s.call("EVALSHA", s.sha, receiver, keys, args)
}

// Eval is Call with the whole source in the command: for scripts that seldom run, and for a Link, which
// loads no scripts.
func (s *Script) Eval(receiver any, keys []string, args ...string) *Call {
	return s.call("EVAL", s.source, receiver, keys, args)
}

func (s *Script) call(command, name string, receiver any, keys, args []string) *Call {
	x := NewCall()
	x.script = s
	x.args = appendHeader(x.args, '*', 3+len(keys)+len(args))
	x.args = appendBulk(appendBulk(x.args, command), name)
	x.args = appendBulk(x.args, strconv.Itoa(len(keys)))
	x.args = appendBulks(appendBulks(x.args, keys), args)
	x.into = append(x.into, receiver)
	return x
}

// UnknownCode is the error for a code that a script's contract does not have.
func UnknownCode(script string, code int64) error {
	return fmt.Errorf("%s returned the unknown code %d", script, code)
}

// loading makes a call that loads scripts, so that EVALSHA finds them.
func loading(scripts []*Script) *Call {
	x := NewCall()
	for _, s := range scripts {
		x.Command(new(string), "SCRIPT", "LOAD", s.source)
	}
	return x
}

// Shared is a script that calls run together: calls that wait at the same moment become one EVALSHA, which
// returns a list with an integer for each call. So they share the fixed cost of a script. A Shared belongs
// to one Conn.
type Shared struct {
	*Script
	slot               int    // its place in each batch of the Conn
	keys, args         []byte // KEYS and ARGV that all calls share, encoded; each call's own come after
	keyCount, argCount int    // shared KEYS and ARGV
	callKeys, callArgs int    // KEYS and ARGV of each call
}

// Share makes a Shared of the script. keys and args come first, once for all calls; then come callKeys KEYS
// and callArgs ARGV for each call.
func (s *Script) Share(keys, args []string, callKeys, callArgs int) *Shared {
	return &Shared{
		Script: s, keys: appendBulks(nil, keys), args: appendBulks(nil, args),
		keyCount: len(keys), argCount: len(args), callKeys: callKeys, callArgs: callArgs,
	}
}

// Call makes a call that runs the script together with others. Call.Key and Call.Arg add the call's own
// arguments; its Result is the integer.
func (s *Shared) Call() *Call {
	x := NewCall()
	x.script, x.shared = s.Script, s
	return x
}

// appendHead appends the beginning of an EVALSHA for n calls, up to the shared KEYS.
func (s *Shared) appendHead(dst []byte, n int) []byte {
	keys, args := s.keyCount+n*s.callKeys, s.argCount+n*s.callArgs
	dst = appendHeader(dst, '*', 3+keys+args)
	dst = appendBulk(dst, "EVALSHA")
	dst = appendBulk(dst, s.sha)
	var scratch [20]byte
	dst = appendBytes(dst, strconv.AppendInt(scratch[:0], int64(keys), 10))
	return append(dst, s.keys...)
}

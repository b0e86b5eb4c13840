package pipeline

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Script is a Lua script. The Lua file itself documents what it takes and returns.
type Script struct {
	source string
	sha    string // the name Redis gives it
}

// NewScript makes a Script of its source.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// Call makes a call that runs the script by itself; its reply goes into the receiver, as with
// Call.Command. The script must be among the Scripts of the Conn.
func (s *Script) Call(receiver any, keys []string, args ...string) *Call {
	return s.call("EVALSHA", s.sha, receiver, keys, args)
}

// Eval is Call with the whole source in the command: for scripts that run seldom, and on a Link, which
// loads none.
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

// UnknownCode is the error for a code that the contract of a script does not name.
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

// Shared is a script that calls run together: those that wait at the same moment are one EVALSHA, which
// returns a list with an integer for each of them. That shares the fixed cost of a script. A Shared
// belongs to one Conn.
type Shared struct {
	*Script
	slot               int    // its place in each batch of the Conn
	keys, args         []byte // KEYS and ARGV that all calls share, encoded; each call's own follow
	keyCount, argCount int    // of these
	callKeys, callArgs int    // of each call
}

// Share makes a Shared of the script. keys and args come first, once for all calls; behind them each call
// has callKeys
// KEYS and callArgs ARGV of its own.
func (s *Script) Share(keys, args []string, callKeys, callArgs int) *Shared {
	return &Shared{
		Script: s, keys: appendBulks(nil, keys), args: appendBulks(nil, args),
		keyCount: len(keys), argCount: len(args), callKeys: callKeys, callArgs: callArgs,
	}
}

// Call makes a call that runs the script together with others. Call.Key and Call.Arg add what is its own;
// its integer is the result.
func (s *Shared) Call() *Call {
	x := NewCall()
	x.script, x.shared = s.Script, s
	return x
}

// appendHead appends the start of an EVALSHA for n calls, up to and with the shared KEYS.
func (s *Shared) appendHead(dst []byte, n int) []byte {
	keys, args := s.keyCount+n*s.callKeys, s.argCount+n*s.callArgs
	dst = appendHeader(dst, '*', 3+keys+args)
	dst = appendBulk(dst, "EVALSHA")
	dst = appendBulk(dst, s.sha)
	var scratch [20]byte
	dst = appendBytes(dst, strconv.AppendInt(scratch[:0], int64(keys), 10))
	return append(dst, s.keys...)
}

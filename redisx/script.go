package redisx

import (
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
	"fmt"
	"strconv"
)

var (
	//go:embed order.lua
	orderSource string
	//go:embed cart.lua
	cartSource string
	//go:embed changes.lua
	changesSource string // before the two
	//go:embed stock.lua
	stockSource string
	//go:embed ledger.lua
	ledgerSource string
	//go:embed done.lua
	doneSource string

	orderScript = newScript(changesSource + orderSource)
	cartScript  = newScript(changesSource + cartSource)
)

type script struct {
	source string
	sha    string // the name Redis gives it
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source))
	return script{source: source, sha: hex.EncodeToString(sum[:])}
}

// evaluation is how calls run a script: those that wait together are one EVALSHA, which returns a list with the
// code of each. That shares the fixed cost of a script, which is as high as what an add costs by itself.
type evaluation struct {
	script
	keys, args         []byte // KEYS and ARGV that all calls share, encoded; each call's own follow
	keyCount, argCount int    // of these
	callKeys, callArgs int    // KEYS and ARGV of each call
}

// appendHead appends the start of an EVALSHA for n calls, up to and with the shared KEYS.
func (e *evaluation) appendHead(dst []byte, n int) []byte {
	keys, args := e.keyCount+n*e.callKeys, e.argCount+n*e.callArgs
	dst = appendHeader(dst, '*', 3+keys+args)
	dst = appendBulk(dst, "EVALSHA")
	dst = appendBulk(dst, e.sha)
	var scratch [20]byte
	dst = appendBulk(dst, strconv.AppendInt(scratch[:0], int64(keys), 10))
	return append(dst, e.keys...)
}

// unknownCode is the error for a code that the script's contract does not name.
func unknownCode(name string, code int64) error {
	return fmt.Errorf("%s returned the unknown code %d", name, code)
}

package redisx

import (
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
	"fmt"
)

var (
	//go:embed order.lua
	orderSource string
	//go:embed cart.lua
	cartSource string
	//go:embed stock.lua
	stockSource string

	orderScript = newScript(orderSource)
	cartScript  = newScript(cartSource)
)

type script struct {
	source string
	sha    string // the name Redis gives it
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source))
	return script{source: source, sha: hex.EncodeToString(sum[:])}
}

// evalHead encodes the start of an EVALSHA that is followed by args more strings, the first keys of them keys.
func evalHead(s script, args, keys int) []byte {
	head := fmt.Appendf(nil, "*%d\r\n", 3+args)
	head = appendBulk(head, "EVALSHA")
	head = appendBulk(head, s.sha)
	return appendBulk(head, fmt.Sprint(keys))
}

// unknownCode is the error for a code that the script's contract does not name.
func unknownCode(name string, code int64) error {
	return fmt.Errorf("%s returned the unknown code %d", name, code)
}

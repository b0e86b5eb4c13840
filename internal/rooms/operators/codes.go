package operators

import (
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // the script
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/pquerna/otp/hotp"

	"flashsale/redisx/pipeline"
)

// Every key of the room, for each operator. All have one hash tag, so that on Redis Cluster they lie on one
// node:
//
//	{operator}code:<who>  hash        the last step whose code was used; wrong codes of a        2 days
//	                                  step and of a day, with that step and that day; see
//	                                  code.lua
//	{operator}used:<who>  sorted set  hashes of the recovery codes that were used, by when       for good
//	                                  (Unix ms); the last usedKept of them
//	{operator}networks    sorted set  networks from which operators have logged in, by when      90 days
//	                                  (Unix ms); the last networksMax of them
//
// <who> is the number of an operator, and a part of a hash of the second factor.
//
// HashTag is in all keys of the room.
const HashTag = "{operator}"

// Codes of the second factor are those of RFC 6238 with six digits, as all authenticators have them. Three
// of a million are right at any moment, so a day of guesses beside a known password succeeds once in 6,000.
const (
	stepSeconds = 30
	stepsAround = 1  // a code of this many steps before or behind counts: clocks differ, and people are slow
	stepWrong   = 5  // wrong codes of an operator in a step
	dayWrong    = 50 // and in a day; a recovery code still counts then
	codeDigits  = 6

	usedKept = 100 // of ten generations of recovery codes
)

// What code.lua returns.
const (
	codeWrong     = 0
	codeTaken     = 1
	codeUsed      = 2
	codeTooOften  = 3 // more than stepWrong
	codeOverToday = 4 // more than dayWrong
)

//go:embed code.lua
var codeLua string

var codeScript = pipeline.NewScript(codeLua)

// checkCode takes a code of the second factor or a recovery code, each once on all servers.
func (o *Operators) checkCode(x *Operator, code string) error {
	code = strings.Map(bare, code)
	switch len(code) {
	case 0:
		return ErrCodeNeeded
	case codeDigits:
		return o.takeCode(x, code)
	}
	return o.takeRecovery(x, code)
}

// bare drops what people put between the letters of a code.
func bare(c rune) rune {
	if c == ' ' || c == '-' {
		return -1
	}
	return c
}

// takeCode takes a code of the second factor. The clock is that of Redis, which all servers share.
func (o *Operators) takeCode(x *Operator, code string) error {
	var now []string
	if err := o.redis.Do(pipeline.Command(&now, "TIME")); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(now[0], 10, 64)
	if err != nil {
		return err
	}
	var result, wait int64
	err = o.redis.Do(codeScript.Call(&radix.Tuple{&result, &wait}, []string{x.key("code")},
		strconv.FormatInt(stepOf(x.TOTP, code, seconds/stepSeconds), 10), strconv.Itoa(stepSeconds),
		strconv.Itoa(stepWrong), strconv.Itoa(dayWrong)))
	switch {
	case err != nil:
		return err
	case result == codeTaken:
		return nil
	case result == codeWrong || result == codeUsed:
		return ErrWrongCode
	case result == codeTooOften || result == codeOverToday:
		return &TooManyCodesError{time.Duration(wait) * time.Second}
	}
	return pipeline.UnknownCode("code.lua", result)
}

// stepOf returns the step whose code this is, 0 if it is no code of now. It takes as long for any code.
func stepOf(secret, code string, now int64) (found int64) {
	for step := now - stepsAround; step <= now+stepsAround; step++ {
		right, err := hotp.GenerateCode(secret, uint64(step))
		if err == nil && subtle.ConstantTimeCompare([]byte(right), []byte(code)) == 1 {
			found = step
		}
	}
	return found
}

// takeRecovery takes a recovery code. Nobody guesses 80 bits, so wrong ones are not counted.
func (o *Operators) takeRecovery(x *Operator, code string) error {
	hash := hashCode(code)
	if !slices.Contains(x.Recovery, hash) {
		return ErrWrongCode
	}
	var added, dropped int64
	used := x.key("used")
	call := pipeline.NewCall()
	call.Command(&added, "ZADD", used, "NX", strconv.FormatInt(time.Now().UnixMilli(), 10), hash)
	call.Command(&dropped, "ZREMRANGEBYRANK", used, "0", strconv.Itoa(-usedKept-1))
	if err := o.redis.Do(call); err != nil {
		return err
	}
	if added == 0 {
		return ErrWrongCode
	}
	return nil
}

// hashCode is how a recovery code stands in the list. It needs no salt: a code has 80 random bits.
func hashCode(code string) string {
	sum := sha256.Sum256([]byte(strings.ToUpper(code)))
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

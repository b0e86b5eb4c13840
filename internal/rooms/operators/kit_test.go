package operators

import (
	"strconv"
	"testing"

	"github.com/pquerna/otp/hotp"

	"flashsale/internal/credentials"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

// operator makes an operator with the password "password of <name>".
func operator(tb testing.TB, number uint32, name string, role Role) Operator {
	tb.Helper()
	hash, err := credentials.NewQueue(testkit.FastHash).Make([]byte("password of " + name))
	testkit.Must(tb, err)
	return Operator{Number: number, Name: name, Role: role, Password: hash}
}

// run makes a room with a list that runs until the test ends.
func run(tb testing.TB, redis pipeline.Config, list ...Operator) *Operators {
	tb.Helper()
	testkit.KeepLog(tb)
	o := New(Config{Redis: redis, List: list, Hash: testkit.FastHash})
	testkit.Background(tb, o.Run)
	testkit.Until(tb, "connection", o.Up)
	return o
}

// step is the step of the clock of Redis.
func (o *Operators) step(tb testing.TB) int64 {
	tb.Helper()
	seconds, err := strconv.ParseInt(roomtest.Ask[[]string](tb, o.redis, "TIME")[0], 10, 64)
	testkit.Must(tb, err)
	return seconds / stepSeconds
}

// codeOf is the code of a step.
func codeOf(tb testing.TB, x *Operator, step int64) string {
	tb.Helper()
	code, err := hotp.GenerateCode(x.TOTP, uint64(step))
	testkit.Must(tb, err)
	return code
}

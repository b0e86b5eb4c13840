package pipeline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

func TestReplyError(t *testing.T) {
	for reply, want := range map[string]string{
		"OOM command not allowed when used memory > 'maxmemory'.": " (raise maxmemory of this Redis)",
		"READONLY You can't write against a read only replica.": " (this Redis is a replica: name its " +
			"master in REDIS_HOST or -redis)",
		"WRONGTYPE Operation against a key holding the wrong kind of value": "",
		"MISCONF Errors writing to the AOF file: No space left on device": " (this Redis cannot write to its " +
			"disk: look at its log)",
		"LOADING Redis is loading the dataset in memory": "",
		"NOPERM this user has no permissions to run the 'append' command": " (the user of REDIS_USERNAME " +
			"needs the right to do so)",
		"WRONGPASS invalid username-password pair or user is disabled.": " (check REDIS_PASSWORD " +
			"and REDIS_USERNAME)",
		"NOAUTH Authentication required.":                      " (set REDIS_PASSWORD)",
		"ERR Protocol error: unauthenticated multibulk length": " (set REDIS_PASSWORD)",
		"ERR AUTH <password> called without any password configured for the...": " (REDIS_PASSWORD is set, " +
			"but this Redis has none)",
	} {
		err := replyError(reply)
		if got := err.Error(); got != "redis answers with an error: "+reply+want {
			t.Errorf("%s:\n got %s", reply, got)
		}
		if loading := strings.HasPrefix(reply, "LOADING"); errors.Is(err, ErrLoading) != loading {
			t.Errorf("%s is taken for ErrLoading: %v, want %v", reply, !loading, loading)
		}
		if !errors.Is(err, ErrUnavailable) || (&Outage{}).reasonOf(err) != "Redis refuses to serve" {
			t.Errorf("%s is not taken for an answer of Redis that is a 503", reply)
		}
	}
	if err := replyError("NOSCRIPT No matching script. Please use EVAL."); !errors.Is(err, errNoScript) {
		t.Errorf("NOSCRIPT: %v", err)
	}
	if got := replyError("ERR " + strings.Repeat("x", 5000)).Error(); len(got) > 2*refusalBytesMax {
		t.Errorf("an error of %d bytes", len(got))
	}
}

// An outage has one line for each reason and one at its end.
func TestOutage(t *testing.T) {
	log := testkit.CaptureLog(t)
	gone := errors.New("it holds another one")
	c, other := &Conn{cfg: Config{Address: "here"}}, &Conn{cfg: Config{Address: "here"}}
	o := &Outage{Effect: "orders get 503", Reason: func(err error) string {
		if errors.Is(err, gone) {
			return "Redis does not hold the sale"
		}
		return ""
	}}
	o.end(c)
	o.note(c, io.EOF)
	o.note(other, errNoReply)
	o.note(c, refusal("LOADING"))
	o.note(c, refusal("WRONGPASS"))
	o.end(other) // the first one is still away
	o.note(c, io.EOF)
	o.end(c)
	o.end(c)
	o.note(c, gone)
	o.end(c)
	o.note(c, fmt.Errorf("cannot reach: %w", errBadReply))
	var lines []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, "msg=")
		lines = append(lines, strings.TrimSpace(line))
	}
	want := []string{
		`"Redis does not answer: orders get 503 until it does" redis=here error=EOF`,
		`"Redis refuses to serve: orders get 503 until it does" redis=here ` +
			`error="redis answers with an error: LOADING"`,
		`"Redis answers again" redis=here`,
		`"Redis does not hold the sale: orders get 503 until it does" redis=here error="it holds another one"`,
		`"Redis answers again" redis=here`,
		`"Redis does not keep to its protocol: orders get 503 until it does" redis=here ` +
			`error="cannot reach: cannot read a reply of Redis"`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("log\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

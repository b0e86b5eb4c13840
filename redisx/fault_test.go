package redisx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"flashsale/redisx/redistest"
)

// logged is what is logged while a test runs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func captureLog(t *testing.T) *logged {
	t.Helper()
	l, before := &logged{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return l
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func TestReplyError(t *testing.T) {
	for reply, want := range map[string]string{
		"OOM command not allowed when used memory > 'maxmemory'.":               "",
		"READONLY You can't write against a read only replica.":                 "",
		"WRONGTYPE Operation against a key holding the wrong kind of value":     "",
		"MISCONF Errors writing to the AOF file: No space left on device":       "",
		"LOADING Redis is loading the dataset in memory":                        "",
		"NOPERM this user has no permissions to run the 'append' command":       " (the user of REDIS_USERNAME needs the right to do so)",
		"WRONGPASS invalid username-password pair or user is disabled.":         " (check REDIS_PASSWORD and REDIS_USERNAME)",
		"NOAUTH Authentication required.":                                       " (set REDIS_PASSWORD)",
		"ERR Protocol error: unauthenticated multibulk length":                  " (set REDIS_PASSWORD)",
		"ERR AUTH <password> called without any password configured for the...": " (REDIS_PASSWORD is set, but this Redis has none)",
	} {
		err := replyError(reply)
		if got := err.Error(); got != "redis answers with an error: "+reply+want {
			t.Errorf("%s:\n got %s", reply, got)
		}
		if !errors.Is(err, ErrUnavailable) || outageReason(err) != "Redis refuses to serve" {
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

// Each answer of a real Redis that refuses a write reaches the caller and the log as what it is.
func TestRefusedWrites(t *testing.T) {
	for name, tc := range map[string]struct{ do, reply string }{
		"memory":  {"CONFIG SET maxmemory 1", "OOM command not allowed when used memory > 'maxmemory'."},
		"replica": {"REPLICAOF 127.0.0.1 1", "READONLY You can't write against a read only replica."},
		"rights": {"ACL SETUSER default -append", "NOPERM this user has no permissions to run the 'append' command " +
			"(the user of REDIS_USERNAME needs the right to do so)"},
		"type": {"LPUSH c_" + string(cartName(2)) + " x", // the rest is where in the script
			"WRONGTYPE Operation against a key holding the wrong kind of value script: "},
	} {
		t.Run(name, func(t *testing.T) {
			log := captureLog(t)
			server := redistest.New(t)
			s := open(t, unix(server), 10)
			server.Do(t, tc.do)
			err := s.AddToCart(2, cartName(2), 1, 1)
			place := strings.Index(tc.reply, " script: ")
			if want := "redis answers with an error: " + tc.reply; !errors.Is(err, ErrUnavailable) ||
				err.Error() != want && (place < 0 || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("add: %v\nwant %s", err, tc.reply)
			}
			if log.count("Redis refused a command") != 1 || log.count(tc.reply[:8]) != 1 || log.count("does not answer") != 0 {
				t.Errorf("log %s", &log.text)
			}
		})
	}
}

func TestRefusedLogin(t *testing.T) {
	const (
		login     = "cannot log in to Redis at %s: redis answers with an error: "
		noPass    = "cannot use Redis at %s: redis answers with an error: NOAUTH Authentication required. (set REDIS_PASSWORD)"
		wrongPass = login + "WRONGPASS invalid username-password pair or user is disabled. " +
			"(check REDIS_PASSWORD and REDIS_USERNAME)"
		noneSet = login + "ERR AUTH <password> called without any password configured for the default user. " +
			"Are you sure your configuration is correct? (REDIS_PASSWORD is set, but this Redis has none)"
	)
	open, closed := redistest.New(t), redistest.New(t)
	closed.Do(t, "CONFIG SET requirepass right")
	for _, tc := range []struct {
		server         *redistest.Server
		user, password string
		want           string
	}{
		{closed, "", "", noPass},
		{closed, "", "wrong", wrongPass},
		{closed, "other", "right", wrongPass},
		{open, "", "right", noneSet},
		{closed, "", "right", ""},
	} {
		cfg := unix(tc.server)
		cfg.Username, cfg.Password = tc.user, tc.password
		_, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Stock: []int64{1}})
		if tc.want == "" && err == nil {
			continue
		}
		if want := fmt.Sprintf(tc.want, cfg.Address); err == nil || err.Error() != want {
			t.Errorf("user %q, password %q:\n got %v\nwant %s", tc.user, tc.password, err, want)
		}
	}
}

// A Redis that wants another password in mid-sale answers, and the log says what.
func TestPasswordChangedInMidSale(t *testing.T) {
	log := captureLog(t)
	server := redistest.New(t)
	s := open(t, unix(server), 10)
	server.Do(t, "CONFIG SET requirepass other\r\nCLIENT KILL TYPE normal SKIPME yes")
	eventually(t, "the refusal is logged", func() bool {
		if err := s.AddToCart(2, cartName(2), 1, 1); !errors.Is(err, ErrUnavailable) {
			t.Errorf("add: %v, want ErrUnavailable", err)
		}
		return log.count("NOAUTH Authentication required. (set REDIS_PASSWORD)") == 1
	})
	if log.count("Redis refuses to serve: orders get 503 until it does") != 1 {
		t.Errorf("log %s", &log.text)
	}
}

// An outage has one line for each reason and one at its end.
func TestOutage(t *testing.T) {
	log := captureLog(t)
	o := outage{redis: "here"}
	o.end()
	o.note(io.EOF)
	o.note(errNoReply)
	o.note(refusal("LOADING"))
	o.note(refusal("WRONGPASS"))
	o.note(io.EOF)
	o.end()
	o.end()
	o.note(ErrSaleGone)
	o.end()
	o.note(fmt.Errorf("cannot reach: %w", errBadReply))
	var lines []string
	for line := range strings.Lines(log.text.String()) {
		_, line, _ = strings.Cut(line, "msg=")
		lines = append(lines, strings.TrimSpace(line))
	}
	want := []string{
		`"Redis does not answer: orders get 503 until it does" redis=here error=EOF`,
		`"Redis refuses to serve: orders get 503 until it does" redis=here error="redis answers with an error: LOADING"`,
		`"Redis answers again" redis=here`,
		`"Redis does not hold the sale: orders get 503 until it does" redis=here error="redis does not hold this sale"`,
		`"Redis answers again" redis=here`,
		`"Redis does not keep to its protocol: orders get 503 until it does" redis=here error="cannot reach: cannot read a reply of Redis"`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("log\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

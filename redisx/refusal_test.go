package redisx

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// Each answer of a real Redis that refuses a write reaches the caller and the log as what it is.
func TestRefusedWrites(t *testing.T) {
	for name, tc := range map[string]struct{ do, reply string }{
		"memory": {"CONFIG SET maxmemory 1", "OOM command not allowed when used memory > 'maxmemory'. " +
			"(raise maxmemory of this Redis)"},
		"replica": {"REPLICAOF 127.0.0.1 1", "READONLY You can't write against a read only replica. " +
			"(this Redis is a replica: name its master in REDIS_HOST or -redis)"},
		"rights": {"ACL SETUSER default -append",
			"NOPERM this user has no permissions to run the 'append' command " +
				"(the user of REDIS_USERNAME needs the right to do so)"},
		"type": {"LPUSH c_" + string(cartName(2)) + " x", // the rest is where in the script
			"WRONGTYPE Operation against a key holding the wrong kind of value script: "},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, server *redistest.Server, cfg Config) {
				log := testkit.CaptureLog(t)
				s := open(t, cfg, 10)
				server.Do(t, tc.do)
				err := s.addToCart(2, cartName(2), 1, 1)
				place := strings.Index(tc.reply, " script: ")
				if want := "redis answers with an error: " + tc.reply; !errors.Is(err, ErrUnavailable) ||
					err.Error() != want && (place < 0 || !strings.HasPrefix(err.Error(), want)) {
					t.Errorf("add: %v\nwant %s", err, tc.reply)
				}
				once := log.Count("Redis refused a command") == 1 && log.Count(tc.reply[:8]) == 1
				if !once || log.Count("does not answer") != 0 {
					t.Errorf("log %s", log)
				}
			})
		})
	}
}

// A server joins an open sale also where Redis takes no writes, and an order of a full cart is still placed
// there.
func TestJoinAndOrderWithoutMemory(t *testing.T) { onServers(t, testJoinAndOrderWithoutMemory) }

func testJoinAndOrderWithoutMemory(t *testing.T, server *redistest.Server, cfg Config) {
	s := open(t, cfg, 10)
	testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
	server.Do(t, "CONFIG SET maxmemory 1")
	other := Opening{Catalog: catalogPrint, Stock: []int64{10}, Server: []Fingerprint{{"ab", "cd", "ef"}}}
	if opened, err := Open(t.Context(), cfg, other); err != nil || opened.Sale != s.ID() {
		t.Errorf("joined %+v, %v", opened, err)
	}
	if err := s.placeOrder(2, cartName(2), nil); err != nil {
		t.Errorf("order: %v", err)
	}
}

func TestRefusedLogin(t *testing.T) {
	const (
		login  = "cannot log in to Redis at %s: redis answers with an error: "
		noPass = "cannot use Redis at %s: redis answers with an error: NOAUTH Authentication required. " +
			"(set REDIS_PASSWORD)"
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

// A Redis that wants another password in mid-sale answers, and the log has its words.
func TestPasswordChangedInMidSale(t *testing.T) { onServers(t, testPasswordChangedInMidSale) }

func testPasswordChangedInMidSale(t *testing.T, server *redistest.Server, cfg Config) {
	log := testkit.CaptureLog(t)
	s := open(t, cfg, 10)
	server.Do(t, "CONFIG SET requirepass other\r\nCLIENT KILL TYPE normal SKIPME yes")
	testkit.Until(t, "the refusal is logged", func() bool {
		if err := s.addToCart(2, cartName(2), 1, 1); !errors.Is(err, ErrUnavailable) {
			t.Errorf("add: %v, want ErrUnavailable", err)
		}
		return log.Count("NOAUTH Authentication required. (set REDIS_PASSWORD)") == 1
	})
	if log.Count("Redis refuses to serve: orders get 503 until it does") != 1 {
		t.Errorf("log %s", log)
	}
}

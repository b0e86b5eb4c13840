package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// page is a reply of GET .../messages.
type page struct {
	Messages []struct {
		ID      int
		Content string
		Removed bool
	}
	Last int
}

// ids are those of the messages from the newest to the first one, read back page by page.
func ids(t *testing.T, c *client.Client, path string) (list []int, removed []int) {
	t.Helper()
	for query := "limit=7"; ; {
		var p page
		testkit.Must(t, c.Call("GET", path+"?"+query, "", &p))
		if len(p.Messages) == 0 {
			return list, removed
		}
		for i := len(p.Messages) - 1; i >= 0; i-- {
			m := p.Messages[i]
			list = append(list, m.ID)
			if m.Removed {
				removed = append(removed, m.ID)
			} else if m.Content != "message "+strconv.Itoa(m.ID) {
				t.Errorf("message %d is %q", m.ID, m.Content)
			}
		}
		query = fmt.Sprintf("limit=7&before=%d", p.Messages[0].ID)
	}
}

// History goes on from Redis to the database without a seam, for polls and for pushes, also after the
// database was away; what root removes is gone in both; the audit sees what is wrong.
func TestHistoryInDatabase(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	database := launch.StartMariaDB(t, durable)
	b, redis := openBooks(t, database, "shop"), redistest.New(t)
	flags := []string{"-chat", "-chat-messages", "10", "-redis", redis.Socket}
	s := setup{env: b.env(), args: append([]string{"-push-address", "127.0.0.1:0", "-users", "5",
		"-workers", "2", "-limits", "off", "-room-pace", "0s"}, flags...)}.serve(t)
	path := "/rooms/sale/messages"
	writer, root := s.client(t), s.client(t)
	testkit.Must(t, writer.LoginUser(2))
	testkit.Must(t, root.Login("root", rootPassword))
	n := 0
	say := func(count int) {
		for range count {
			n++
			testkit.Must(t, writer.Call("POST", path, fmt.Sprintf(`{"content":"message %d"}`, n), nil))
		}
	}
	stored := func(want int) {
		t.Helper()
		testkit.Until(t, fmt.Sprintf("%d messages in the database", want), func() bool {
			var rows int
			return b.QueryRow("SELECT COUNT(*) FROM messages").Scan(&rows) == nil && rows == want
		})
	}
	whole := func(wantRemoved string) {
		t.Helper()
		list, removed := ids(t, writer, path)
		for i, id := range list {
			if id != n-i {
				t.Fatalf("history of %d messages: %v", n, list)
			}
		}
		if len(list) != n || fmt.Sprint(removed) != wantRemoved {
			t.Errorf("%d of %d messages, removed %v, want %s", len(list), n, removed, wantRemoved)
		}
	}
	say(5)
	d := newDevice(t, s, 3)
	d.follow("sale-" + s.Sale(t))
	say(1)
	d.first = 6
	testkit.Until(t, "a push", func() bool { return d.has(1) })
	testkit.Must(t, d.Disconnect())
	say(54)
	stored(50)
	whole("[]")
	testkit.Must(t, d.Connect())
	testkit.Until(t, "all pushes", func() bool { return d.has(55) })

	testkit.Must(t, root.Call("DELETE", path+"/60", "", nil))
	testkit.Must(t, root.Call("DELETE", path+"/3", "", nil))
	whole("[60 3]")
	if code, output := runAudit(t, b, flags...); code != 0 || !strings.Contains(output,
		"audit of all messages\n  messages in Redis               10\n  messages in the database        50\n") {
		t.Errorf("audit: exit code %d\n%s", code, output)
	}

	database.Kill()
	say(20)
	var p page
	testkit.Must(t, writer.Call("GET", path+"?limit=100", "", &p))
	if len(p.Messages) != 30 || p.Messages[0].ID != 51 || p.Last != 80 {
		t.Errorf("without the database %d messages, the last is %d", len(p.Messages), p.Last)
	}
	away := func(method, path string) {
		t.Helper()
		if err := root.Call(method, path, "", nil); !client.IsRefused(err, 503, "HISTORY_UNAVAILABLE") {
			t.Errorf("%s %s without the database: %v", method, path, err)
		}
	}
	away("GET", path+"?before=51")
	away("DELETE", path+"/4")
	testkit.Must(t, root.Call("DELETE", path+"/61", "", nil))
	database.Restart(t)
	stored(70)
	testkit.Must(t, root.Call("DELETE", path+"/4", "", nil))
	whole("[61 60 4 3]")
	for _, secret := range append(s.Workers(), pushers(t, s)...) {
		if strings.Contains(visible(t, secret), database.Password) {
			t.Error("a process shows the password of the database")
		}
	}
	for _, spoil := range []struct{ statement, want string }{
		{"INSERT INTO messages SELECT thread_id, epoch, 99, 2, 'x', NOW() FROM messages WHERE id = 1",
			"extra: 1 messages of thread sale-" + s.Sale(t) + " after 80"},
		{"DELETE FROM messages WHERE id = 7", "missing: 1 messages of thread sale-" + s.Sale(t) + " from 1 to 70"},
	} {
		_, err := b.Exec(spoil.statement)
		testkit.Must(t, err)
		if code, output := runAudit(t, b, flags...); code != 1 || !strings.Contains(output, spoil.want) {
			t.Errorf("audit: exit code %d, want 1 and %q\n%s", code, spoil.want, output)
		}
	}
	s.End(t)
}

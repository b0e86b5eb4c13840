package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// openMessages is a new database for messages.
func openMessages(t *testing.T, server *launch.MariaDB, name string) *Messages {
	t.Helper()
	server.Open(t, name)
	m, err := OpenMessages(t.Context(), fmt.Sprintf("%s:%s@tcp(%s:%d)/%s", server.User, server.Password,
		server.Host, server.Port, name))
	testkit.Must(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func text(id int64) Message {
	return Message{ID: id, User: 1<<32 - 1, Content: strings.Repeat("💬", 1000) + fmt.Sprint(id, "\x00'\\\""),
		Created: time.UnixMilli(1_800_000_000_123 + id).UTC()}
}

func texts(from, to int64) (list []Message) {
	for id := from; id <= to; id++ {
		list = append(list, text(id))
	}
	return list
}

// Messages come back as they were stored, however often; a removed one stays removed; a thread that is
// started again does not meet those from before. Without the database nothing is written or read, and that
// is counted.
func testMessages(t *testing.T, server *launch.MariaDB) {
	m := openMessages(t, server, "messages")
	check := func(epoch string, from, to int64, want []Message) {
		t.Helper()
		if got, err := m.Load("u2-3", epoch, from, to); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d messages, want %d, %v: %.200v", len(got), len(want), err, got)
		}
	}
	testkit.Must(t, m.Store("u2-3", "a", texts(1, 250)))
	testkit.Must(t, m.Store("u2-3", "b", texts(1, 3)))
	testkit.Must(t, m.Store("u2-4", "a", texts(1, 1)))
	check("a", 40, 139, texts(40, 139))
	gone := Message{ID: 2, Removed: true}
	testkit.Must(t, m.Store("u2-3", "a", []Message{text(1), gone, text(3)}))
	testkit.Must(t, m.Store("u2-3", "a", texts(1, 4)))
	want := []Message{text(1), gone, text(3), text(4)}
	check("a", 1, 4, want)
	want[2] = Message{ID: 3, Removed: true}
	testkit.Must(t, m.Erase("u2-3", "a", 3))
	check("a", 1, 4, want)
	check("b", 1, 9, texts(1, 3))
	testkit.Must(t, m.Forget("u2-3", "a"))
	check("a", 1, 999, nil)
	if m.Stored() != 261 || m.Waiting() != 0 {
		t.Errorf("%d stored, waiting for %v", m.Stored(), m.Waiting())
	}
	server.Kill()
	if err := m.Store("u2-3", "b", texts(4, 4)); err == nil || m.Waiting() == 0 {
		t.Errorf("stored without the database: %v, waiting for %v", err, m.Waiting())
	}
	if _, err := m.Load("u2-3", "b", 1, 3); err == nil || strings.Contains(err.Error(), "toor") {
		t.Errorf("read without the database: %v", err)
	}
	server.Restart(t)
	testkit.Must(t, m.Store("u2-3", "b", texts(4, 4)))
	check("b", 1, 9, texts(1, 4))
	if m.Waiting() != 0 {
		t.Errorf("waiting for %v", m.Waiting())
	}
}

// memory is a source of messages.
type memory struct {
	places []Place
	stored []Message
}

func (s *memory) Survey(_ context.Context, visit func(Place)) error {
	for _, p := range s.places {
		visit(p)
	}
	return nil
}

func (s *memory) Look(thread string, visit func(Place)) error {
	for _, p := range s.places {
		if p.Thread == thread && !p.Ended {
			visit(p)
		}
	}
	return nil
}

func (s *memory) Read(_ string, from int64, _ int) ([]Message, error) {
	return slices.DeleteFunc(slices.Clone(s.stored), func(m Message) bool { return m.ID < from }), nil
}

// Every outcome, one after another.
func testAuditMessages(t *testing.T, server *launch.MariaDB) {
	m := openMessages(t, server, "compared")
	redis := &memory{stored: texts(21, 30), places: []Place{
		{Thread: "u1-2", Epoch: "a", Kept: 5, First: 21, Last: 30},
		{Thread: "u1-3", Epoch: "a", Kept: 1, First: 1, Last: 9},
		{Thread: "g", Epoch: "old", Ended: true},
		{Thread: "g", Epoch: "new", Kept: 1, First: 1},
	}}
	testkit.Must(t, m.Store("u1-2", "a", texts(3, 22)))
	testkit.Must(t, m.Store("g", "old", texts(1, 2)))
	for _, step := range []struct {
		name string
		do   func() error
		want Audit
		text string
	}{
		{"equal", func() error { return nil }, Audit{Rows: 22}, "audit of all messages\n  messages in Redis  "},
		{"other text", func() error {
			_, err := m.database.db.Exec("UPDATE messages SET content = 'x' WHERE id = 22")
			return err
		}, Audit{Rows: 22, Different: 1}, "different: message 22 of thread u1-2"},
		{"missing in the middle", func() error {
			_, err := m.database.db.Exec("DELETE FROM messages WHERE id IN (4, 9, 10)")
			return err
		}, Audit{Rows: 19, Different: 1, Missing: 2}, "missing: 2 messages of thread u1-2 from 5 to 20"},
		{"after the last", func() error { return m.Store("u1-2", "a", texts(29, 32)) },
			Audit{Rows: 23, Different: 1, Missing: 2, Extra: 2}, "extra: 2 messages of thread u1-2 after 30"},
		{"unknown", func() error { return m.Store("g", "lost", texts(1, 3)) },
			Audit{Rows: 26, Different: 1, Missing: 2, Extra: 5}, "extra: 3 messages of thread g, which is not there"},
		{"all missing", func() error {
			redis.places[1].First = 3
			return nil
		}, Audit{Rows: 26, Different: 1, Missing: 4, Extra: 5}, "missing: 2 messages of thread u1-3 from 1 to 2"},
	} {
		testkit.Must(t, step.do())
		a, err := CompareMessages(t.Context(), m, redis, 9)
		testkit.Must(t, err)
		step.want.InRedis, step.want.OnTheWay = 19, 3
		if step.name == "all missing" {
			step.want.InRedis = 17
		}
		var out strings.Builder
		if a.Print(&out); a.counts() != step.want.counts() || !strings.Contains(out.String(), step.text) {
			t.Errorf("%s: %v, want %v and %q\n%s", step.name, a.counts(), step.want.counts(), step.text, out.String())
		}
	}
}

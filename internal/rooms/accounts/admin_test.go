package accounts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"flashsale/internal/credentials"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const firstID = redisx.FirstRegistered

// listed are all names of the pages of a list, and checks the ends of the pages.
func (a *Accounts) listed(t *testing.T, after uint32, limit int) (names []string) {
	t.Helper()
	for pages := 0; ; pages++ {
		page, next, err := a.List(after, limit)
		testkit.Must(t, err)
		for _, u := range page {
			names = append(names, u.Name)
			if u.ID <= after || next != 0 && u.ID > next {
				t.Errorf("user %d on the page from %d to %d", u.ID, after, next)
			}
		}
		if next == 0 {
			return names
		}
		if next != max(after, firstID-1)+uint32(limit) || pages > 100 {
			t.Fatalf("the page after %d ends at %d", after, next)
		}
		after = next
	}
}

// The accounts of all parts are listed by id, page by page; an id that was lost is left out.
func TestList(t *testing.T) {
	onEach(t, testList)
	t.Run("two Redis", func(t *testing.T) {
		testList(t, run(t, config(roomtest.Redis(t), roomtest.Of(redistest.New(t)))))
	})
}

func testList(t *testing.T, a *Accounts) {
	if page, next, err := a.List(0, ListMax); len(page) > 0 || next != 0 || err != nil {
		t.Errorf("without accounts: %v, %d, %v", page, next, err)
	}
	begin := time.Now().Add(-time.Millisecond)
	_, err := a.Register("Zoë", []byte("password"), "zoe@example.com")
	testkit.Must(t, err)
	want := []string{"Zoë"}
	for i := range 40 {
		want = append(want, a.join(t, fmt.Sprint("Buyer ", i)).Name)
	}
	// A crash, or the loss of a name to another call, leaves an id with or without a name.
	lost, err := a.newID()
	testkit.Must(t, err)
	part, key := userKey("user", lost)
	testkit.Must(t, a.do(part, pipeline.Command(new(string), "SET", key, "zoë")))
	_, err = a.newID()
	testkit.Must(t, err)
	want = append(want, a.join(t, "last").Name)
	for _, limit := range []int{1, 2, 7, 43, 44, ListMax} {
		if got := a.listed(t, 0, limit); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %q", limit, got)
		}
	}
	if got := a.listed(t, lost, 1); !slices.Equal(got, want[len(want)-1:]) {
		t.Errorf("from a lost id on: %q", got)
	}
	if got := a.listed(t, 1<<32-1, 1); len(got) > 0 {
		t.Errorf("behind all ids: %q", got)
	}

	for _, name := range []string{"Zoë", "ZOË", "zoe\u0308"} {
		found, err := a.Search(name)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s is found as %v, %v", name, found, err)
		}
		u := found[0]
		testkit.Same(t, name, u.User, User{firstID, "Zoë"})
		testkit.Same(t, "e-mail", u.Email, "zoe@example.com")
		if u.Created.Before(begin) || u.Created.After(time.Now()) || !u.Closed.IsZero() {
			t.Errorf("created at %v, closed at %v", u.Created, u.Closed)
		}
	}
	for _, name := range []string{"Zoe", "root", "user2", "x", ""} {
		if found, err := a.Search(name); len(found) > 0 || err != nil {
			t.Errorf("%q is found as %v, %v", name, found, err)
		}
	}
}

func TestReset(t *testing.T) {
	onEach(t, func(t *testing.T, a *Accounts) {
		ended := a.cfg.noteEnds(func(uint32) error { return nil })
		u := a.join(t, "Alice")
		testkit.Must(t, a.Reset(u.ID, []byte("a new password")))
		testkit.Same(t, "sessions that have ended", fmt.Sprint(ended()), fmt.Sprint([]uint32{u.ID}))
		_, err := a.Authenticate("alice", []byte("password of Alice"))
		testkit.Wants(t, "the lost password", err, credentials.ErrWrongPassword)
		got, err := a.Authenticate("alice", []byte("a new password"))
		if err != nil || got != u {
			t.Errorf("the new password: %v, %v", got, err)
		}
		testkit.Wants(t, "a short password", a.Reset(u.ID, []byte("short")), credentials.ErrBadPassword)
		testkit.Wants(t, "a user of the catalogue", a.Reset(2, []byte("a new password")), ErrCatalogueUser)
		testkit.Wants(t, "nobody", a.Reset(u.ID+1, []byte("a new password")), ErrNoUser)
	})
}

// Nobody logs in with a closed account, nobody gets its name, and of its contacts nothing is left but what
// others noted.
func TestClose(t *testing.T) {
	onEach(t, func(t *testing.T, a *Accounts) {
		ended := a.cfg.noteEnds(func(uint32) error { return nil })
		u := a.join(t, "Alice")
		friend := a.join(t, "friend")
		testkit.Must(t, a.put(u.ID, Contact{User: friend.ID, Blocked: true}))
		testkit.Must(t, a.put(u.ID, Contact{User: 2, Nickname: "two"}))
		testkit.Must(t, a.put(friend.ID, Contact{User: u.ID, Blocked: true}))
		begin := time.Now().Add(-time.Millisecond)
		var closed time.Time
		for range 2 {
			testkit.Must(t, a.Close(u.ID))
			found, err := a.Search("alice")
			if err != nil || len(found) != 1 || found[0].User != u || found[0].Email != "" ||
				found[0].Closed.Before(begin) || !closed.IsZero() && !found[0].Closed.Equal(closed) {
				t.Fatalf("the closed account: %+v, %v", found, err)
			}
			closed = found[0].Closed
		}
		testkit.Same(t, "sessions that have ended", fmt.Sprint(ended()), fmt.Sprint([]uint32{u.ID}))
		for _, password := range []string{"password of Alice", ""} {
			_, err := a.Authenticate("Alice", []byte(password))
			testkit.Wants(t, "login", err, credentials.ErrWrongPassword)
		}
		testkit.Wants(t, "change of the password",
			a.SetPassword(u.ID, []byte("password of Alice"), []byte("password")),
			credentials.ErrWrongPassword)
		testkit.Wants(t, "reset", a.Reset(u.ID, []byte("password")), ErrClosed)
		_, err := a.Register("ALICE", []byte("password"), "")
		testkit.Wants(t, "the name", err, ErrNameTaken)
		names, err := a.Names([]uint32{u.ID})
		if err != nil || names[u.ID] != "Alice" {
			t.Errorf("the name of the id: %v, %v", names, err)
		}
		if list, err := a.Contacts(u.ID); len(list) > 0 || err != nil {
			t.Errorf("contacts: %v, %v", list, err)
		}
		want := []Contact{{User: u.ID, Blocked: true}}
		if list, err := a.Contacts(friend.ID); err != nil || !slices.Equal(list, want) {
			t.Errorf("contacts of the other one: %v, %v", list, err)
		}
		testkit.Wants(t, "a user of the catalogue", a.Close(2), ErrCatalogueUser)
		testkit.Wants(t, "nobody", a.Close(friend.ID+1), ErrNoUser)
	})
}

// The codes of reset.lua, and what it leaves.
func TestResetScript(t *testing.T) {
	onEach(t, func(t *testing.T, a *Accounts) {
		part, key := nameKey("alice")
		conn := a.redis.Part(part)
		reset := func() (code int64) {
			testkit.Must(t, a.do(part, resetScript.Call(&code, []string{key}, "new")))
			return code
		}
		testkit.Same(t, "without an account", reset(), int64(accountClosed))
		testkit.Same(t, "keys after it", roomtest.Ask[int](t, conn, "EXISTS", key), 0)
		for _, old := range []string{"old", ""} {
			roomtest.Ask[int](t, conn, "HSET", key, "id", "7", "hash", old)
			code, want := int64(accountClosed), ""
			if old != "" {
				code, want = passwordReset, "new"
			}
			testkit.Same(t, "the hash was "+old, reset(), code)
			testkit.Same(t, "the hash is", roomtest.Ask[string](t, conn, "HGET", key, "hash"), want)
			testkit.Same(t, "fields", roomtest.Ask[int](t, conn, "HLEN", key), 2)
		}
	})
}

// An account that is closed while its new password is hashed stays closed.
func TestCloseBesideReset(t *testing.T) {
	cfg := config(roomtest.Redis(t))
	var a *Accounts
	cfg.Hash = func(password, salt []byte) ([32]byte, error) {
		if string(password) == "a new password" {
			testkit.Must(t, a.Close(firstID))
		}
		return testkit.FastHash(password, salt)
	}
	a = run(t, cfg)
	u := a.join(t, "Alice")
	testkit.Wants(t, "reset", a.Reset(u.ID, []byte("a new password")), ErrClosed)
	_, err := a.Authenticate("Alice", []byte("a new password"))
	testkit.Wants(t, "login", err, credentials.ErrWrongPassword)
}

// Without Redis each call of the operator fails.
func TestOperatorWithoutRedis(t *testing.T) {
	a := New(config(roomtest.Nowhere()))
	_, _, list := a.List(0, 1)
	_, search := a.Search("alice")
	for what, err := range map[string]error{"list": list, "search": search,
		"reset": a.Reset(firstID, []byte("password")), "close": a.Close(firstID)} {
		testkit.Wants(t, what, err, pipeline.ErrUnavailable)
	}
}

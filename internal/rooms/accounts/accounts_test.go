package accounts

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/internal/credentials"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

func TestRegister(t *testing.T) { onEach(t, testRegister) }

func testRegister(t *testing.T, a *Accounts) {
	password := []byte("correct horse")
	alice, err := a.Register("Älice", password, "alice@example.com")
	testkit.Must(t, err)
	testkit.Same(t, "the first user", alice, User{redisx.FirstRegistered, "Älice"})
	testkit.Same(t, "the second user", a.join(t, "bob"), User{redisx.FirstRegistered + 1, "bob"})
	for name, want := range map[string]error{
		"älice": ErrNameTaken, "A\u0308LICE": ErrNameTaken, "bob": ErrNameTaken, "root": ErrNameTaken,
		"ROOT": ErrNameTaken, "Ｕｓｅｒ２": ErrNameTaken, "strasse 3": ErrNameTaken, "Straße 3": ErrNameTaken,
		"ab": credentials.ErrBadName, "123": credentials.ErrBadName,
	} {
		_, err := a.Register(name, password, "")
		testkit.Wants(t, name, err, want)
	}
	for _, wrong := range []string{"1234567", "", strings.Repeat("p", 257), "ßßßßßßß"} {
		_, err := a.Register("carol", []byte(wrong), "")
		testkit.Wants(t, "password "+wrong, err, credentials.ErrBadPassword)
	}
	for _, wrong := range []string{"x", "a b@c.d", "Carol <c@d.e>", "@d", strings.Repeat("a", 251) + "@b.c"} {
		_, err := a.Register("carol", password, wrong)
		testkit.Wants(t, "e-mail "+wrong, err, ErrBadEmail)
	}
	for name, want := range map[string]error{"Älice": nil, "älICE": nil, "bob": credentials.ErrWrongPassword,
		"carol": credentials.ErrWrongPassword, "": credentials.ErrWrongPassword,
		"x": credentials.ErrWrongPassword} {
		u, err := a.Authenticate(name, password)
		testkit.Wants(t, "login of "+name, err, want)
		if err == nil {
			testkit.Same(t, "who logs in", u, alice)
		}
	}
	part, key := nameKey("älice")
	fields := roomtest.Ask[map[string]string](t, a.redis.Part(part), "HGETALL", key)
	if fields["email"] != "alice@example.com" || !strings.HasPrefix(fields["hash"], "$argon2id$") {
		t.Errorf("in Redis: %v", fields)
	}
}

// Of many who want a name at the same moment, in any form and on several connections, exactly one gets it.
func TestRaceForAName(t *testing.T) {
	redis := roomtest.Redis(t)
	forms := []string{"Zoë", "zoë", "ZOË", "Zoe\u0308", "ｚｏë", "zOë"}
	var won atomic.Int64
	var racing sync.WaitGroup
	for range 4 {
		a := run(t, config(redis))
		for _, form := range forms {
			racing.Go(func() {
				_, err := a.Register(form, []byte("password"), "")
				for errors.Is(err, credentials.ErrBusy) {
					_, err = a.Register(form, []byte("password"), "")
				}
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, ErrNameTaken) {
					t.Error(err)
				}
			})
		}
	}
	racing.Wait()
	testkit.Same(t, "winners", won.Load(), int64(1))
	a := run(t, config(redis))
	users, err := a.Find("zoë")
	testkit.Must(t, err)
	user := users[0]
	names, err := a.Names(users)
	testkit.Must(t, err)
	if credentials.Fold(names[user]) != "zoë" {
		t.Errorf("user %d is %q", user, names[user])
	}
	// The names of the ids that were lost are gone.
	for part := range pipeline.Parts {
		for _, key := range roomtest.Ask[[]string](t, a.redis.Part(part), "KEYS", partKey(part, "user:*")) {
			_, own := userKey("user", user)
			if key != own {
				t.Errorf("%s is left", key)
			}
		}
	}
}

// A crash between the steps of a registration loses an id and nothing else.
func TestCrashWhileRegistering(t *testing.T) {
	a := run(t, config(roomtest.Redis(t)))
	lost, err := a.newID()
	testkit.Must(t, err)
	part, key := userKey("user", lost)
	testkit.Must(t, a.do(part, pipeline.Command(new(string), "SET", key, "alice")))
	alice := a.join(t, "alice")
	testkit.Same(t, "id after the lost one", alice.ID, lost+1)
	users, err := a.Find("ALICE")
	testkit.Must(t, err)
	testkit.Same(t, "found", users[0], alice.ID)
}

// As many accounts as there may be: one less than needed here.
func TestAccountsMax(t *testing.T) {
	cfg := config(roomtest.Redis(t))
	cfg.UsersMax = 2
	a := run(t, cfg)
	a.join(t, "alice")
	a.join(t, "bob")
	_, err := a.Register("carol", []byte("password"), "")
	testkit.Wants(t, "a third account", err, ErrFull)
	_, err = a.newID()
	testkit.Wants(t, "new_id.lua", err, ErrFull)
}

// The codes of scripts that only a race shows.
func TestCodes(t *testing.T) { onEach(t, testCodes) }

func testCodes(t *testing.T, a *Accounts) {
	part, key := nameKey("alice")
	register := func(id string) (code int64) {
		testkit.Must(t, a.do(part, registerScript.Call(&code, []string{key}, id, "Alice", "hash", "", "1")))
		return code
	}
	testkit.Same(t, "register.lua", register("7"), int64(made))
	testkit.Same(t, "register.lua again", register("8"), int64(nameTaken))
	testkit.Same(t, "the id stays", roomtest.Ask[string](t, a.redis.Part(part), "HGET", key, "id"), "7")
	change := func(old, new string) (code int64) {
		testkit.Must(t, a.do(part, passwordScript.Call(&code, []string{key}, old, new)))
		return code
	}
	testkit.Same(t, "password.lua", change("hash", "hash2"), int64(passwordChanged))
	testkit.Same(t, "password.lua again", change("hash", "hash3"), int64(passwordIsOther))
	testkit.Same(t, "the hash", roomtest.Ask[string](t, a.redis.Part(part), "HGET", key, "hash"), "hash2")
}

func TestSetPassword(t *testing.T) {
	cfg := config(roomtest.Redis(t))
	ended := cfg.noteEnds(func(uint32) error { return nil })
	a := run(t, cfg)
	alice := a.join(t, "Alice")
	old, fresh := []byte("password of Alice"), []byte("another password")
	testkit.Wants(t, "a user of the catalogue", a.SetPassword(2, old, fresh), ErrCatalogueUser)
	testkit.Wants(t, "nobody", a.SetPassword(redisx.FirstRegistered+77, old, fresh), ErrNoUser)
	testkit.Wants(t, "wrong password", a.SetPassword(alice.ID, fresh, old), credentials.ErrWrongPassword)
	testkit.Wants(t, "short password", a.SetPassword(alice.ID, old, []byte("short")),
		credentials.ErrBadPassword)
	testkit.Same(t, "sessions that have ended", len(ended()), 0)
	testkit.Must(t, a.SetPassword(alice.ID, old, fresh))
	testkit.Same(t, "sessions that have ended", fmt.Sprint(ended()), fmt.Sprint([]uint32{alice.ID}))
	_, err := a.Authenticate("alice", old)
	testkit.Wants(t, "the old password", err, credentials.ErrWrongPassword)
	_, err = a.Authenticate("alice", fresh)
	testkit.Wants(t, "the new password", err, nil)
}

// While sessions cannot end, a password stays as it is.
func TestSetPasswordWhileSessionsCannotEnd(t *testing.T) {
	cfg := config(roomtest.Redis(t))
	full := errors.New("full")
	ended := cfg.noteEnds(func(uint32) error { return full })
	a := run(t, cfg)
	alice := a.join(t, "Alice")
	old := []byte("password of Alice")
	testkit.Wants(t, "a change", a.SetPassword(alice.ID, old, []byte("another password")), full)
	testkit.Same(t, "sessions that have ended", len(ended()), 0)
	_, err := a.Authenticate("alice", old)
	testkit.Wants(t, "the password of before", err, nil)
}

// Ids and names of both kinds of users.
func TestResolve(t *testing.T) {
	a := run(t, config(roomtest.Redis(t)))
	alice := a.join(t, "Alice")
	for text, want := range map[string]User{"2": {2, "user2"}, "user2": {2, "user2"},
		"Straße 3": {3, "Straße 3"}, "alice": alice, "ALICE": alice, idText(alice.ID): alice} {
		got, err := a.Resolve(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "4", "99999999999", "nobody", "User2", "", "x", "2147483700"} {
		got, err := a.Resolve(text)
		if unknown := (*NoUserError)(nil); !errors.As(err, &unknown) || unknown.Text != text ||
			!errors.Is(err, ErrNoUser) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// Many are found at once, in their order; the first one that is nobody is named.
func TestFind(t *testing.T) { onEach(t, testFind) }

func testFind(t *testing.T, a *Accounts) {
	alice, bob := a.join(t, "Alice"), a.join(t, "bob")
	got, err := a.Find("bob", "2147483700", "root", "alice", "7", "BOB")
	testkit.Must(t, err)
	testkit.Same(t, "found", fmt.Sprint(got), fmt.Sprint([]uint32{bob.ID, 2147483700, 1, alice.ID, 7, bob.ID}))
	_, err = a.Find("bob", "carol", "dave")
	testkit.Same(t, "nobody", fmt.Sprint(err), "no user has this name or id: carol")
	got, err = a.Find()
	if err != nil || len(got) != 0 {
		t.Errorf("nothing asked: %v, %v", got, err)
	}
}

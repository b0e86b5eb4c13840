package accounts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/credentials"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

func TestRegister(t *testing.T) { onEach(t, testRegister) }

func testRegister(t *testing.T, a *Accounts) {
	password := []byte("correct horse")
	alice, err := a.Register("Älice", password, "alice@example.com")
	testkit.Must(t, err)
	same(t, "the first user", alice, User{redisx.FirstRegistered, "Älice"})
	same(t, "the second user", a.join(t, "bob"), User{redisx.FirstRegistered + 1, "bob"})
	for name, want := range map[string]error{
		"älice": ErrNameTaken, "A\u0308LICE": ErrNameTaken, "bob": ErrNameTaken, "root": ErrNameTaken,
		"ROOT": ErrNameTaken, "Ｕｓｅｒ２": ErrNameTaken, "strasse 3": ErrNameTaken, "Straße 3": ErrNameTaken,
		"ab": credentials.ErrBadName, "123": credentials.ErrBadName,
	} {
		_, err := a.Register(name, password, "")
		wants(t, name, err, want)
	}
	for _, wrong := range []string{"1234567", "", strings.Repeat("p", 257), "ßßßßßßß"} {
		_, err := a.Register("carol", []byte(wrong), "")
		wants(t, "password "+wrong, err, credentials.ErrBadPassword)
	}
	for _, wrong := range []string{"x", "a b@c.d", "Carol <c@d.e>", "@d", strings.Repeat("a", 251) + "@b.c"} {
		_, err := a.Register("carol", password, wrong)
		wants(t, "e-mail "+wrong, err, ErrBadEmail)
	}
	for name, want := range map[string]error{"Älice": nil, "älICE": nil, "bob": credentials.ErrWrongPassword,
		"carol": credentials.ErrWrongPassword, "": credentials.ErrWrongPassword,
		"x": credentials.ErrWrongPassword} {
		u, err := a.Authenticate(name, password)
		wants(t, "login of "+name, err, want)
		if err == nil {
			same(t, "who logs in", u, alice)
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
	same(t, "winners", won.Load(), int64(1))
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
	same(t, "id after the lost one", alice.ID, lost+1)
	users, err := a.Find("ALICE")
	testkit.Must(t, err)
	same(t, "found", users[0], alice.ID)
}

// As many accounts as there may be: one less than needed here.
func TestAccountsMax(t *testing.T) {
	cfg := config(roomtest.Redis(t))
	cfg.UsersMax = 2
	a := run(t, cfg)
	a.join(t, "alice")
	a.join(t, "bob")
	_, err := a.Register("carol", []byte("password"), "")
	wants(t, "a third account", err, ErrFull)
	_, err = a.newID()
	wants(t, "new_id.lua", err, ErrFull)
}

// The codes of scripts that only a race shows.
func TestCodes(t *testing.T) { onEach(t, testCodes) }

func testCodes(t *testing.T, a *Accounts) {
	part, key := nameKey("alice")
	register := func(id string) (code int64) {
		testkit.Must(t, a.do(part, registerScript.Call(&code, []string{key}, id, "Alice", "hash", "", "1")))
		return code
	}
	same(t, "register.lua", register("7"), int64(made))
	same(t, "register.lua again", register("8"), int64(nameTaken))
	same(t, "the id stays", roomtest.Ask[string](t, a.redis.Part(part), "HGET", key, "id"), "7")
	change := func(old, new string) (code int64) {
		testkit.Must(t, a.do(part, passwordScript.Call(&code, []string{key}, old, new)))
		return code
	}
	same(t, "password.lua", change("hash", "hash2"), int64(passwordChanged))
	same(t, "password.lua again", change("hash", "hash3"), int64(passwordIsOther))
	same(t, "the hash", roomtest.Ask[string](t, a.redis.Part(part), "HGET", key, "hash"), "hash2")

	end := func(user, most string) (code int64) {
		testkit.Must(t, a.do(onePart, endScript.Call(&code, []string{endedKey}, user, "60000", most)))
		return code
	}
	one := a.redis.Part(onePart)
	roomtest.Ask[int](t, one, "ZADD", endedKey, "1000", "9") // its tokens have expired
	if now := end("1", "1"); time.Since(time.UnixMilli(now)).Abs() > time.Minute {
		t.Errorf("end.lua: %d", now)
	}
	if end("1", "1") == 0 {
		t.Error("a user who is there already ends again")
	}
	same(t, "end.lua with one more", end("2", "1"), int64(tooManyEnds))
	same(t, "ends", strings.Join(roomtest.Ask[[]string](t, one, "ZRANGE", endedKey, "0", "-1"), " "), "1")
	if ttl := roomtest.Ask[int](t, one, "PTTL", endedKey); ttl < 1 || ttl > 60_000 {
		t.Errorf("the ends live for %d ms", ttl)
	}
}

func TestSetPassword(t *testing.T) {
	a := run(t, config(roomtest.Redis(t)))
	alice := a.join(t, "Alice")
	old, fresh := []byte("password of Alice"), []byte("another password")
	wants(t, "a user of the catalogue", a.SetPassword(2, old, fresh), ErrCatalogueUser)
	wants(t, "nobody", a.SetPassword(redisx.FirstRegistered+77, old, fresh), ErrNoUser)
	wants(t, "wrong password", a.SetPassword(alice.ID, fresh, old), credentials.ErrWrongPassword)
	wants(t, "short password", a.SetPassword(alice.ID, old, []byte("short")), credentials.ErrBadPassword)
	before := time.Now().Add(time.Hour).Unix()
	testkit.Must(t, a.SetPassword(alice.ID, old, fresh))
	if !a.IsEnded(alice.ID, before) {
		t.Error("the token of before is valid")
	}
	_, err := a.Authenticate("alice", old)
	wants(t, "the old password", err, credentials.ErrWrongPassword)
	_, err = a.Authenticate("alice", fresh)
	wants(t, "the new password", err, nil)
}

// While as many users have logged out everywhere as may, a password stays as it is, and so do the tokens.
// Who is among these users may change the password again.
func TestSetPasswordWhileEndsAreFull(t *testing.T) {
	a := run(t, config(roomtest.Redis(t)))
	alice, bob := a.join(t, "Alice"), a.join(t, "Bob")
	fresh := []byte("another password")
	testkit.Must(t, a.SetPassword(bob.ID, []byte("password of Bob"), fresh))
	a.fillEnds(t, 1, endedMax-1)
	before := time.Now().Add(time.Hour).Unix()
	wants(t, "one more", a.SetPassword(alice.ID, []byte("password of Alice"), fresh), ErrTooManyEnded)
	wants(t, "a log out", a.EndTokens(alice.ID), ErrTooManyEnded)
	same(t, "the token of before has ended", a.IsEnded(alice.ID, before), false)
	_, err := a.Authenticate("alice", []byte("password of Alice"))
	wants(t, "the password of before", err, nil)
	wants(t, "one of them", a.SetPassword(bob.ID, fresh, []byte("password of Bob")), nil)
}

// fillEnds lets the users with these ids end their tokens now.
func (a *Accounts) fillEnds(t *testing.T, from, to uint32) {
	t.Helper()
	const fill = `for i = ARGV[2], ARGV[3] do redis.call('ZADD', KEYS[1], ARGV[1], i) end`
	testkit.Must(t, a.do(onePart, pipeline.Command(new(any), "EVAL", fill, "1", endedKey,
		strconv.FormatInt(time.Now().UnixMilli(), 10), idText(from), idText(to))))
}

// A token that was minted before is refused on every server, one that was minted after is not; after a
// restart too, until the old one would have expired.
func TestEndTokens(t *testing.T) {
	same(t, "questions within the promised second", int(time.Second/hearPace), 4)
	redis := redistest.New(t)
	cfg := config(roomtest.Of(redis))
	one, other := run(t, cfg), run(t, cfg)
	before := time.Now().Add(cfg.TokenTTL).Unix()
	testkit.Must(t, one.EndTokens(7))
	after := time.Now().Add(cfg.TokenTTL).Unix()
	testkit.Until(t, "end on the other server", func() bool { return other.IsEnded(7, before) })
	restarted := run(t, cfg)
	testkit.Until(t, "end after a restart", func() bool { return restarted.IsEnded(7, before) })
	for _, a := range []*Accounts{one, other, restarted} {
		if !a.IsEnded(7, before) || a.IsEnded(7, after) || a.IsEnded(8, before) {
			t.Errorf("before %v, after %v, another user %v", a.IsEnded(7, before), a.IsEnded(7, after),
				a.IsEnded(8, before))
		}
		a.ended.sweep(time.Now().Add(cfg.TokenTTL - time.Minute))
		same(t, "before it expires", a.IsEnded(7, before), true)
		a.ended.sweep(time.Now().Add(cfg.TokenTTL + 2*time.Second))
		same(t, "what is kept", a.ended.shards[7].Load() == nil, true)
	}
}

// The token of each moment of a second ends; a lifetime need not be whole seconds.
func TestLastToken(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, 1500 * time.Millisecond, time.Hour, 7*time.Hour + 1} {
		e := &ended{ttl: ttl}
		const second = 1_800_000_000
		for ms := int64(0); ms < 1000; ms += 111 {
			end := int64(second*1000) + ms
			if minted := time.UnixMilli(end).Add(ttl).Unix(); minted > e.last(end) {
				t.Errorf("ttl %v: the token of %d ms expires at %d, the last at %d", ttl, ms, minted, e.last(end))
			}
		}
		next := time.Unix(e.last(second*1000)+1, 0).Add(-ttl)
		if wait := next.Sub(time.Unix(second, 0)); wait > skewMax {
			t.Errorf("ttl %v: a login waits %v", ttl, wait)
		}
	}
}

// Many ends come page by page.
func TestManyEnds(t *testing.T) {
	redis := roomtest.Redis(t)
	const users = 2*endedPage + 10
	run(t, config(redis)).fillEnds(t, 1, users)
	a := run(t, config(redis))
	before := time.Now().Unix()
	testkit.Until(t, "all ends", func() bool {
		for user := uint32(1); user <= users; user++ {
			if !a.IsEnded(user, before) {
				return false
			}
		}
		return true
	})
}

func TestIsEndedDoesNotAllocate(t *testing.T) {
	a := &Accounts{}
	a.ended.ttl = time.Hour
	a.ended.add(map[uint32]int64{7: time.Now().UnixMilli()})
	if n := testing.AllocsPerRun(100, func() { a.IsEnded(7, 1); a.IsEnded(8, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkIsEnded(b *testing.B) {
	a := &Accounts{}
	a.ended.ttl = time.Hour
	ends := map[uint32]int64{}
	for user := range uint32(100_000) {
		ends[user] = time.Now().UnixMilli()
	}
	a.ended.add(ends)
	for i := uint32(0); b.Loop(); i += 7919 {
		a.IsEnded(i%200_000, 1)
	}
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
	same(t, "found", fmt.Sprint(got), fmt.Sprint([]uint32{bob.ID, 2147483700, 1, alice.ID, 7, bob.ID}))
	_, err = a.Find("bob", "carol", "dave")
	same(t, "nobody", fmt.Sprint(err), "no user has this name or id: carol")
	got, err = a.Find()
	if err != nil || len(got) != 0 {
		t.Errorf("nothing asked: %v, %v", got, err)
	}
}

package operators

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/credentials"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

// A name in any case, with its password, is an operator's. A name that there is not costs a hash too.
func TestLogIn(t *testing.T) {
	var hashed atomic.Int64
	o := New(Config{Redis: roomtest.Nowhere(), List: []Operator{operator(t, 7, "Ann", Admin)},
		Hash: func(password, salt []byte) ([32]byte, error) {
			hashed.Add(1)
			return testkit.FastHash(password, salt)
		}})
	for _, test := range []struct {
		name, password string
		want           error
	}{
		{"Ann", "password of Ann", nil}, {"ＡＮＮ", "password of Ann", nil},
		{"Ann", "password of ann", credentials.ErrWrongPassword}, {"Ann", "", credentials.ErrWrongPassword},
		{"bob", "password of Ann", credentials.ErrWrongPassword}, {"", "", credentials.ErrWrongPassword},
	} {
		before := hashed.Load()
		found, err := o.LogIn(test.name, []byte(test.password), "")
		testkit.Wants(t, test.name, err, test.want)
		if (err == nil) != (found != nil && found.Number == 7) || hashed.Load() != before+1 {
			t.Errorf("%s: %+v after %d hashes, want one", test.name, found, hashed.Load()-before)
		}
	}
}

// A token's operator is found by number, name, password and second factor: whoever has gone, or has another
// one of these, is not. The role is that of the list.
func TestHolder(t *testing.T) {
	ann := operator(t, 7, "ann", Viewer)
	o := New(Config{Redis: roomtest.Nowhere(), List: []Operator{ann}, Hash: testkit.FastHash})
	holder := ann.Holder()
	same, other, renamed, promoted := ann, operator(t, 7, "ann", Viewer), ann, ann
	renamed.Name, promoted.Role = "bob", Admin
	secured := ann
	_, _, err := secured.SetTOTP()
	testkit.Must(t, err)
	for _, test := range []struct {
		what string
		list []Operator
		role Role // "" for nobody
	}{
		{"as before", []Operator{same}, Viewer}, {"another password", []Operator{other}, ""},
		{"another name", []Operator{renamed}, ""}, {"another second factor", []Operator{secured}, ""},
		{"another role", []Operator{promoted}, Admin},
		{"nobody", nil, ""}, {"back", []Operator{ann}, Viewer},
	} {
		o.Use(test.list)
		role := Role("")
		if found := o.Find(holder); found != nil {
			role = found.Role
		}
		if role != test.role {
			t.Errorf("%s: role %q, want %q", test.what, role, test.role)
		}
	}
	if holder&NumberMax != 7 {
		t.Errorf("holder %x has another number", holder)
	}
}

// The networks of logins are known on every server, also on one that begins later, up to a number.
func TestNetworks(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		one := run(t, redis)
		home := netip.MustParseAddr("192.0.2.1")
		for i := range networksMax {
			network := fmt.Sprintf("10.0.%d.%d", i/256, i%256)
			roomtest.Ask[int](t, one.redis, "ZADD", networksKey, strconv.Itoa(i), network)
		}
		testkit.Same(t, "before", one.Knows(home), false)
		one.Came(home)
		testkit.Same(t, "here", one.Knows(home), true)
		other := run(t, redis)
		testkit.Until(t, "the other server", func() bool { return other.Knows(home) })
		testkit.Same(t, "the oldest one", other.Knows(netip.MustParseAddr("10.0.0.0")), false)
		testkit.Same(t, "the next one", other.Knows(netip.MustParseAddr("10.0.0.1")), true)
		testkit.Same(t, "those in Redis", roomtest.Ask[int](t, one.redis, "ZCARD", networksKey), networksMax)
	})
}

func TestRoles(t *testing.T) {
	for i, role := range Roles {
		for j, other := range Roles {
			if role.Includes(other) != (i >= j) {
				t.Errorf("%s includes %s: %v", role, other, i < j)
			}
		}
	}
}

// A code counts once on all servers, and only beside the right password.
func TestCodes(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		ann := operator(t, 1, "ann", Operates)
		_, _, err := ann.SetTOTP()
		testkit.Must(t, err)
		one, two := run(t, redis, ann), run(t, redis, ann)
		logIn := func(o *Operators, code string) error {
			_, err := o.LogIn("ann", []byte("password of ann"), code)
			return err
		}
		testkit.Wants(t, "without a code", logIn(one, ""), ErrCodeNeeded)
		testkit.Wants(t, "a code of later", logIn(one, codeOf(t, &ann, one.step(t)+10)), ErrWrongCode)
		_, err = one.LogIn("ann", []byte("wrong"), codeOf(t, &ann, one.step(t)))
		testkit.Wants(t, "another password", err, credentials.ErrWrongPassword)

		step := one.step(t)
		code := codeOf(t, &ann, step)
		testkit.Wants(t, "the code", logIn(one, code[:3]+" "+code[3:]), nil)
		testkit.Wants(t, "the same code on another server", logIn(two, code), ErrWrongCode)
		testkit.Wants(t, "the code before it", logIn(two, codeOf(t, &ann, step-1)), ErrWrongCode)
		testkit.Wants(t, "the code behind it", logIn(two, codeOf(t, &ann, step+1)), nil)

		ben := operator(t, 1, "ben", Operates) // who gets the number of ann
		_, _, err = ben.SetTOTP()
		testkit.Must(t, err)
		two.Use([]Operator{ben})
		_, err = two.LogIn("ben", []byte("password of ben"), codeOf(t, &ben, step))
		testkit.Wants(t, "another second factor", err, nil)
	})
}

// Of many calls at the same moment with one code, one is let in.
func TestCodeOfManyCalls(t *testing.T) {
	redis := roomtest.Redis(t)
	ann := operator(t, 1, "ann", Operates)
	_, codes, err := ann.SetTOTP()
	testkit.Must(t, err)
	rooms := []*Operators{run(t, redis, ann), run(t, redis, ann)}
	for _, code := range []string{codeOf(t, &ann, rooms[0].step(t)), codes[3]} {
		var in atomic.Int64
		var all sync.WaitGroup
		for i := range stepWrong { // as many as a step takes
			all.Go(func() {
				if _, err := rooms[i%2].LogIn("ann", []byte("password of ann"), code); err == nil {
					in.Add(1)
				}
			})
		}
		all.Wait()
		if in.Load() != 1 {
			t.Errorf("%d of the calls with one code were let in, want 1", in.Load())
		}
	}
}

// A recovery code counts once, however it is written, and the others go on to.
func TestRecoveryCodes(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		ann := operator(t, 1, "ann", Operates)
		_, codes, err := ann.SetTOTP()
		testkit.Must(t, err)
		one, two := run(t, redis, ann), run(t, redis, ann)
		for i, code := range codes {
			if i == 1 {
				code = "  " + code[:4] + code[5:9] + "aaaa-bbbb"
				_, err := one.LogIn("ann", []byte("password of ann"), code)
				testkit.Wants(t, "an invented code", err, ErrWrongCode)
				continue
			}
			_, err := one.LogIn("ann", []byte("password of ann"), code)
			testkit.Wants(t, code, err, nil)
			_, err = two.LogIn("ann", []byte("password of ann"), code)
			testkit.Wants(t, code+" again", err, ErrWrongCode)
		}
		if n := roomtest.Ask[int](t, one.redis, "ZCARD", ann.key("used")); n != len(codes)-1 {
			t.Errorf("%d codes are kept, want %d", n, len(codes)-1)
		}
	})
}

// After some wrong codes no other one counts until the next step, and after many none that day; a recovery
// code does, and strangers without the password change nothing.
func TestWrongCodesAreBounded(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		ann := operator(t, 1, "ann", Operates)
		_, codes, err := ann.SetTOTP()
		testkit.Must(t, err)
		o := run(t, redis, ann)
		logIn := func(code string) error {
			_, err := o.LogIn("ann", []byte("password of ann"), code)
			return err
		}
		for range 2 * stepWrong {
			_, err := o.LogIn("ann", []byte("wrong"), "no code")
			testkit.Wants(t, "a stranger", err, credentials.ErrWrongPassword)
		}
		testkit.Wants(t, "the first code", logIn(codeOf(t, &ann, o.step(t))), nil)
		tooMany := (*TooManyCodesError)(nil)
		wrong := 0
		testkit.Until(t, "too many codes", func() bool { // a step may end meanwhile
			wrong++
			err := logIn("nocode")
			return errors.As(err, &tooMany)
		})
		if tooMany.Wait <= 0 || tooMany.Wait > stepSeconds*time.Second || wrong <= stepWrong {
			t.Errorf("%v after %d wrong codes", tooMany, wrong)
		}
		today := strconv.FormatInt(o.step(t)*stepSeconds/86400, 10)
		roomtest.Ask[int](t, o.redis, "HSET", ann.key("code"), "wrong", "0", "day", today, "wrong_day",
			strconv.Itoa(dayWrong))
		if err := logIn(codeOf(t, &ann, o.step(t)+1)); !errors.As(err, &tooMany) ||
			tooMany.Wait <= 0 || tooMany.Wait > 24*time.Hour {
			t.Errorf("a day of wrong codes: %v", err)
		}
		testkit.Wants(t, "a recovery code", logIn(codes[0]), nil)
		if ttl := roomtest.Ask[int](t, o.redis, "TTL", ann.key("code")); ttl <= 0 || ttl > 2*86400 {
			t.Errorf("the wrong codes are kept for %d s", ttl)
		}
	})
}

// Without Redis nobody gets in with a second factor, and everybody without one.
func TestRedisAway(t *testing.T) {
	ann, bob := operator(t, 1, "ann", Operates), operator(t, 2, "bob", Viewer)
	_, codes, err := ann.SetTOTP()
	testkit.Must(t, err)
	o := New(Config{Redis: roomtest.Nowhere(), List: []Operator{ann, bob}, Hash: testkit.FastHash})
	testkit.Background(t, o.Run)
	for _, code := range []string{"123456", codes[0]} {
		_, err = o.LogIn("ann", []byte("password of ann"), code)
		testkit.Wants(t, code, err, pipeline.ErrUnavailable)
	}
	_, err = o.LogIn("bob", []byte("password of bob"), "")
	testkit.Wants(t, "no second factor", err, nil)
}

package tokens

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

var (
	secretA = bytes.Repeat([]byte("a"), SecretMin)
	secretB = bytes.Repeat([]byte("b"), 100) // secrets may be long
	now     = time.Unix(1_800_000_000, 0)
)

func keys(tb testing.TB, secrets ...[]byte) *Keys {
	tb.Helper()
	k, err := New("aaaaaaaa", secrets[0], secrets[1:]...)
	testkit.Must(tb, err)
	return k
}

func TestAccessRoundTrip(t *testing.T) {
	k := keys(t, secretA)
	for kind, token := range map[string]struct {
		add  func(dst []byte, user, session uint32, expires time.Time) []byte
		read func(token []byte, now time.Time) (user, session uint32, expires int64, ok bool)
	}{"access": {k.AppendAccess, k.Access}, "operator": {k.AppendOperator, k.Operator}} {
		for i, user := range []uint32{0, 1, 2, 10_000, math.MaxUint32} {
			session, end := math.MaxUint32-uint32(i), now.Add(time.Second)
			text := token.add(nil, user, session, end)
			if len(text) != Length {
				t.Fatalf("%s: the token has %d characters, want %d", kind, len(text), Length)
			}
			gotUser, gotSession, expires, ok := token.read(text, now)
			if !ok || gotUser != user || gotSession != session || expires != end.Unix() {
				t.Errorf("%s of %d: got %d, %d, %d, %v", kind, user, gotUser, gotSession, expires, ok)
			}
			if _, _, _, ok := token.read(text, end); ok {
				t.Errorf("%s: an expired token is accepted", kind)
			}
			if bytes.Equal(text, token.add(nil, user, 0, end)) {
				t.Errorf("%s: two sessions have one token", kind)
			}
		}
	}
}

func TestCartRoundTrip(t *testing.T) {
	k := keys(t, secretB)
	id := k.AppendCart(nil, 7, math.MaxUint64)
	user, name, ok := k.Cart(id)
	if !ok || user != 7 || string(name) != string(id[:CartNameLength]) {
		t.Fatalf("Cart(%s) = %d, %s, %v", id, user, name, ok)
	}
	if other := k.AppendCart(nil, 7, 1); bytes.Equal(other[:CartNameLength], name) {
		t.Error("two carts of a user have the same name")
	}
}

// The example of one block under AES-256 in NIST SP 800-38B, appendix D.3.
func TestMACIsCMAC(t *testing.T) {
	unhex := func(text string) []byte {
		b, err := hex.DecodeString(text)
		testkit.Must(t, err)
		return b
	}
	k, err := newCMAC(unhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))
	testkit.Must(t, err)
	message := unhex("6bc1bee22e409f96e93d7e117393172a")
	if got := k.mac(message[0], message[1:]); hex.EncodeToString(got[:]) != "28a7023f452e8f82bd4bf28d8c37c35c" {
		t.Errorf("MAC %x", got)
	}
}

func TestSecretRotation(t *testing.T) {
	old, other := keys(t, secretA), keys(t, secretB)
	rotated := keys(t, secretB, secretA)
	token, cart := old.AppendAccess(nil, 5, 8, now.Add(time.Hour)), old.AppendCart(nil, 5, 6)
	if _, _, _, ok := rotated.Access(token, now); !ok {
		t.Error("a token of the previous secret is refused")
	}
	if _, _, ok := rotated.Cart(cart); !ok {
		t.Error("a cart of the previous secret is refused")
	}
	if _, _, _, ok := other.Access(token, now); ok {
		t.Error("a token of another secret is accepted")
	}
	if _, _, _, ok := other.Access(rotated.AppendAccess(nil, 5, 8, now.Add(time.Hour)), now); !ok {
		t.Error("the rotated keys do not sign with the current secret")
	}
}

func TestShortSecretRefused(t *testing.T) {
	const want = "token secret has 31 bytes; at least 32 are needed"
	if _, err := New("", secretA[1:]); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := New("", secretA, secretA[1:]); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Every change of a single character, every cut and every extension is refused.
func TestTamperedRefused(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/.\n\r \x00\xff"
	k := keys(t, secretA)
	token, cart := k.AppendAccess(nil, 9, 8, now.Add(time.Hour)), k.AppendCart(nil, 9, rand.Uint64())
	refused := func(text []byte) {
		t.Helper()
		if _, _, _, ok := k.Access(text, now); ok && !bytes.Equal(text, token) {
			t.Errorf("Access accepts %q", text)
		}
		if _, _, ok := k.Cart(text); ok && !bytes.Equal(text, cart) {
			t.Errorf("Cart accepts %q", text)
		}
	}
	for _, good := range [][]byte{token, cart} {
		for i := range good {
			refused(good[:i])
			for j := range len(alphabet) {
				changed := bytes.Clone(good)
				changed[i] = alphabet[j]
				refused(changed)
			}
		}
		for j := range len(alphabet) {
			refused(append(bytes.Clone(good), alphabet[j]))
			refused(append([]byte{alphabet[j]}, good...))
		}
	}
	for _, text := range []string{"", "-1", "null", string(bytes.Repeat([]byte("A"), Length))} {
		refused([]byte(text))
	}
}

func FuzzAccess(f *testing.F) {
	k := keys(f, secretA)
	f.Add([]byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))
	f.Add(keys(f, secretB).AppendAccess(nil, 1, 8, now.Add(time.Hour)))
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		// Only what the keys themselves would write again is accepted: 2^128 is out of a fuzzer's reach.
		if user, _, _, ok := k.Access(text, now); ok {
			t.Errorf("Access accepts %q for user %d", text, user)
		}
	})
}

func FuzzCart(f *testing.F) {
	k := keys(f, secretA)
	f.Add([]byte("-1"))
	f.Add(keys(f, secretB).AppendCart(nil, 1, 2))
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if user, _, ok := k.Cart(text); ok {
			t.Errorf("Cart accepts %q for user %d", text, user)
		}
	})
}

func TestNoAllocations(t *testing.T) {
	k := keys(t, secretA, secretB)
	token, cart := k.AppendAccess(nil, 9, 8, now.Add(time.Hour)), k.AppendCart(nil, 9, 1)
	buf := make([]byte, 0, Length)
	if n := testkit.Allocations(func() {
		k.Access(token, now)
		k.Cart(cart)
		buf = k.AppendAccess(buf[:0], 9, 8, now)
		buf = k.AppendCart(buf[:0], 9, 1)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// A cart ID of one sale is none in another, under each secret; access tokens are valid in all.
func TestCartsOfSales(t *testing.T) {
	ofSale := func(sale string, secrets ...[]byte) *Keys {
		k, err := New(sale, secrets[0], secrets[1:]...)
		testkit.Must(t, err)
		return k
	}
	sales := []*Keys{ofSale("aaaaaaaa", secretA), ofSale("bbbbbbbb", secretA),
		ofSale("cccccccc", secretB, secretA)}
	for i, mint := range sales {
		for j, check := range sales {
			if _, _, ok := check.Cart(mint.AppendCart(nil, 7, 1)); ok != (i == j) {
				t.Errorf("a cart of sale %d is valid in sale %d: %v", i, j, ok)
			}
		}
	}
	for i, mint := range sales[:2] {
		for j, check := range sales {
			if _, _, _, ok := check.Access(mint.AppendAccess(nil, 7, 8, now.Add(time.Hour)), now); !ok {
				t.Errorf("an access token of sale %d is refused in sale %d", i, j)
			}
		}
	}
	before, after := ofSale("cccccccc", secretA), ofSale("cccccccc", secretB, secretA)
	if _, _, ok := after.Cart(before.AppendCart(nil, 7, 1)); !ok {
		t.Error("a new secret makes the carts of a sale invalid")
	}
}

// Equal secrets have equal fingerprints, others have others, and none shows the secret or the key that
// signs tokens.
func TestFingerprint(t *testing.T) {
	secrets := []string{strings.Repeat("s", SecretMin), strings.Repeat("s", SecretMin+1), "S" +
		strings.Repeat("s", SecretMin-1)}
	names, keys := map[string]string{}, map[string]string{}
	for _, secret := range secrets {
		name, key, err := Fingerprint([]byte(secret))
		testkit.Must(t, err)
		again, keyAgain, err := Fingerprint([]byte(secret))
		if err != nil || again != name || !bytes.Equal(keyAgain, key) {
			t.Errorf("%s: fingerprint %s, then %s, %v", secret, name, again, err)
		}
		raw, err := hex.DecodeString(name)
		if err != nil || len(raw) != fingerprintBytes || len(key) != 32 {
			t.Errorf("%s: name %q, %v, key of %d bytes", secret, name, err, len(key))
		}
		if bytes.Contains(key, raw) || strings.Contains(name, secret) {
			t.Errorf("%s: the name %s tells more than a name", secret, name)
		}
		names[name], keys[string(key)] = secret, secret
	}
	if len(names) != len(secrets) || len(keys) != len(secrets) {
		t.Errorf("%d names and %d keys of %d secrets", len(names), len(keys), len(secrets))
	}
}

// A ticket carries its user, session and end, also after that end.
func TestTicket(t *testing.T) {
	k := keys(t, secretA)
	ticket := k.AppendTicket(nil, 7, 8, now)
	user, session, expires, ok := k.Ticket(ticket)
	if user != 7 || session != 8 || expires != now.Unix() || !ok {
		t.Errorf("ticket: got %d, %d, %d, %v", user, session, expires, ok)
	}
}

func BenchmarkAccess(b *testing.B) {
	k := keys(b, secretA)
	token := k.AppendAccess(nil, 9, 8, now.Add(time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		k.Access(token, now)
	}
}

package catalog

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"flashsale/internal/testkit"
	"fmt"
	"strings"
	"testing"
)

func builtInConfig(users int) Config {
	return Config{Users: users, Foods: 100, Stock: 1000, RootPassword: "geheim"}
}

func mustLoad(tb testing.TB, cfg Config) *Catalog {
	tb.Helper()
	catalog, err := Load(tb.Context(), cfg)
	testkit.Must(tb, err)
	return catalog
}

func TestAuthenticate(t *testing.T) {
	catalog := mustLoad(t, builtInConfig(10000))
	long := strings.Repeat("x", 300)
	tests := []struct {
		name, password string
		id             uint32
	}{
		{"root", "geheim", 1},
		{"user2", "pass2", 2},
		{"user10000", "pass10000", 10000},
		{"user2", "pass3", 0},
		{"user2", "", 0},
		{"user2", "pass2 ", 0},
		{"user2p", "ass2", 0}, // the same bytes, cut elsewhere
		{"user1", "pass1", 0}, // user 1 is root
		{"user10001", "pass10001", 0},
		{"USER2", "pass2", 0},
		{"", "", 0},
		{long, "pass2", 0},
		{"user2", long, 0},
	}
	for _, test := range tests {
		id, _, ok := catalog.Authenticate([]byte(test.name), []byte(test.password))
		if id != test.id || ok != (test.id != 0) {
			t.Errorf("%.20s with %.20s: user %d, %v, want user %d", test.name, test.password, id, ok, test.id)
		}
	}
}

func TestAuthenticateAtTheLimits(t *testing.T) {
	name, password := strings.Repeat("n", nameBytesMax), strings.Repeat("p", passwordBytesMax)
	dir := writeCSV(t, "id,name,password\n1,root,r\n2,"+name+","+password+"\n", goodFoods)
	catalog := mustLoad(t, Config{Dir: dir})
	if id, _, ok := catalog.Authenticate([]byte(name), []byte(password)); id != 2 || !ok {
		t.Errorf("longest name and password: user %d, %v, want user 2", id, ok)
	}
	if id, _, ok := catalog.Authenticate([]byte(name+"n"), []byte(password)); id != 0 || ok {
		t.Errorf("name one byte longer: user %d, %v, want none", id, ok)
	}
	if id, _, ok := catalog.Authenticate([]byte(name), []byte(password+"p")); id != 0 || ok {
		t.Errorf("password one byte longer: user %d, %v, want none", id, ok)
	}
}

func TestAuthenticateDoesNotAllocate(t *testing.T) {
	catalog := mustLoad(t, builtInConfig(100))
	long := []byte(strings.Repeat("x", 1000))
	attempts := [][2][]byte{
		{[]byte("user7"), []byte("pass7")}, {[]byte("user7"), []byte("pass8")},
		{[]byte("nobody"), []byte("pass7")}, {long, long},
	}
	allocations := testkit.Allocations(func() {
		for _, attempt := range attempts {
			catalog.Authenticate(attempt[0], attempt[1])
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}

func TestFingerprint(t *testing.T) {
	fingerprint := func(foods string) string {
		return mustLoad(t, Config{Dir: writeCSV(t, goodUsers, foods)}).Fingerprint()
	}
	base := fingerprint("id,stock,price\n1,10,3\n2,20,4\n")
	if len(base) != 16 || strings.Trim(base, "0123456789abcdef") != "" {
		t.Errorf("fingerprint %q is not 16 hex digits", base)
	}
	if other := fingerprint("price,id,stock\n4,2,20\n3,1,10\n"); other != base {
		t.Errorf("fingerprint of the same foods in another order is %s, want %s", other, base)
	}
	for _, foods := range []string{"1,11,3\n2,20,4\n", "1,10,4\n2,20,4\n", "1,3,10\n2,4,20\n", "1,10,3\n"} {
		if other := fingerprint("id,stock,price\n" + foods); other == base {
			t.Errorf("foods %q have the fingerprint of others", foods)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	const users = 1_000_000
	var catalog *Catalog
	for b.Loop() {
		catalog = mustLoad(b, builtInConfig(users))
	}
	b.ReportMetric(float64(len(catalog.image)), "image-bytes")
}

// Fingerprints are equal for the same users in any order, and each shows what it is of: root's password or
// the others.
func TestUserFingerprints(t *testing.T) {
	const key, head = "0123456789abcdef", "id,name,password\n"
	rootOf := func(users, key string) (string, string) {
		return mustLoad(t, Config{Dir: writeCSV(t, head+users, goodFoods)}).UserFingerprints([]byte(key))
	}
	root, users := rootOf("1,root,r\n2,ann,a\n3,bob,b\n", key)
	for _, test := range []struct {
		name, users, key    string
		sameRoot, sameUsers bool
	}{
		{"same", "1,root,r\n2,ann,a\n3,bob,b\n", key, true, true},
		{"other order", "3,bob,b\n2,ann,a\n1,root,r\n", key, true, true},
		{"root's password", "1,root,R\n2,ann,a\n3,bob,b\n", key, false, true},
		{"a password", "1,root,r\n2,ann,A\n3,bob,b\n", key, true, false},
		{"passwords exchanged", "1,root,r\n2,ann,b\n3,bob,a\n", key, true, false},
		{"an id", "1,root,r\n2,ann,a\n4,bob,b\n", key, true, false},
		{"cut elsewhere", "1,root,r\n2,an,na\n3,bob,b\n", key, true, false},
		{"one less", "1,root,r\n2,ann,a\n", key, true, false},
		{"another key", "1,root,r\n2,ann,a\n3,bob,b\n", strings.ToUpper(key), false, false},
	} {
		gotRoot, gotUsers := rootOf(test.users, test.key)
		if (gotRoot == root) != test.sameRoot || (gotUsers == users) != test.sameUsers {
			t.Errorf("%s: root %s %s, users %s %s; want the same root %v, the same users %v",
				test.name, root, gotRoot, users, gotUsers, test.sameRoot, test.sameUsers)
		}
		if len(gotRoot) != 16 || len(gotUsers) != 16 || gotRoot == gotUsers {
			t.Errorf("%s: fingerprints %q and %q", test.name, gotRoot, gotUsers)
		}
	}
}

func TestHashIsHMAC(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	h := newHasher(key)
	for _, lengths := range [][2]int{{0, 0}, {1, 0}, {4, 6}, {20, 40}, {55, 64}, {255, 255}} {
		t.Run(fmt.Sprint(lengths), func(t *testing.T) {
			name, password := bytes.Repeat([]byte("n"), lengths[0]), bytes.Repeat([]byte("p"), lengths[1])
			reference := hmac.New(sha256.New, key)
			reference.Write([]byte{byte(len(name))})
			reference.Write(name)
			reference.Write(password)
			got := h.hash(name, password)
			if want := reference.Sum(nil)[:hashBytes]; !bytes.Equal(got[:], want) {
				t.Errorf("hash %x, want %x", got, want)
			}
		})
	}
}

func TestLoadsDoNotShareAKey(t *testing.T) {
	first, second := mustLoad(t, builtInConfig(1)), mustLoad(t, builtInConfig(1))
	if bytes.Equal(first.image[headerKey:headerBytes], second.image[headerKey:headerBytes]) {
		t.Error("two loads hash under the same key")
	}
}

func TestImageHoldsNoPassword(t *testing.T) {
	catalog := mustLoad(t, builtInConfig(3))
	for _, password := range []string{"geheim", "pass2", "pass3"} {
		if strings.Contains(string(catalog.image), password) {
			t.Errorf("image holds the password %s", password)
		}
	}
}

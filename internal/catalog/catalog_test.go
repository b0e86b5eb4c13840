package catalog

import (
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
	if err != nil {
		tb.Fatal(err)
	}
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
	allocations := testing.AllocsPerRun(100, func() {
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

func BenchmarkAuthenticate(b *testing.B) {
	catalog := mustLoad(b, builtInConfig(10000))
	for _, name := range []string{"user5000", "nobody00"} {
		b.Run(fmt.Sprintf("name=%s", name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				catalog.Authenticate([]byte(name), []byte("pass5000"))
			}
		})
	}
}

package catalog

import (
	"flashsale/internal/testkit"
	"fmt"
	"strings"
	"testing"
)

// A list of users extends itself and its beginning, and no other list; who has got another name is found.
func TestNamesOfOtherUsers(t *testing.T) {
	names := func(users string) *Names {
		dir := writeCSV(t, "id,name,password\n1,root,r\n"+users, "id,stock,price\n1,1,1\n")
		c, err := Load(t.Context(), Config{Dir: dir})
		testkit.Must(t, err)
		return c.Names()
	}
	before := names("2,ann,x\n5,bob,x\n")
	for _, test := range []struct {
		users   string
		extends bool
		renamed uint32
	}{
		{"5,bob,y\n2,ann,x\n", true, 0},
		{"2,ann,x\n5,bob,x\n6,eve,x\n", true, 0},
		{"2,ann,x\n3,eve,x\n5,bob,x\n", false, 0},
		{"2,ann,x\n", false, 0},
		{"2,ann,x\n5,eve,x\n", false, 5},
		{"2,bob,x\n5,ann,x\n", false, 2},
	} {
		after := names(test.users)
		if extends := after.Extends(before.Fingerprint()); extends != test.extends {
			t.Errorf("%q extends the users before: %v, want %v", test.users, extends, test.extends)
		}
		if renamed := after.Renamed(before); renamed != test.renamed {
			t.Errorf("%q: user %d has another name, want %d", test.users, renamed, test.renamed)
		}
	}
	for _, text := range []string{"", "x", "-1:00", "4000000000:00", before.Fingerprint() + "0"} {
		if before.Extends(text) {
			t.Errorf("users extend %q", text)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("n", nameBytesMax)
	dir := writeCSV(t, "id,name,password\n4294967295,"+long+",x\n7,安娜,x\n1,root,r\n", "id,stock,price\n1,1,1\n")
	for name, cfg := range map[string]Config{
		"CSV":      {Dir: dir},
		"built in": {Users: 1000, Foods: 1, Stock: 1, RootPassword: "r"},
	} {
		c, err := Load(t.Context(), cfg)
		testkit.Must(t, err)
		want := map[uint32]string{0: "", 1: "root", 7: "安娜", 8: "", 4294967294: "", 4294967295: long}
		if name == "built in" {
			want = map[uint32]string{0: "", 1: "root", 1001: ""}
			for user := uint32(2); user <= 1000; user++ {
				want[user] = fmt.Sprintf("user%d", user)
			}
		}
		names := c.Names()
		for user, name := range want {
			if got := string(names.Name(user)); got != name {
				t.Errorf("user %d is %q, want %q", user, got, name)
			}
		}
	}
}

package catalog

import (
	"strings"
	"testing"
)

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

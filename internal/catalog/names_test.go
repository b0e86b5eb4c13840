package catalog

import (
	"fmt"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("n", nameBytesMax)
	dir := writeCSV(t, "id,name,password\n4294967295,"+long+",x\n7,安娜,x\n1,root,r\n", "id,stock,price\n1,1,1\n")
	for name, cfg := range map[string]Config{
		"CSV":      {Dir: dir},
		"built in": {Users: 1000, Foods: 1, Stock: 1, RootPassword: "r"},
	} {
		c, err := Load(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
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

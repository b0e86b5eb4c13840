package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// usersText is a users.csv with root and as many others as make this number.
func usersText(number int) string {
	var text strings.Builder
	text.WriteString("id,name,password\n1,root,r\n")
	for id := 2; id <= number; id++ {
		fmt.Fprintf(&text, "%d,user%[1]d,p\n", id)
	}
	return text.String()
}

func TestReload(t *testing.T) {
	for _, test := range []struct {
		users int
		force bool
		taken bool
	}{{100, false, true}, {150, false, true}, {90, false, true}, {89, false, false}, {1, false, false},
		{89, true, true}, {1, true, true}} {
		cfg := Config{Dir: writeCSV(t, usersText(100), goodFoods)}
		c := mustLoad(t, cfg)
		if err := os.WriteFile(filepath.Join(cfg.Dir, "users.csv"), []byte(usersText(test.users)),
			0o600); err != nil {
			t.Fatal(err)
		}
		fresh, err := c.Reload(t.Context(), cfg, test.force)
		if c.Users() != 100 {
			t.Fatalf("the old catalogue has %d users", c.Users())
		}
		if test.taken {
			if err != nil || fresh.Users() != test.users {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		want := fmt.Sprintf("more than a tenth of the users are missing: 100 before, %d in CSV in %s; complete "+
			"it, or start with -force-reload", test.users, cfg.Dir)
		if !errors.Is(err, ErrFewerUsers) || err.Error() != want {
			t.Errorf("%+v: error %v\nwant %s", test, err, want)
		}
	}
}

func TestReloadRefusesOtherFoods(t *testing.T) {
	cfg := Config{Dir: writeCSV(t, goodUsers, goodFoods)}
	c := mustLoad(t, cfg)
	if err := os.WriteFile(filepath.Join(cfg.Dir, "foods.csv"), []byte(goodFoods+"2,5,5\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(t.Context(), cfg, true); err == nil ||
		err.Error() != "its foods, stocks or prices are not those of the sale" {
		t.Errorf("error %v", err)
	}
}

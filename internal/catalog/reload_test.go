package catalog

import (
	"errors"
	"flashsale/internal/testkit"
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
		testkit.Must(t, os.WriteFile(filepath.Join(cfg.Dir, "users.csv"), []byte(usersText(test.users)),
			0o600))
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

// The next sale may have other foods and more users. Neither it nor a reload gives the id of a user to
// another one, unless that is asked for: tokens and orders belong to ids.
func TestLoadNext(t *testing.T) {
	for _, test := range []struct {
		name, users string
		want        error
	}{
		{"the same", usersText(100), nil},
		{"more", usersText(150), nil},
		{"some fewer", usersText(90), nil},
		{"too few", usersText(89), ErrFewerUsers},
		{"another name", strings.Replace(usersText(100), "7,user7,", "7,eve,", 1), ErrRenamed},
		{"names swapped", strings.NewReplacer("7,user7,", "7,user8,", "8,user8,", "8,user7,").
			Replace(usersText(100)), ErrRenamed},
	} {
		c := mustLoad(t, Config{Dir: writeCSV(t, usersText(100), goodFoods)})
		next := Config{Dir: writeCSV(t, test.users, "id,stock,price\n1,7,7\n")}
		loaded, err := c.LoadNext(t.Context(), next, false)
		if !errors.Is(err, test.want) || (err == nil) != (loaded != nil) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		again := Config{Dir: writeCSV(t, test.users, goodFoods)}
		if _, err := c.Reload(t.Context(), again, false); !errors.Is(err, test.want) {
			t.Errorf("%s, in the same sale: %v, want %v", test.name, err, test.want)
		}
		if _, err := c.Reload(t.Context(), again, true); err != nil {
			t.Errorf("%s, in the same sale by force: %v", test.name, err)
		}
		if loaded, err := c.LoadNext(t.Context(), next, true); err != nil || len(loaded.Foods()) != 1 {
			t.Errorf("%s, by force: %v", test.name, err)
		}
	}
}

func TestReloadRefusesOtherFoods(t *testing.T) {
	const foods = "id,stock,price\n1,10,3\n2,5,4\n"
	for other, want := range map[string]string{
		foods + "3,5,5\n":                   "the sale has no food 3",
		"id,stock,price\n1,10,3\n":          "food 2 is missing",
		"id,stock,price\n2,6,9\n1,10,3\n":   "food 2 has stock 6; in the sale it has 5",
		"id,price,stock\n1,30,10\n2,40,5\n": "food 1 has price 30; in the sale it has 3",
	} {
		cfg := Config{Dir: writeCSV(t, goodUsers, foods)}
		c := mustLoad(t, cfg)
		path := filepath.Join(cfg.Dir, "foods.csv")
		testkit.Must(t, os.WriteFile(path, []byte(other), 0o600))
		_, err := c.Reload(t.Context(), cfg, true)
		wantError(t, err, "its foods, stocks or prices are not those of the sale: "+path+": "+want)
	}
}

// A list of users that was cut off within its last row would change a password.
func TestReloadRefusesCutOffUsers(t *testing.T) {
	cfg := Config{Dir: writeCSV(t, usersText(100), goodFoods)}
	c := mustLoad(t, cfg)
	path, whole := filepath.Join(cfg.Dir, "users.csv"), usersText(100)+"101,user101,password\n"
	testkit.Must(t, os.WriteFile(path, []byte(whole[:len(whole)-5]), 0o600))
	_, err := c.Reload(t.Context(), cfg, false)
	wantError(t, err, path+" ends in the middle of line 102; end it with a line break if it is whole")
	fresh, err := c.Reload(t.Context(), cfg, true)
	if err != nil || fresh.Users() != 101 || fresh.CutOff() == nil {
		t.Errorf("by force: %v, cut off %v", err, fresh.CutOff())
	}
}

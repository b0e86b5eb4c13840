package catalog

import (
	"flashsale/internal/testkit"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	goodUsers = "id,name,password\n1,root,secret\n2,ann,ann's\n"
	goodFoods = "id,stock,price\n1,10,3\n"
)

// writeCSV returns a new folder with both files.
func writeCSV(t *testing.T, users, foods string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"users.csv": users, "foods.csv": foods} {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestCSV(t *testing.T) {
	dir := writeCSV(t,
		"name,password,id\r\n\"Smith, \"\"J\"\"\",\"two\nlines\",7\r\nroot,secret,1\r\n\r\n李雷,密码,4294967295\r\n",
		"price,id,stock\n9,2,0\n3,1,1000000000000000\n")
	catalog := mustLoad(t, Config{Dir: dir})
	wantFoods := []Food{{1, 1000000000000000, 3}, {2, 0, 9}}
	if !slices.Equal(catalog.Foods(), wantFoods) {
		t.Errorf("foods %v, want %v", catalog.Foods(), wantFoods)
	}
	if catalog.Users() != 3 {
		t.Errorf("%d users, want 3", catalog.Users())
	}
	for _, user := range []User{{7, `Smith, "J"`, "two\nlines", 0}, {1, "root", "secret", 0},
		{4294967295, "李雷", "密码", 0}} {
		if id, _, ok := catalog.Authenticate([]byte(user.Name), []byte(user.Password)); !ok || id != user.ID {
			t.Errorf("%s: user %d, %v, want %d", user.Name, id, ok, user.ID)
		}
	}
}

// A users.csv may name a document for each user, in any column; an empty one is none.
func TestCSVDocuments(t *testing.T) {
	c := mustLoad(t, Config{Dir: writeCSV(t, "document,id,name,password\n,1,root,r\n\"0000,000000\",2,ann,a\n"+
		"\"9999,999999\",3,bob,b\n", goodFoods)})
	for name, want := range map[string]Document{"root": 0, "ann": 1, "bob": 10_000_000_000} {
		id, got, ok := c.Authenticate([]byte(name), []byte(name[:1]))
		if passport, there := got.Passport(); got != want || !ok || there != (want != 0) ||
			there && passport != uint64(want-1) {
			t.Errorf("%s (%d) has document %d (%d), want %d", name, id, got, passport, want)
		}
	}
	if _, got, ok := c.Authenticate([]byte("bob"), []byte("x")); got != 0 || ok {
		t.Errorf("a wrong password gives document %d, %v", got, ok)
	}
}

func TestRootPasswordReplacesThatOfTheSource(t *testing.T) {
	catalog := mustLoad(t, Config{Dir: writeCSV(t, "id,name,password\n1,root,\n2,ann,a\n", goodFoods),
		RootPassword: "new"})
	for password, want := range map[string]bool{"new": true, "": false} {
		if _, _, ok := catalog.Authenticate([]byte("root"), []byte(password)); ok != want {
			t.Errorf("root with password %q: %v, want %v", password, ok, want)
		}
	}
}

func TestCSVRefusals(t *testing.T) {
	const head = "id,name,password\n1,root,r\n"
	tests := []struct {
		name, users, foods string
		want               string // DIR stands for the folder
	}{
		{"user name twice", head + "2,ann,a\n3,bob,b\n\n4,ann,c\n", goodFoods,
			`DIR/users.csv:6: name "ann" is also at DIR/users.csv:3; give each user a name of its own`},
		{"user id twice", head + "9,ann,a\n3,bob,b\n9,cid,c\n", goodFoods,
			`DIR/users.csv:5: user 9 is also at DIR/users.csv:3; give each user an id of its own`},
		{"user id 0", head + "0,ann,a\n", goodFoods,
			`DIR/users.csv:3: id "0" is not a whole number from 1 to 4294967295`},
		{"user id past 32 bits", head + "4294967296,ann,a\n", goodFoods,
			`DIR/users.csv:3: id "4294967296" is not a whole number from 1 to 4294967295`},
		{"user id not a number", head + "two,ann,a\n", goodFoods,
			`DIR/users.csv:3: id "two" is not a whole number from 1 to 4294967295`},
		{"document with a digit too many", "id,name,password,document\n1,root,r,\"1234,1234567\"\n", goodFoods,
			`DIR/users.csv:2: document "1234,1234567" is not four digits, a comma and six digits`},
		{"no name", head + "2,,a\n", goodFoods, `DIR/users.csv:3: name is empty; give the user one`},
		{"no password", head + "2,ann,\n", goodFoods, `DIR/users.csv:3: password is empty; give the user one`},
		{"long name", head + "2," + strings.Repeat("n", 256) + ",a\n", goodFoods,
			`DIR/users.csv:3: name has 256 bytes; shorten it to at most 255`},
		{"long password", head + "2,ann," + strings.Repeat("p", 256) + "\n", goodFoods,
			`DIR/users.csv:3: password has 256 bytes; shorten it to at most 255`},
		{"space before a name", head + "2, ann,a\n", goodFoods,
			`DIR/users.csv:3: name begins or ends with white space; remove it`},
		{"space after a password", head + "2,ann,a \n", goodFoods,
			`DIR/users.csv:3: password begins or ends with white space; remove it`},
		{"space within quotes", head + "2,ann,\"\ta\"\n", goodFoods,
			`DIR/users.csv:3: password begins or ends with white space; remove it`},
		{"space before an id", head + " 2,ann,a\n", goodFoods,
			`DIR/users.csv:3: id begins or ends with white space; remove it`},
		{"too few columns", head + "2,ann\n", goodFoods, `DIR/users.csv:3: 2 columns; the header names 3`},
		{"too many columns", head + "2,ann,a,b\n", goodFoods, `DIR/users.csv:3: 4 columns; the header names 3`},
		{"bare quote", head + "2,a\"nn,a\n", goodFoods,
			`DIR/users.csv:3: column 4: bare " in non-quoted-field; fix the quotes`},
		{"open quote", head + "2,ann,\"a\n", goodFoods,
			`DIR/users.csv:3: column 10: extraneous or missing " in quoted-field; fix the quotes`},
		{"user 1 is not root", "id,name,password\n1,ann,a\n", goodFoods,
			`DIR/users.csv:2: user 1 is named "ann"; name it root`},
		{"no user 1", "id,name,password\n2,ann,a\n", goodFoods,
			`CSV in DIR: user 1 is missing; add user 1 named root`},
		{"no users", "id,name,password\n", goodFoods, `CSV in DIR: no users; add at least user 1 named root`},
		{"empty file", "", goodFoods, `DIR/users.csv:1: header is ""; write id,name,password in any order`},
		{"no header", "1,root,r\n", goodFoods,
			`DIR/users.csv:1: header is "1,root,r"; write id,name,password in any order`},
		{"column missing", "id,name\n", goodFoods,
			`DIR/users.csv:1: header is "id,name"; write id,name,password in any order`},
		{"column twice", "id,name,name\n", goodFoods,
			`DIR/users.csv:1: header is "id,name,name"; write id,name,password in any order`},
		{"unknown column", "id,name,password,age\n", goodFoods,
			`DIR/users.csv:1: header is "id,name,password,age"; write id,name,password in any order`},

		{"food id twice", goodUsers, goodFoods + "2,1,1\n1,1,1\n",
			`DIR/foods.csv:4: food 1 is also at DIR/foods.csv:2; give each food an id of its own`},
		{"gap in food ids", goodUsers, goodFoods + "4,1,1\n2,1,1\n",
			`DIR/foods.csv:3: food 4 is here but food 3 is missing; number the foods from 1 without gaps`},
		{"food ids not from 1", goodUsers, "id,stock,price\n2,1,1\n",
			`DIR/foods.csv:2: food 2 is here but food 1 is missing; number the foods from 1 without gaps`},
		{"food id 0", goodUsers, "id,stock,price\n0,1,1\n",
			`DIR/foods.csv:2: id "0" is not a whole number from 1 to 1000000`},
		{"negative stock", goodUsers, "id,stock,price\n1,-1,1\n",
			`DIR/foods.csv:2: stock "-1" is not a whole number from 0 to 1000000000000000`},
		{"negative price", goodUsers, "id,stock,price\n1,1,-1\n",
			`DIR/foods.csv:2: price "-1" is not a whole number from 0 to 1000000000000000`},
		{"price not whole", goodUsers, "id,stock,price\n1,1,9.99\n",
			`DIR/foods.csv:2: price "9.99" is not a whole number from 0 to 1000000000000000; for decimals add a ` +
				`column currency`},
		{"stock past the limit", goodUsers, "id,stock,price\n1,1000000000000001,1\n",
			`DIR/foods.csv:2: stock "1000000000000001" is not a whole number from 0 to 1000000000000000`},
		{"unknown column of foods", goodUsers, "id,stock,price,colour\n", `DIR/foods.csv:1: header is ` +
			`"id,stock,price,colour"; write id,stock,price in any order, and if you like name, description, unit ` +
			`(each also with a language, as in name.en), image and currency`},
		{"no foods", goodUsers, "id,stock,price\n", `CSV in DIR: no foods; add at least one`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := writeCSV(t, test.users, test.foods)
			_, err := Load(t.Context(), Config{Dir: dir})
			wantError(t, err, strings.ReplaceAll(test.want, "DIR", dir))
		})
	}
}

func TestCSVFileMissing(t *testing.T) {
	for _, name := range []string{"users.csv", "foods.csv"} {
		dir := writeCSV(t, goodUsers, goodFoods)
		path := filepath.Join(dir, name)
		testkit.Must(t, os.Remove(path))
		_, err := Load(t.Context(), Config{Dir: dir})
		wantError(t, err, "cannot read catalogue: open "+path+": no such file or directory")
	}
}

func TestCSVFileTooLarge(t *testing.T) {
	dir := writeCSV(t, goodUsers, goodFoods)
	path := filepath.Join(dir, "foods.csv")
	if err := os.Truncate(path, csvBytesMax+1); err != nil { // sparse: it takes no room on the disk
		t.Fatal(err)
	}
	_, err := Load(t.Context(), Config{Dir: dir})
	wantError(t, err, path+": 1073741825 bytes; at most 1073741824 are read")
}

// A file without a line break at its end is taken by Load, with CutOff set.
func TestCSVCutOff(t *testing.T) {
	const cut = "%s ends in the middle of line %d; end it with a line break if it is whole"
	for _, test := range []struct {
		name, users, foods string
		file               string
		line               int
	}{
		{"whole", goodUsers, goodFoods, "", 0},
		{"whole, from a spreadsheet", strings.ReplaceAll(goodUsers, "\n", "\r\n"), goodFoods, "", 0},
		{"users", goodUsers[:len(goodUsers)-3], goodFoods, "users.csv", 3},
		{"users, the line break alone", strings.TrimSuffix(goodUsers, "\n"), goodFoods, "users.csv", 3},
		{"foods", goodUsers, strings.TrimSuffix(goodFoods, "\n"), "foods.csv", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := Config{Dir: writeCSV(t, test.users, test.foods)}
			c := mustLoad(t, cfg)
			switch {
			case test.file != "":
				wantError(t, c.CutOff(), fmt.Sprintf(cut, filepath.Join(cfg.Dir, test.file), test.line))
			case c.CutOff() != nil:
				t.Errorf("cut off: %v", c.CutOff())
			}
			if _, err := Read(t.Context(), cfg, func(User) error { return nil }); err != nil {
				t.Errorf("Read: %v", err)
			}
		})
	}
}

package operators

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/credentials"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

const head = "number,name,role,password,totp,recovery\n"

// write writes a file of operators.
func writeFile(t *testing.T, text string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "operators.csv")
	testkit.Must(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// What a command writes is what a server reads, from a file that only its owner reads.
func TestChange(t *testing.T) {
	name := filepath.Join(t.TempDir(), "operators.csv")
	if _, err := Read(t.Context(), name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	want := []Operator{operator(t, 1, "ann", Admin), operator(t, 3, `Zoë "Z", o`, Viewer)}
	_, _, err := want[1].SetTOTP()
	testkit.Must(t, err)
	testkit.Must(t, Change(name, func(list []Operator) ([]Operator, error) {
		if list != nil {
			t.Errorf("a new file has %v", list)
		}
		return want, nil
	}))
	got, err := Read(t.Context(), name)
	testkit.Must(t, err)
	want[0].Recovery = []string{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	info, err := os.Stat(name)
	testkit.Must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	before := testkit.ReadFile(t, name)
	refused := errors.New("refused")
	err = Change(name, func([]Operator) ([]Operator, error) { return nil, refused })
	testkit.Wants(t, "an edit that fails", err, refused)
	if testkit.ReadFile(t, name) != before {
		t.Error("an edit that fails has changed the file")
	}
	if left, _ := filepath.Glob(name + ".*"); len(left) != 1 { // the lock
		t.Errorf("files beside it: %q", left)
	}
}

// Commands at the same moment lose nobody.
func TestChangesAtOnce(t *testing.T) {
	const commands = 8
	name := filepath.Join(t.TempDir(), "operators.csv")
	var all sync.WaitGroup
	for i := range commands {
		all.Go(func() {
			err := Change(name, func(list []Operator) ([]Operator, error) {
				return append(list, operator(t, uint32(i+1), fmt.Sprintf("operator%d", i), Viewer)), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := Read(t.Context(), name); err != nil || len(list) != commands {
		t.Errorf("%d operators, %v; want %d", len(list), err, commands)
	}
}

// One wrong row refuses the whole file, and the error says where and what.
func TestWrongFiles(t *testing.T) {
	hash := `"` + operator(t, 1, "ann", Admin).Password + `"` // it has commas
	row := func(number, name, role, password, totp, recovery string) string {
		return head + strings.Join([]string{number, name, role, password, totp, recovery}, ",") + "\n"
	}
	const reserved = "the log of the sale has this name for others"
	good := row("1", "ann", "admin", hash, "", "")
	for _, test := range []struct{ text, want string }{
		{"", " is empty or ends within a line; end it with a line break if it is whole"},
		{good + "2,bob", " is empty or ends within a line; end it with a line break if it is whole"},
		{"number,name,role,password,totp,code\n",
			`: its first line must name the columns ["number" "name" "role" "password" "totp" "recovery"]`},
		{row("0", "ann", "admin", hash, "", ""), `:2: number "0" is not a whole number from 1 to 4095`},
		{row("4096", "ann", "admin", hash, "", ""), `:2: number "4096" is not a whole number from 1 to 4095`},
		{row("1", "a", "admin", hash, "", ""), `:2: name "a": this cannot be a name`},
		{row("1", "Root", "admin", hash, "", ""), `:2: name "Root": ` + reserved},
		{row("1", "ｃlock", "admin", hash, "", ""), `:2: name "ｃlock": ` + reserved},
		{row("1", "r\u043eot", "admin", hash, "", ""),
			`:2: name "rоot": the name mixes letters of different scripts`},
		{row("1", "ａnn", "admin", hash, "", ""), `:2: name "ａnn" must be written "ann"`},
		{row("1", "ann", "root", hash, "", ""), `:2: role "root" is not viewer, operator or admin`},
		{row("1", "ann", "admin", "secret", "", ""), ":2: password is not a hash as flashsale operator makes it"},
		{row("1", "ann", "admin", hash, "AAAA", ""), ":2: totp is not empty and not at least 10 bytes in base32"},
		{row("1", "ann", "admin", hash, "", "x"),
			":2: recovery is not a list of hashes as flashsale operator makes them"},
		{row("1", "ann", "admin", hash, "", strings.Repeat("x ", 11)),
			":2: recovery has 11 codes; at most 10 are read"},
		{good + "1,bob,viewer," + hash + ",,\n", ":3: number 1 is there twice"},
		{good + "2,ANN,viewer," + hash + ",,\n", `:3: name "ANN" is there twice`},
	} {
		name := writeFile(t, test.text)
		if _, err := Read(t.Context(), name); err == nil || err.Error() != name+test.want {
			t.Errorf("%q:\n got %v\nwant FILE%s", test.text, err, test.want)
		}
	}
	if _, err := Read(t.Context(), writeFile(t, head+"1,ann\n")); err == nil ||
		!strings.Contains(err.Error(), "wrong number of fields") {
		t.Errorf("a short row: %v", err)
	}
	const turned = "recovery,totp,password,role,name,number\n"
	list, err := Read(t.Context(), writeFile(t, turned+",,"+hash+",viewer,bob,9\n"))
	if err != nil || len(list) != 1 || list[0].Number != 9 || list[0].Name != "bob" {
		t.Errorf("columns in another order: %+v, %v", list, err)
	}
}

// A file that others may read is read, with a warning.
func TestOthersMayRead(t *testing.T) {
	log := testkit.CaptureLog(t)
	name := writeFile(t, head)
	testkit.Must(t, os.Chmod(name, 0o640))
	if _, err := Read(t.Context(), name); err != nil || log.Count("chmod 600") != 1 {
		t.Errorf("%v, log %s", err, log)
	}
}

// What the commands refuse.
func TestAdd(t *testing.T) {
	const password = "correct horse battery"
	list, err := Add(nil, "ann", Admin, []byte(password))
	testkit.Must(t, err)
	list, err = Add(list, "ｂob", Viewer, []byte(password))
	testkit.Must(t, err)
	if list[0].Number != 1 || list[1].Number != 2 || list[1].Name != "bob" || list[1].Role != Viewer ||
		credentials.NewQueue(credentials.Hash).Check(list[1].Password, []byte(password)) != nil {
		t.Errorf("added %+v", list)
	}
	if again, err := Add(list[1:], "carol", Viewer, []byte(password)); err != nil || again[1].Number != 1 {
		t.Errorf("a number that is free: %+v, %v", again, err)
	}
	for _, test := range []struct {
		name, password string
		want           error
	}{
		{"ANN", password, ErrThere}, {"terminal", password, ErrReserved}, {"x", password, credentials.ErrBadName},
		{"carol", "short", ErrWeak}, {"carol", strings.Repeat("ab", 10), ErrWeak},
		{"carol", strings.Repeat("long", 65), ErrWeak}, {"my long name", "My long name", ErrWeak},
	} {
		_, err := Add(list, test.name, Viewer, []byte(test.password))
		testkit.Wants(t, test.name+" "+test.password, err, test.want)
	}
}

func TestDatabase(t *testing.T) {
	server := launch.StartMariaDB(t)
	db := server.Open(t, "people")
	dsn := fmt.Sprintf("%s:%s@tcp(%s:%d)/people", server.User, server.Password, server.Host, server.Port)
	if !IsDatabase(dsn) || IsDatabase("/etc/a@b/operators.csv") || IsDatabase("operators(1).csv") {
		t.Error("a source is taken for another one")
	}
	text := Describe(dsn)
	if !strings.HasPrefix(text, "MySQL people@127.0.0.1:") || strings.Contains(text, "toor") {
		t.Errorf("described as %s", text)
	}
	refused := func(want string) {
		t.Helper()
		if _, err := Read(context.Background(), dsn); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "toor") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	refused("Table 'people.operators' doesn't exist")
	execute := func(statement string, arguments ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement, arguments...)
		testkit.Must(t, err)
	}
	execute("CREATE TABLE operators (number INT, name VARCHAR(128), role VARCHAR(8), password TEXT, " +
		"totp VARCHAR(64) NULL, recovery TEXT NULL) CHARACTER SET utf8mb4")
	want := []Operator{operator(t, 1, "ann", Admin), operator(t, 2, "李雷雷", Viewer)}
	_, _, err := want[1].SetTOTP()
	testkit.Must(t, err)
	want[0].Recovery = []string{}
	const insert = "INSERT INTO operators VALUES (?, ?, ?, ?, ?, ?)"
	execute(insert, 2, "李雷雷", "viewer", want[1].Password, want[1].TOTP, strings.Join(want[1].Recovery, " "))
	execute(insert, 1, "ann", "admin", want[0].Password, nil, nil)
	got, err := Read(t.Context(), dsn)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	execute(insert, 3, "bob", "boss", want[0].Password, nil, nil)
	refused(`, table operators, row 3: role "boss" is not viewer, operator or admin`)
	execute("UPDATE operators SET role = 'viewer', number = 2 WHERE name = 'bob'")
	refused("row 3: number 2 is there twice")
	server.Kill()
	refused("cannot read MySQL people@")
}

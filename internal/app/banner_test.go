package app

import (
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/store/datafolder"
)

// The login of the banner has a secret on a terminal only.
func TestLoginOfBanner(t *testing.T) {
	dir := t.TempDir()
	folder, err := datafolder.Open(dir + "/it's here")
	if err != nil {
		t.Fatal(err)
	}
	random := &opening{randomRoot: true, source: catalog.Config{Users: 5, RootPassword: "made up"}}
	for _, test := range []struct {
		sale     *opening
		terminal bool
		want     string
	}{
		{random, true, `'{"username":"root","password":"made up"}'`},
		{random, false, `"{\"username\":\"root\",\"password\":\"$(cat '` + dir +
			`/it'\''s here/root-password')\"}"`},
		{&opening{source: catalog.Config{Users: 5, RootPassword: "set"}}, true,
			`'{"username":"user2","password":"pass2"}'`},
		{&opening{source: catalog.Config{Dir: "d"}}, true,
			`'{"username":"root","password":"..."}' # the password stands in users.csv`},
		{&opening{source: catalog.Config{Dir: "d", RootPassword: "set"}}, true,
			`'{"username":"root","password":"..."}' # the password is that of -root-password (ROOT_PASSWORD)`},
		{&opening{source: catalog.Config{DB: catalog.Database{Host: "h"}}}, true,
			`'{"username":"root","password":"..."}' # the password stands in the table user`},
		{&opening{source: catalog.Config{Users: 1, RootPassword: "set"}}, true,
			`'{"username":"root","password":"..."}' # the password is that of -root-password (ROOT_PASSWORD)`},
	} {
		s := &supervisor{folder: folder}
		s.sale.Store(test.sale)
		if got := s.login(test.terminal); got != test.want {
			t.Errorf("%+v, terminal %v:\n got %s\nwant %s", test.sale.source, test.terminal, got, test.want)
		}
	}
}

package app

import (
	"path/filepath"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
)

// Lines of rules name users by id or name; what could be either of two users is refused.
func TestUserFinder(t *testing.T) {
	folder := t.TempDir()
	testkit.WriteFile(t, filepath.Join(folder, "users.csv"), "id,name,password\n1,root,r\n2,3,a\n3,bob,b\n"+
		"4,4,c\n5,99,d\n6,3000000000,e\n")
	testkit.WriteFile(t, filepath.Join(folder, "foods.csv"), "id,stock,price\n1,1,1\n")
	users, err := catalog.Load(t.Context(), catalog.Config{Dir: folder})
	testkit.Must(t, err)
	find := userFinder(users)
	for text, want := range map[string]uint32{"2": 2, "bob": 3, "4": 4, "99": 5, "3000000001": 3000000001} {
		if id, err := find(text); id != want || err != nil {
			t.Errorf("%q is user %d, %v", text, id, err)
		}
	}
	for text, want := range map[string]string{
		"3": `"3" is the name of user 2 and the id of user 3; write the id of the one or the name of the other`,
		"3000000000": `"3000000000" is the name of user 6 and the id of user 3000000000; write the id of ` +
			`the one or the name of the other`,
		"7": `there is no user "7"`, "0": `there is no user "0"`, "eve": `there is no user "eve"`,
	} {
		if _, err := find(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

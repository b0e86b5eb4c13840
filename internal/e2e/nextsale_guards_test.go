package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A data folder that cannot be written does not look like a takeover that has failed: the sale is served.
func TestNextSaleIsServedBesideAFullDisk(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-redis", redis.Socket, "-workers", "1"}
	folder := t.TempDir()
	s := setup{data: folder, args: args}.serve(t)
	name := filepath.Join(folder, "sale")
	testkit.Must(t, os.Remove(name))
	testkit.Must(t, os.MkdirAll(filepath.Join(name, "in the way"), 0o700))
	next := openNext(t, args, "-force")
	awaitSale(t, s, next)
	testkit.Until(t, "the takeover is logged", func() bool {
		return s.Logged(t, "this server has taken over the next sale") == 1
	})
	if n := s.Logged(t, `level=ERROR msg="the data folder still names the sale before" sale=`+next); n != 1 {
		t.Errorf("%d errors of the folder, want 1", n)
	}
	if n := s.Logged(t, "cannot take over the next sale"); n != 0 {
		t.Errorf("the takeover fails %d times: %s", n, testkit.ReadFile(t, s.Log))
	}
}

// The next sale opens only after an export with every order, and without the opening and closing time of the
// sale before. A server with other users does not serve it: it would take one user's token for another's.
func TestNextSaleIsGuarded(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	const users, swapped, foods = "1,root,r\n2,ann,a\n3,bob,b\n", "1,root,r\n2,bob,b\n3,ann,a\n", "1,5,10\n"
	dir := catalogue(t, users, foods)
	args := []string{"-redis", redis.Socket, "-catalog-dir", dir, "-workers", "1"}
	s := setup{args: args}.serve(t)
	first := s.Sale(t)
	for _, name := range []string{"ann", "bob"} {
		c := s.client(t)
		testkit.Must(t, c.Login(name, name[:1]))
		cart, err := c.Fill(item(1, 1))
		testkit.Must(t, err)
		_, err = c.Order(cart)
		testkit.Must(t, err)
	}
	saleDone(t, args, "close")

	redis.Do(t, "RENAME o_3 away")
	saleRefused(t, 1, "2 pieces sold, 1 in the export: it does not count for the next sale", args, "export")
	saleRefused(t, 1, "run flashsale sale export -o FILE, or add -force", args, "new")
	redis.Do(t, "RENAME away o_3")
	saleDone(t, args, "export")

	file := filepath.Join(dir, "users.csv")
	testkit.WriteFile(t, file, "id,name,password\n"+swapped)
	saleRefused(t, 1, "name a later -closes-at, or none", args, "new", "-closes-at", "2020-01-02T00:00:00Z")
	code, out, faults := run(t, module, []string{"OPENS_AT=2020-01-01T00:00:00Z",
		"CLOSES_AT=2020-01-02T00:00:00Z"}, append([]string{"sale", "new"}, args...)...)
	found := nextID.FindStringSubmatch(out)
	if code != 0 || found == nil || !strings.Contains(out, "\n  state      open\n") ||
		!strings.Contains(out, "\n  opens at   none\n  closes at  none\n") {
		t.Fatalf("flashsale sale new: exit code %d, %s%s", code, out, faults)
	}
	text := saleDone(t, args, "export", "-sale", first)
	if !strings.Contains(text, first+"-2,2,,1=1,1=10,10,") {
		t.Errorf("an export with names of other users: %s", text)
	}
	testkit.Until(t, "refusal of other users", func() bool {
		return s.Logged(t, "a user has another name than before: user 2 ") > 0
	})
	c := s.client(t)
	c.NewConnections = true
	if r, err := c.Do("GET", "/readyz", ""); err != nil || r.Status != 503 {
		t.Errorf("/readyz of a server with other users: %v, %v; want 503", r, err)
	}

	testkit.WriteFile(t, file, "id,name,password\n"+users)
	s.Send(t, syscall.SIGHUP)
	awaitSale(t, s, found[1])
	text = saleDone(t, args, "export", "-sale", first)
	if !strings.Contains(text, first+"-2,2,ann,1=1,1=10,10,") {
		t.Errorf("an export with the users of the sale: %s", text)
	}
}

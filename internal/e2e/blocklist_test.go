package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// makeList makes a list as the blocklist's guide has it, and returns the list's path.
func makeList(t *testing.T) string {
	t.Helper()
	testkit.Need(t, "bzip2")
	guide := testkit.ReadFile(t, root+"internal/rooms/blocklist/README.md")
	args := regexp.MustCompile(`go run ./scripts/blocklist-gen (.*) > list`).FindStringSubmatch(guide)
	if args == nil {
		t.Fatal("the guide makes no list")
	}
	path := filepath.Join(t.TempDir(), "list.csv.bz2")
	file, err := os.Create(path)
	testkit.Must(t, err)
	defer file.Close()
	cmd := exec.Command(launch.Built(t, module+"/scripts/blocklist-gen"), strings.Fields(args[1])...)
	cmd.Stdout = file
	testkit.Must(t, cmd.Run())
	return path
}

// lists reports whether a server knows a document of the list.
func lists(t *testing.T, c *client.Client) bool {
	t.Helper()
	const listed = `["5552,471502"]`
	r, err := c.Do("POST", "/blocklist/check", listed)
	testkit.Must(t, err)
	return r.Status == 200 && r.Body == listed
}

// awaitList waits until all workers have the list: a connection may meet any of them.
func awaitList(t *testing.T, s *server) {
	t.Helper()
	c := s.root(t)
	c.NewConnections = true
	testkit.Until(t, "list in all workers", func() bool {
		for range 15 {
			if !lists(t, c) {
				return false
			}
		}
		return true
	})
}

// A server whose source is away takes the list of another one from Redis, goes on from memory while Redis is
// frozen, and after a restart from its data folder.
func TestBlocklistOutlivesItsSource(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	list := makeList(t)
	env := []string{"TOKEN_SECRET=" + sharedSecret, "REDIS=" + redis.Socket}
	first := setup{env: env, args: []string{"-blocklist", list, "-workers", "2"}}.serve(t)
	awaitList(t, first)
	second := setup{env: env, args: []string{"-blocklist", list + ".gone", "-workers", "2"}}.serve(t)
	awaitList(t, second)
	one, other := first.root(t), second.root(t)
	redis.Freeze(t)
	if !lists(t, one) || !lists(t, other) {
		t.Error("a server does not know its list while Redis is frozen")
	}
	redis.Thaw(t)
	first.End(t)
	second.End(t)
	testkit.Must(t, os.Remove(list))
	redis.Do(t, "DEL {blocklist}_newest")
	again := setup{data: first.Data, env: env, args: []string{"-blocklist", list, "-workers", "1"}}
	awaitList(t, again.serve(t))
}

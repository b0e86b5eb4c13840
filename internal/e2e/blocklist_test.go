package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// makeList runs the command of the blocklist's README that makes a list, and returns the list's path.
func makeList(t *testing.T, readme string) string {
	t.Helper()
	testkit.Need(t, "bzip2")
	args := regexp.MustCompile(`go run ./scripts/blocklist-gen (.*) > list`).FindStringSubmatch(readme)
	if args == nil {
		t.Fatal("README.md makes no list")
	}
	path := filepath.Join(t.TempDir(), "list.csv.bz2")
	file, err := os.Create(path)
	testkit.Must(t, err)
	defer file.Close()
	cmd := exec.Command(launch.Built(t, "flashsale/scripts/blocklist-gen"), strings.Fields(args[1])...)
	cmd.Stdout = file
	testkit.Must(t, cmd.Run())
	return path
}

// examples are the commands of a shell session in a README, each with its output.
func examples(readme string) (list [][2]string) {
	for _, block := range regexp.MustCompile("(?s)```sh\n(\\$ .*?)```").FindAllStringSubmatch(readme, -1) {
		for _, example := range strings.Split(block[1], "$ ")[1:] {
			command, output, _ := strings.Cut(example, "\n")
			list = append(list, [2]string{command, output})
		}
	}
	return list
}

// check asks a server whether a document is listed, "" until there is a list.
func check(t *testing.T, address, token, document string) string {
	t.Helper()
	out, err := exec.Command("curl", "-s", "http://"+address+"/blocklist/check", "-H", "Access-Token: "+token,
		"-d", fmt.Sprintf("[%q]", document)).Output()
	testkit.Must(t, err)
	if strings.Contains(string(out), "SERVICE_UNAVAILABLE") {
		return ""
	}
	return string(out)
}

// awaitList waits until all workers have the list: a connection may meet any of them.
func awaitList(t *testing.T, s *server, token string) {
	t.Helper()
	const enough = 30 // answers in a row
	answers := 0
	testkit.Until(t, "list in all workers", func() bool {
		if answers++; check(t, s.Address, token, "5552,471502") == "" {
			answers = 0
		}
		return answers >= enough
	})
}

// The README's examples hold, a restart answers without the source, and wrk's script finds the call.
func TestBlocklistOfREADME(t *testing.T) {
	testkit.Need(t, "curl")
	testkit.Need(t, "wrk")
	readme := testkit.ReadFile(t, root+"internal/rooms/blocklist/README.md")
	list := makeList(t, readme)
	data := t.TempDir()
	s := setup{data: data, args: []string{"-blocklist", list}}.serve(t)
	token := loggedIn(t, s)
	awaitList(t, s, token)
	script := "set -e\n"
	want := ""
	for _, example := range examples(readme) {
		script += strings.ReplaceAll(example[0], "localhost:8080", s.Address) + "\n"
		if example[1] != "" && !strings.HasSuffix(example[1], "]\n") && !strings.HasSuffix(example[1], "}\n") &&
			!strings.HasPrefix(example[1], "{") {
			want += example[1]
			continue
		}
		if example[1] != "" {
			script += "echo\n" // JSON comes without a line break
			want += example[1]
		}
	}
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	got := strings.ReplaceAll(string(out), "\n\n", "\n")
	if err != nil || got != want {
		t.Errorf("the examples print\n%s%v\nwant\n%s", got, err, want)
	}
	load, _ := exec.Command("wrk", "-t1", "-c2", "-d1s", "-s", root+"scripts/wrk/blocklist.lua",
		"http://"+s.Address).CombinedOutput()
	if !regexp.MustCompile(`Requests/sec: +[1-9]`).Match(load) || strings.Contains(string(load), "Non-2xx") {
		t.Errorf("wrk prints\n%s", load)
	}
	s.End(t)
	testkit.Must(t, os.Remove(list))
	s = setup{data: data, args: []string{"-blocklist", list}}.serve(t)
	if got := check(t, s.Address, loggedIn(t, s), "5552,471502"); got != `["5552,471502"]` {
		t.Errorf("after a restart: %q", got)
	}
}

func loggedIn(t *testing.T, s *server) (token string) {
	t.Helper()
	out, err := exec.Command("curl", "-s", "http://"+s.Address+"/login", "-d",
		`{"username":"user2","password":"pass2"}`).Output()
	testkit.Must(t, err)
	found := regexp.MustCompile(`"access_token":"([^"]+)"`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("login: %s", out)
	}
	return string(found[1])
}

// A server whose source is away takes the list of another one from Redis, and goes on from memory while
// Redis is frozen.
func TestBlocklistComesFromRedis(t *testing.T) {
	testkit.Need(t, "curl")
	redis := redistest.New(t)
	list := makeList(t, testkit.ReadFile(t, root+"internal/rooms/blocklist/README.md"))
	env := []string{"TOKEN_SECRET=" + sharedSecret, "REDIS=" + redis.Socket}
	first := setup{env: env, args: []string{"-blocklist", list}}.serve(t)
	token := loggedIn(t, first)
	awaitList(t, first, token)
	second := setup{env: env, args: []string{"-blocklist", list + ".gone"}}.serve(t)
	awaitList(t, second, token)
	redis.Freeze(t)
	defer redis.Thaw(t)
	for _, s := range []*server{first, second} {
		if got := check(t, s.Address, token, "5552,471502"); got != `["5552,471502"]` {
			t.Errorf("while Redis is frozen: %q", got)
		}
	}
}

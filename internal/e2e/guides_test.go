package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

const serviceSecret = "the-service-token-of-the-tests-is-long"

// The flags and secrets of a server with a VK bot, which finds no VK.
var (
	botArgs = []string{"-repeats", "-vk-confirmation", "a1b2c3d4", "-vk-api", "http://127.0.0.1:1"}
	botEnv  = []string{"VK_SECRET=key", "VK_TOKEN=group token"}
)

// The calls in the guides of the rooms have the answers that stand there, and wrk's scripts find the rooms:
// all on one server.
func TestGuides(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	for _, program := range []string{"curl", "wrk"} {
		testkit.Need(t, program)
	}
	s := setup{env: append([]string{"SERVICE_TOKEN=" + serviceSecret}, botEnv...),
		args: append(slices.Clip(botArgs), "-workers", "1", "-users", "3", "-foods", "3",
			"-blocklist", makeList(t), "-limits", "mail by email 3/m; order by user 1/d; "+
				"message by user unlimited; message by ip unlimited")}.serve(t)
	t.Run("live", func(t *testing.T) { compareStream(t, s) }) // first: it shows that nothing has happened
	awaitList(t, s)
	for room, least := range map[string]int{"blocklist": 6, "limits": 4, "repeats": 6, "traffic": 5} {
		t.Run(room, func(t *testing.T) {
			text := testkit.ReadFile(t, root+"internal/rooms/"+room+"/README.md")
			if n := len(examples(text)); n < least {
				t.Errorf("only %d examples, want %d", n, least)
			}
			s.compareSession(t, text)
		})
	}
	for _, load := range []struct {
		name, want string
		args       []string
	}{
		{"blocklist", "", nil}, {"repeats", "", nil}, {"traffic", "", []string{"root", rootPassword, "100"}},
		{"limits", "failed calls: 0\n", []string{"order", "2"}}, // refusals are no faults
	} {
		t.Run("wrk "+load.name, func(t *testing.T) {
			answered := regexp.MustCompile(`Requests/sec: +[0-9.]*[1-9]`)
			testkit.Until(t, "a load with answers", func() bool { // a busy machine may give none in a second
				output, ok := s.wrk(load.name, serviceSecret, load.args...)
				if !ok || load.want == "" && strings.Contains(output, "Non-2xx") {
					t.Fatal(output)
				}
				return answered.MatchString(output) && strings.Contains(output, load.want)
			})
		})
	}
	for _, wrong := range []struct{ token, event, want string }{
		{"", "order", "wrk: set SERVICE_TOKEN"},
		{serviceSecret + "x", "order", "INVALID_ACCESS_TOKEN"},
		{serviceSecret, "cart", "the event cart: 4"},
	} {
		output, ok := s.wrk("limits", wrong.token, wrong.event, "2")
		if ok || !strings.Contains(output, wrong.want) || strings.Contains(output, "Requests/sec") {
			t.Errorf("%+v: %s", wrong, output)
		}
	}
}

// wrk loads the server for a second with a script.
func (s *server) wrk(script, token string, args ...string) (output string, ok bool) {
	script = root + "scripts/wrk/" + script + ".lua"
	load := []string{"-t1", "-c4", "-d1s", "-s", script, "http://" + s.Address, "--"}
	cmd := exec.Command("wrk", append(load, args...)...)
	cmd.Env = []string{"SERVICE_TOKEN=" + token, "PATH=/usr/bin:/bin"}
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

var (
	shellSession = regexp.MustCompile("(?ms)^```sh\n(\\$ .*?)^```$")
	guideTimes   = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+(Z|[+-]\d\d:\d\d)`)
)

// examples are the commands of the shell sessions in a guide, each with its output.
func examples(guide string) (list [][2]string) {
	for _, session := range shellSession.FindAllStringSubmatch(guide, -1) {
		for _, example := range strings.Split("\n"+session[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(example, "\n")
			list = append(list, [2]string{command, output})
		}
	}
	return list
}

// compareSession carries out the examples of a guide and compares what they print. $T is a header with
// root's token there, $S one with the service token; a command that sets $T is for all that follow. A call
// that only reads is sent again until it has the answer, because figures come late.
func (s *server) compareSession(t *testing.T, guide string) {
	t.Helper()
	setting := ""
	same := func(text string) string { return guideTimes.ReplaceAllString(strings.TrimSpace(text), "T") }
	for _, example := range examples(guide) {
		command, want := strings.ReplaceAll(example[0], "localhost:8080", s.Address), same(example[1])
		if strings.HasPrefix(command, "T=") {
			setting = command + "; "
			continue
		}
		run := func() string {
			shell := exec.Command("bash", "-c", setting+command)
			shell.Env = []string{"PATH=/usr/bin:/bin", "T=Access-Token: " + s.root(t).Token,
				"S=Authorization: Bearer " + serviceSecret}
			text, _ := shell.CombinedOutput() // a fault is in the text
			return same(string(text))
		}
		if strings.Contains(command, " -d ") || strings.Contains(command, " -X ") ||
			strings.Contains(command, "--data") {
			if got := run(); got != want {
				t.Errorf("%s\n got %s\nwant %s", command, got, want)
			}
			continue
		}
		testkit.Until(t, command+" answers "+want, func() bool { return run() == want })
	}
}

// compareStream compares the stream of a sale in which nothing has happened with that of the guide.
func compareStream(t *testing.T, s *server) {
	text := testkit.ReadFile(t, root+"internal/rooms/live/README.md")
	fence := regexp.MustCompile("(?s)```\n\\$ curl -N localhost:8080/live\n(.*?)```").FindStringSubmatch(text)
	if fence == nil {
		t.Fatal("the guide has no example")
	}
	form := func(line string) string { // without what is different each time
		line = regexp.MustCompile(`\[[0-4](,[0-4])*\]`).ReplaceAllString(line, "[numbers]")
		line = regexp.MustCompile(`"(id|now|at)":"[^"]+"`).ReplaceAllString(line, `"$1":""`)
		line = regexp.MustCompile(`"connections":\d`).ReplaceAllString(line, `"connections":1`)
		return regexp.MustCompile(`\d{4,}`).ReplaceAllString(line, "number")
	}
	// The server asks for the state of Redis once somebody watches.
	for first, pace := s.watch(t), (struct{ Redis string }{}); pace.Redis == ""; {
		first.next("pace", &pace)
	}
	v := s.watch(t)
	for want := range strings.Lines(fence[1]) {
		line, _ := v.line()
		if got, want := form(line), form(want); got != want {
			t.Fatalf("the server sends %q, the guide has %q", got, want)
		}
	}
}

var (
	saleExample = regexp.MustCompile("(?s)```http\n([A-Z]+) (\\S+) ?(.*?)\n\n(\\d+) (.*?)\n```")
	// What differs from one sale to the next.
	saleOwn = regexp.MustCompile(`"(id":"|at":"|now":"|price":)[^",]*`)
)

// Each call in redisx/README.md, in its order, has the answer that stands there.
func TestSaleExamples(t *testing.T) {
	t.Parallel()
	s := setup{args: []string{"-users", "3", "-foods", "1", "-stock", "100", "-workers", "1"}}.serve(t)
	_, err := s.client(t).Buy(2, item(1, 1))
	testkit.Must(t, err)
	s.awaitStock(t, map[int]int{1: 99})
	s.compareSaleExamples(t)
}

// compareSaleExamples compares the calls with those of a sale of 100 pieces that has sold one of them.
func (s *server) compareSaleExamples(t *testing.T) {
	t.Helper()
	text := testkit.ReadFile(t, root+"redisx/README.md")
	examples := saleExample.FindAllStringSubmatch(text, -1)
	if len(examples) != strings.Count(text, "```http") || len(examples) < 4 {
		t.Fatalf("%d examples can be read", len(examples))
	}
	c := s.root(t)
	for _, example := range examples {
		method, path, body, want := example[1], example[2], example[3], example[5]
		r, err := c.Do(method, path, body)
		testkit.Must(t, err)
		got := saleOwn.ReplaceAllString(r.Body, `"$1`)
		if r.Status != 200 || example[4] != "200" || got != saleOwn.ReplaceAllString(want, `"$1`) {
			t.Errorf("%s %s: %d %s\nwant %s %s", method, path, r.Status, r.Body, example[4], want)
		}
	}
}

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

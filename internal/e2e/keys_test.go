package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

// keyRow is a row of the table of keys: the name of such keys, and the most bytes of one.
type keyRow struct {
	name  string
	like  *regexp.Regexp
	bytes int
}

var keyLine = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*\\| ([0-9,]+) \\|$")

// clientKeys reads the table of the keys that clients can make Redis keep, the narrowest names first.
func clientKeys(t *testing.T) (rows []keyRow) {
	t.Helper()
	text := testkit.ReadFile(t, root+"scripts/drill/README.md")
	for _, line := range keyLine.FindAllStringSubmatch(text, -1) {
		most, err := strconv.Atoi(strings.ReplaceAll(line[2], ",", ""))
		testkit.Must(t, err)
		wild := regexp.MustCompile(`<[a-z]+>`).ReplaceAllString(regexp.QuoteMeta(line[1]), "[^@]+")
		rows = append(rows, keyRow{line[1], regexp.MustCompile("^" + wild + "$"), most})
	}
	slices.SortStableFunc(rows, func(a, b keyRow) int {
		return strings.Count(a.name, "<") - strings.Count(b.name, "<")
	})
	if len(rows) < 10 {
		t.Fatalf("only %d keys are in the table", len(rows))
	}
	return rows
}

// One user, and clients without a login, try to make Redis keep as much as they can, through a whole server.
// Each key stands in the table and is no larger than that. Of no kind there are more than the table says.
func TestKeysOfClientsAreBounded(t *testing.T) {
	t.Parallel()
	const workers, users, guessers = 2, 40, 30
	redis := redistest.New(t)
	s := setup{args: []string{"-redis", redis.Socket, "-users", strconv.Itoa(users),
		"-workers", strconv.Itoa(workers), "-trusted-proxies", "127.0.0.0/8", "-traffic", "off", "-cart-adds", "0",
		"-limits", "order by user 1000/s 1000/d; order by ip 1000/s 1000/d; cart by user 100000/s 1000000/d; " +
			"cart by ip 100000/s 1000000/d; mail by user 10/s; mail by email 10/s"}}.serve(t)
	before := redisKeys(t, redis)
	send := func(from, token, method, path, body, key string) (status int, reply string) {
		r, err := http.NewRequest(method, "http://"+s.Address+path, strings.NewReader(body))
		testkit.Must(t, err)
		r.Header.Set("X-Forwarded-For", from)
		r.Header.Set("Access-Token", token)
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		got, err := http.DefaultClient.Do(r)
		testkit.Must(t, err)
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		testkit.Must(t, err)
		return got.StatusCode, string(text)
	}

	var attack sync.WaitGroup
	for g := range guessers { // root's password from many networks, and names that are as long as can be
		attack.Go(func() {
			from := fmt.Sprintf("2001:db8:%x::1", g)
			for i := range 20 {
				send(from, "", "POST", "/login", client.LoginBody("root", "wrong"), "")
				name := fmt.Sprintf("%d-%d-%s", g, i, strings.Repeat("x", 900))
				send(from, "", "POST", "/login", client.LoginBody(name, "wrong"), "")
			}
		})
	}
	attack.Wait()
	one := s.client(t)
	testkit.Must(t, one.LoginUser(2))
	for i := range 50 { // a login, a cart with changes, an order and a question from another network each
		from := fmt.Sprintf("198.51.100.%d", i)
		status, body := send(from, "", "POST", "/login", client.LoginBody("user2", "pass2"), "")
		if status != 200 {
			t.Fatalf("login: %d %s", status, body)
		}
		_, made := send(from, one.Token, "POST", "/carts", "", "")
		id := regexp.MustCompile(`"cart_id":"([^"]+)"`).FindStringSubmatch(made)[1]
		for n := range 60 {
			change := fmt.Sprintf(`{"food_id":%d,"count":%d}`, 1+n%100, 1-2*(n%2))
			send(from, one.Token, "PATCH", "/carts/"+id, change, "")
		}
		send(from, one.Token, "PATCH", "/carts/"+id, `{"food_id":1,"count":1}`, "")
		send(from, one.Token, "POST", "/orders", client.OrderBody(id), strings.Repeat("k", 250)+strconv.Itoa(i))
		send(from, one.Token, "POST", "/limits/check",
			`{"event":"mail","features":{"user":"2"}}`, "")
		send(from, one.Token, "POST", "/limits/check",
			fmt.Sprintf(`{"event":"mail","features":{"user":"2","email":"%d@x.example"}}`, i), "")
	}
	testkit.Until(t, "networks of the user in Redis", func() bool {
		return redisKeys(t, redis)["{limit}_known_0"] > 0
	})
	s.End(t) // what waits is written

	most := map[string]int{
		"c_<cart>": 32 * workers, "o_<user>": 1, "{limit}_known_<n>": 1, "{limit}_probe": 1, "{limit}_lifted": 0,
		"{live}<sale>": 1, "{live}<sale>:servers": 1, "{live}<sale>:seen": 1,
		"{limit}login_failed:ip:<slot>:<tick>":             guessers,
		"{limit}login_failed:user:<slot>:<tick>":           2 * (1 + 20*guessers),
		"{limit}login_failed:user:<slot>@<network>:<tick>": 2 * (8 + 20*guessers),
		"{limit}login_failed:user:<slot>:seats":            1 + 20*guessers,
		"{limit}<event>:ip:<slot>:<tick>":                  4 * 50,
		"{limit}<event>:user:<id>:<tick>":                  5,
	}
	rows, count, largest := clientKeys(t), map[string]int{}, map[string]int{}
	for key, size := range redisKeys(t, redis) {
		if _, stood := before[key]; stood {
			continue
		}
		row := slices.IndexFunc(rows, func(r keyRow) bool { return r.like.MatchString(key) })
		if row < 0 || size > rows[row].bytes {
			t.Errorf("%s has %d bytes; its row in the table is %d", key, size, row)
			continue
		}
		kind := rows[row].name
		count[kind]++
		largest[kind] = max(largest[kind], size)
	}
	for kind, n := range count {
		if n > most[kind] {
			t.Errorf("%d keys %s, want %d at most", n, kind, most[kind])
		}
	}
	t.Log("keys:", count, "bytes of the largest:", largest)
}

// redisKeys lists the keys, each with its bytes.
func redisKeys(t *testing.T, redis *redistest.Server) map[string]int {
	t.Helper()
	list := map[string]int{}
	reply := redis.Do(t, `EVAL "local all = {} for i, key in ipairs(redis.call('KEYS', '*')) do `+
		`all[i] = key .. ' ' .. redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) end `+
		`return {ok = table.concat(all, '|')}" 0`)
	for row := range strings.SplitSeq(reply, "|") {
		key, size, found := strings.Cut(strings.TrimPrefix(row, "+"), " ")
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if found && err == nil {
			list[key] = n
		}
	}
	return list
}

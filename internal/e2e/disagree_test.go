package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

const newSecret = "another secret that servers of one sale share"

// member is a server of a sale that is restarted with other settings.
type member struct {
	*server
	args []string
}

// restart stops the server, if it runs, and starts it in its folder with these secrets.
func (m *member) restart(t *testing.T, secret, previous string, env ...string) {
	t.Helper()
	secrets := []string{"TOKEN_SECRET=" + secret, "TOKEN_SECRET_PREVIOUS=" + previous}
	start := setup{args: m.args, env: append(secrets, env...)}
	if m.server != nil {
		m.End(t)
		start.data = m.Data
	}
	m.server = start.serve(t)
}

// The secret is changed as the README has it, server by server. All users stay logged in, no cart is lost,
// and there is no warning.
func TestSecretIsRotated(t *testing.T) {
	t.Parallel()
	args := []string{"-redis", redistest.New(t).Socket, "-workers", "1", "-users", "9"}
	members := []*member{{args: args}, {args: args}}
	for _, m := range members {
		m.restart(t, sharedSecret, "")
	}
	buyer := members[0].client(t)
	testkit.Must(t, buyer.LoginUser(2))
	cart, err := buyer.Fill(item(1, 1))
	testkit.Must(t, err)
	rounds := [][2]string{{sharedSecret, newSecret}, {newSecret, sharedSecret}}
	for _, round := range rounds {
		for i, m := range members {
			m.restart(t, round[0], round[1])
			fresh := m.client(t)
			testkit.Must(t, fresh.LoginUser(3+i))
			for _, other := range members { // each takes what any other has signed
				c := other.client(t)
				c.Token = fresh.Token
				testkit.Must(t, c.Call("GET", "/orders", "", nil))
				c.Token = buyer.Token
				testkit.Must(t, c.Add(cart, item(1, 1)))
				testkit.Must(t, c.Add(cart, item(1, -1)))
			}
			if log := m.Warnings(t); log != "" {
				t.Errorf("server %d logs %q", i, log)
			}
		}
	}
	c := members[1].client(t)
	c.Token = buyer.Token
	if _, err := c.Order(cart); err != nil {
		t.Errorf("the cart from before: %v", err)
	}
}

// A server with another secret is refused and changes nothing; other differences are warned of.
func TestServersThatDisagree(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-redis", redis.Socket, "-workers", "1", "-users", "3"}
	first := setup{args: args, env: []string{"TOKEN_SECRET=" + sharedSecret, "ROOT_PASSWORD=other"}}.serve(t)
	stranger := setup{args: args, env: []string{"TOKEN_SECRET=" + newSecret}}
	for range 2 {
		checkRefused(t, stranger.launch(t).Process,
			"the server that joined the sale last has other token secrets: sale "+first.Sale(t)+" at "+redis.Socket+
				", so this one would refuse what it signs; set TOKEN_SECRET to that of the others, "+
				"or TOKEN_SECRET_PREVIOUS on the way to a new one (if theirs is lost, stop all servers and "+
				"run HDEL sale server in Redis: "+
				"everyone has to log in again)")
	}
	const root, users = "root has another password than on the server that joined last",
		"the users are other ones than on the server that joined last"
	const theyRefuse = "the server that joined last does not know the token secret that signs here"
	const weRefuse = "this server does not know the token secret that signs on the server that joined last"
	for _, test := range []struct {
		name string
		env  []string
		want []string
	}{
		{"root and users", []string{"TOKEN_SECRET=" + sharedSecret, "USERS=4"}, []string{root, users}},
		{"too early", []string{"TOKEN_SECRET=" + newSecret, "TOKEN_SECRET_PREVIOUS=" + sharedSecret,
			"USERS=4"}, []string{theyRefuse}},
		{"too late", []string{"TOKEN_SECRET=" + sharedSecret, "USERS=4"}, []string{weRefuse}},
	} {
		with := setup{args: args[:4], env: append([]string{"USERS=3"}, test.env...)}.serve(t)
		log := with.Warnings(t)
		if lines := strings.Count(log, "\n"); lines != len(test.want) {
			t.Errorf("%s: %d lines, want %d: %s", test.name, lines, len(test.want), log)
		}
		for _, want := range test.want {
			if !strings.Contains(log, want) {
				t.Errorf("%s: no warning that %s in %q", test.name, want, log)
			}
		}
	}
	marker := redis.Do(t, `EVAL "return {ok = table.concat(redis.call('HGETALL', 'sale'), ' ')}" 0`)
	if !strings.Contains(marker, "server ") {
		t.Errorf("the marker %q has no fingerprints", marker)
	}
	for _, secret := range []string{sharedSecret, newSecret, rootPassword} {
		if strings.Contains(marker, secret) {
			t.Errorf("Redis holds %s", secret)
		}
	}
}

// A server with a store of its own may change all secrets; the log names the cost.
func TestPrivateSaleTakesAnotherSecret(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	first := setup{args: []string{"-users", "3"}}.serve(t)
	first.End(t)
	again := setup{data: first.Data, args: []string{"-users", "4"},
		env: []string{"TOKEN_SECRET=" + newSecret, "ROOT_PASSWORD=other"}}.serve(t)
	const warning = "the token secret is not the same as before: " +
		"everyone has to log in again and to fill a new cart"
	if log := again.Warnings(t); strings.Count(log, "\n") != 1 || !strings.Contains(log, warning) {
		t.Errorf("the log is %q, want %q alone", log, warning)
	}
	if again.Banner(t, "sale") != first.Sale(t)+", goes on" {
		t.Errorf("sale %q, want %s", again.Banner(t, "sale"), first.Sale(t))
	}
}

// The kernel kills a server with its parent, if the parent asked for that, also when the server has started
// itself again to hide its secrets.
func TestServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	data := testkit.Folder(t)
	stdout := filepath.Join(testkit.Folder(t), "stdout")
	script := `setpriv --pdeathsig KILL "$0" "$@" >"$OUT" & wait`
	cmd := exec.Command("sh", "-c", script, launch.Built(t, module), "-app-port", "0",
		"-users", "2", "-workers", "1",
		"-data", data, "-redis", redistest.New(t).Socket)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "OUT=" + stdout, "TOKEN_SECRET=" + sharedSecret}
	testkit.Must(t, child.Start(cmd, syscall.SIGKILL))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var server int
	testkit.Until(t, "banner", func() bool {
		text, _ := os.ReadFile(stdout)
		_, stop, found := strings.Cut(string(text), "\n  stop ")
		if found {
			_, err := fmt.Sscanf(strings.TrimSpace(stop), "Ctrl-C or kill %d;", &server)
			testkit.Must(t, err)
		}
		return found
	})
	kill(t, cmd.Process.Pid)
	awaitEnd(t, server)
}

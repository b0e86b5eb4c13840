package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/idp"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

const operatorPassword = "correct horse battery"

// operatorCommand runs flashsale operator with a password on standard input. It must end with this code.
func operatorCommand(
	t *testing.T, code int, password, file string, words ...string,
) (stdout, stderr string) {
	t.Helper()
	shell := []string{"-c", `printf '%s\n' "$0" | exec "$@"`, password, launch.Built(t, module), "operator"}
	p := launch.Program{Path: "sh", Args: slices.Concat(shell, words, []string{"-operators", file})}.Launch(t)
	got := p.ExitCode(t)
	stdout, stderr = testkit.ReadFile(t, p.Stdout), testkit.ReadFile(t, p.Log)
	if got != code {
		t.Errorf("flashsale operator %q: exit code %d, want %d\n%s%s", words, got, code, stdout, stderr)
	}
	return stdout, stderr
}

// enter logs an operator in on a server.
func (s *server) enter(t *testing.T, name, password, code string) (*client.Client, error) {
	t.Helper()
	c := s.client(t)
	body, _ := json.Marshal(map[string]string{"name": name, "password": password, "code": code})
	var told struct {
		Token string `json:"access_token"`
	}
	err := c.Call("POST", "/admin/login", string(body), &told)
	c.Token = told.Token
	return c, err
}

// The command makes the list of operators; servers take it, and each change of it with SIGHUP. A code counts
// once on all of them.
func TestOperators(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "operators.csv")
	if out, _ := operatorCommand(t, 0, operatorPassword, file, "add", "Ann", "-role", "admin"); out !=
		"Ann is added with the role admin\n" {
		t.Errorf("add prints %q", out)
	}
	operatorCommand(t, 0, operatorPassword, file, "add", "olaf")
	out, log := operatorCommand(t, 0, "", file, "totp", "ann")
	const told = `(?s)^ann has a new second factor.*\n  (otpauth://totp/flashsale:Ann\?\S+)\n.*` +
		`\n  ((?:[A-Z2-7]{4}-?){4})\n`
	found := regexp.MustCompile(told).FindStringSubmatch(out)
	if found == nil || strings.Contains(log, "otpauth") {
		t.Fatalf("totp prints %q and logs %s", out, log)
	}
	key, err := otp.NewKeyFromURL(found[1])
	testkit.Must(t, err)
	const listed = "1\tAnn\tadmin\tpassword and code, 10 recovery codes\n2\tolaf\toperator\tpassword\n"
	if out, _ := operatorCommand(t, 0, "", file, "list"); out != listed {
		t.Errorf("list prints %q", out)
	}
	for words, want := range map[string]string{
		"add ANN":     "flashsale operator: there is an operator of this name\n",
		"add root":    "flashsale operator: the log of the sale has this name for others\n",
		"remove carl": "flashsale operator: there is no operator of this name\n",
	} {
		if _, log := operatorCommand(t, 1, operatorPassword, file, strings.Fields(words)...); log != want {
			t.Errorf("%s: %q, want %q", words, log, want)
		}
	}
	_, log = operatorCommand(t, 1, "short", file, "passwd", "olaf")
	if !strings.Contains(log, "12 characters") {
		t.Errorf("a weak password: %q", log)
	}
	info, err := os.Stat(file)
	testkit.Must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}

	args := []string{"-workers", "1", "-users", "5", "-foods", "2", "-redis", redistest.New(t).Socket}
	provider := idp.Start(t)
	provider.Break(idp.Fault{Claims: map[string]any{"preferred_username": "Ann"}})
	env := []string{"TOKEN_SECRET=" + sharedSecret, "OPERATORS=" + file, "OIDC_ISSUER=" + provider.URL,
		"OIDC_CLIENT=" + idp.ClientID, "OIDC_SECRET=" + idp.Secret, "OIDC_RETURN=https://shop.example/"}
	one, two := setup{args: args, env: env}.serve(t), setup{args: args, env: env}.serve(t)
	if got, want := one.Banner(t, "operators"), "2 from "+file+", and root"; got != want {
		t.Errorf("the banner has %q, want %q", got, want)
	}
	testOperatorsLogIn(t, one, two, key, found[2])
	testProviderLogin(t, one, two)
	testOperatorsReload(t, one, file)
	one.End(t)
	two.End(t)
}

func testOperatorsLogIn(t *testing.T, one, two *server, key *otp.Key, recovery string) {
	t.Helper()
	code, err := totp.GenerateCode(key.Secret(), time.Now())
	testkit.Must(t, err)
	if _, err := one.enter(t, "ann", operatorPassword, ""); !client.IsRefused(err, 403, "CODE_NEEDED") {
		t.Errorf("without a code: %v", err)
	}
	ann, err := one.enter(t, "ann", operatorPassword, code)
	testkit.Must(t, err)
	if _, err := two.enter(t, "ann", operatorPassword, code); !client.IsRefused(err, 403, "WRONG_CODE") {
		t.Errorf("the same code on another server: %v", err)
	}
	_, err = two.enter(t, "ann", operatorPassword, recovery)
	testkit.Must(t, err)
	if _, err := one.enter(t, "ann", operatorPassword, recovery); !client.IsRefused(err, 403, "WRONG_CODE") {
		t.Errorf("a recovery code again: %v", err)
	}
	testkit.Must(t, ann.Call("PUT", "/admin/sale", `{"state":"paused"}`, nil))
	testkit.Until(t, "the name in the server's log", func() bool { return one.Logged(t, " by=Ann ") == 1 })
}

// testProviderLogin begins a login at the OpenID provider on one server and ends it on the other: its state
// is no server's own.
func testProviderLogin(t *testing.T, one, two *server) {
	t.Helper()
	const verifier = "a-verifier-of-the-page-with-43-characters-or-more"
	hash := sha256.Sum256([]byte(verifier))
	var begun struct{ URL string }
	challenge := base64.RawURLEncoding.EncodeToString(hash[:])
	testkit.Must(t, one.client(t).Call("GET", "/admin/oidc?challenge="+challenge, "", &begun))
	_, back := idp.Visit(t, begun.URL)
	body, _ := json.Marshal(map[string]string{"code": back.Get("code"), "state": back.Get("state"),
		"verifier": verifier})
	var told struct{ Name, Role string }
	testkit.Must(t, two.client(t).Call("POST", "/admin/oidc", string(body), &told))
	if told.Name != "Ann" || told.Role != "admin" {
		t.Errorf("the provider's Ann is %+v", told)
	}
}

// testOperatorsReload changes the list of a running server.
func testOperatorsReload(t *testing.T, s *server, file string) {
	t.Helper()
	olaf, err := s.enter(t, "olaf", operatorPassword, "")
	testkit.Must(t, err)
	orders := func() error { return olaf.Call("GET", "/admin/orders", "", nil) }
	testkit.Must(t, orders())
	good := testkit.ReadFile(t, file)
	testkit.Must(t, os.WriteFile(file, []byte(good+"3,x\n"), 0o600))
	s.Send(t, syscall.SIGHUP)
	testkit.Until(t, "a reload that fails", func() bool {
		return s.Logged(t, "operators_read=false") == 1 && s.Logged(t, "what=operators error=") == 1
	})
	testkit.Must(t, orders())
	testkit.Must(t, os.WriteFile(file, []byte(good), 0o600))
	operatorCommand(t, 0, "another horse battery", file, "passwd", "olaf")
	s.Send(t, syscall.SIGHUP)
	testkit.Until(t, "the end of the token", func() bool {
		return client.IsRefused(orders(), 401, "INVALID_ACCESS_TOKEN")
	})
	_, err = s.enter(t, "olaf", "another horse battery", "")
	testkit.Must(t, err)
	operatorCommand(t, 0, "", file, "remove", "olaf")
	s.Send(t, syscall.SIGHUP)
	testkit.Until(t, "the operator has gone", func() bool {
		_, err := s.enter(t, "olaf", "another horse battery", "")
		return client.IsRefused(err, 403, "USER_AUTH_FAIL")
	})
}

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// accountCommand runs flashsale account, which must end with this code, and returns what it prints.
func accountCommand(t *testing.T, code int, of []string, words ...string) string {
	t.Helper()
	got, stdout, stderr := run(t, module, nil, slices.Concat([]string{"account"}, words, of)...)
	if got != code {
		t.Errorf("flashsale account %q: exit code %d, want %d\n%s%s", words, got, code, stdout, stderr)
	}
	if code == 0 { // then the log is on stderr
		return stdout
	}
	return stdout + stderr
}

// An operator looks after people who have registered from a terminal, and has their names in the exports of
// the sale and of a sale before.
func TestAccountCommand(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	of := []string{"-redis", redis.Socket}
	silent := append([]string{"-users", "5", "-foods", "3", "-stock", "5"}, of...)
	args := append([]string{"-chat"}, silent...)
	s := setup{args: append([]string{"-workers", "1", "-push-address", "127.0.0.1:0"}, args...)}.serve(t)
	buyer, sale := s.client(t), s.Sale(t)
	const registration = `{"name":"Zoë","password":"correct horse","email":"zoe@example.com"}`
	testkit.Must(t, buyer.Call("POST", "/users", registration, nil))
	testkit.Must(t, buyer.Login("zoë", "correct horse"))
	cart, err := buyer.Fill(item(1, 2))
	testkit.Must(t, err)
	_, err = buyer.Order(cart)
	testkit.Must(t, err)

	row := fmt.Sprintf("\r\n%s-%d,%[2]d,%%s,1=2,", sale, uint32(redisx.FirstRegistered))
	exported := func(name string, of []string, more ...string) {
		t.Helper()
		if text := saleDone(t, of, "export", more...); !strings.Contains(text, fmt.Sprintf(row, name)) {
			t.Errorf("export %q of %q: %s, want the name %q", more, of, text, name)
		}
	}
	saleDone(t, args, "close")
	exported("", silent)
	exported("Zoë", args)
	openNext(t, args)
	exported("Zoë", args, "-sale", sale)
	// The catalogue of a past sale need not be known.
	exported("Zoë", append([]string{"-chat", "-users", "4"}, args[3:]...), "-sale", sale)
	exported("", silent, "-sale", sale)

	listed := func(state string, words ...string) {
		t.Helper()
		const moment = `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`
		want := regexp.MustCompile(`^2147483648\tZoë\t` + strings.ReplaceAll(state, "AT", moment) + `\n$`)
		if out := accountCommand(t, 0, of, append([]string{"list"}, words...)...); !want.MatchString(out) {
			t.Errorf("list %q prints %q, want %s", words, out, want)
		}
	}
	listed(`zoe@example\.com\tAT\topen`)
	listed(`zoe@example\.com\tAT\topen`, "-name", "ZOË")
	behind := append([]string{"account", "list", "-after", "2147483648"}, of...)
	if _, out, told := run(t, module, nil, behind...); out != "" ||
		!strings.HasSuffix(told, "nobody has registered with an id above 2147483648\n") {
		t.Errorf("behind the last account: %q, %q", out, told)
	}

	made := regexp.MustCompile(`^the password of Zoë \(id 2147483648\) is now (\w{26})\n$`).
		FindStringSubmatch(accountCommand(t, 0, of, "reset", "zoë"))
	if made == nil {
		t.Fatal("the new password is not printed")
	}
	testkit.Until(t, "end of the tokens", func() bool {
		return client.IsRefused(buyer.Call("GET", "/foods", "", nil), 401, "INVALID_ACCESS_TOKEN")
	})
	if err := buyer.Login("Zoë", "correct horse"); !client.IsRefused(err, 403, "USER_AUTH_FAIL") {
		t.Errorf("the password of before: %v", err)
	}
	testkit.Must(t, buyer.Login("Zoë", made[1]))
	testkit.Must(t, buyer.Call("GET", "/foods", "", nil))

	for range 2 {
		if out := accountCommand(t, 0, of, "close", "2147483648"); out !=
			"the account of Zoë (id 2147483648) is closed\n" {
			t.Errorf("close prints %q", out)
		}
	}
	listed(`\tAT\tclosed AT`)
	if err := buyer.Login("Zoë", made[1]); !client.IsRefused(err, 403, "USER_AUTH_FAIL") {
		t.Errorf("login with a closed account: %v", err)
	}

	const nobody = "flashsale account: no user has this name or id among the people who have registered: "
	for words, want := range map[string]string{
		"reset zoë":  "flashsale account: the account is closed\n",
		"reset root": nobody + "root\n", "close 2": nobody + "2\n", "list -name ann": nobody + "ann\n",
	} {
		if out := accountCommand(t, 1, of, strings.Fields(words)...); out != want {
			t.Errorf("%s prints %q, want %q", words, out, want)
		}
	}
	if out := accountCommand(t, 2, nil, "open"); !strings.Contains(out, "say list, reset or close") {
		t.Errorf("a verb that there is not: %q", out)
	}
	s.End(t)
}

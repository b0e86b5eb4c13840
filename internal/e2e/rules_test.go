package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// A faulty file of rules stops the start, before a sale is opened; a faulty one at SIGHUP changes nothing.
// All workers follow the next good one.
func TestRules(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	file := filepath.Join(t.TempDir(), "rules.csv")
	testkit.WriteFile(t, file, "limit,1,1\nmember,vip,nobody\n")
	args := []string{"-users", "300", "-workers", "2", "-rules", file, "-limits", "off"}
	refused := setup{args: args}.launch(t)
	checkRefused(t, refused.Process, file+`:2: there is no user "nobody"`)
	sliced := setup{args: append(slices.Clip(args), "-slices", "2")}
	testkit.WriteFile(t, file, "household,smith,2\n")
	checkRefused(t, sliced.launch(t).Process, file+":1: households need a sale of one slice, and this one has "+
		"2: the users of a sale with slices are spread over several Redis, which cannot decide together; remove "+
		"these lines, or open another sale with -slices 1")

	testkit.WriteFile(t, file, "window,2,fcode\ncoupon,fcode,CODE-1\n")
	s := setup{args: args}.serve(t)
	if _, err := s.client(t).Buy(2, item(2, 1)); !client.IsRefused(err, 403, "COUPON_NEEDED") {
		t.Errorf("an order without the coupon: %v", err)
	}
	for rolls, step := range []struct{ rules, want string }{
		{"limit,3,0\nlimit,3\n", "<nil>"}, {"limit,3,0\n", "403 RULE_LIMIT"}, {"none\n", "<nil>"},
	} {
		testkit.WriteFile(t, file, step.rules)
		s.Send(t, syscall.SIGHUP)
		testkit.Until(t, "reload", func() bool { return s.Logged(t, "all workers are replaced") == rolls+1 })
		_, err := s.client(t).Buy(10+rolls, item(3, 1))
		if fmt.Sprint(err) != step.want {
			t.Errorf("after %q: %v, want %s", step.rules, err, step.want)
		}
	}
	if s.Logged(t, file+":2: limit has 1 fields behind it, want food,pieces,group") != 1 {
		t.Error("the log does not name the fault")
	}
	s.Send(t, syscall.SIGTERM)
	if code := s.ExitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

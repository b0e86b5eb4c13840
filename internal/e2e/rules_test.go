package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// A faulty file of rules stops the start, before a sale is opened; a faulty one at SIGHUP changes nothing.
// All workers follow the next good one. Of many users with one coupon, and of a household, one orders.
func TestRules(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	const users = 200
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

	var household strings.Builder
	for user := range users / 2 {
		fmt.Fprintf(&household, "smith,%d\n", user+2)
	}
	testkit.WriteFile(t, filepath.Join(filepath.Dir(file), "smiths"), household.String())
	testkit.WriteFile(t, file, "window,2,fcode\ncoupon,fcode,CODE-1\nhouseholds,smiths\n")
	s := setup{args: args}.serve(t)

	outcomes := make(chan string, users)
	var all sync.WaitGroup
	for user := 2; user < users+2; user++ {
		c := s.client(t)
		food := 1
		if user > users/2+1 {
			food = 2
		}
		all.Go(func() {
			err := c.LoginUser(user)
			var cart string
			if err == nil {
				cart, err = c.Fill(item(food, 1))
			}
			if err == nil {
				body := map[string]string{"cart_id": cart}
				if food == 2 {
					body["coupon"] = "code-1"
				}
				err = c.Call("POST", "/orders", client.JSON(body), nil)
			}
			outcomes <- fmt.Sprint(food, " ", err)
		})
	}
	all.Wait()
	close(outcomes)
	got := map[string]int{}
	for outcome := range outcomes {
		got[outcome]++
	}
	want := map[string]int{"1 <nil>": 1, "1 403 RULE_HOUSEHOLD": users/2 - 1, "2 <nil>": 1,
		"2 403 COUPON_USED": users/2 - 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("outcomes %v\nwant %v", got, want)
	}
	var told struct {
		Households int `json:"households_used"`
		Coupons    int `json:"coupons_used"`
	}
	testkit.Must(t, s.root(t).Call("GET", "/admin/rules", "", &told))
	if told.Households != 1 || told.Coupons != 1 {
		t.Errorf("used: %+v, want 1 each", told)
	}

	for rolls, step := range []struct{ rules, want string }{
		{"limit,3,0\nlimit,3\n", "<nil>"}, {"limit,3,0\n", "403 RULE_LIMIT"}, {"none\n", "<nil>"},
	} {
		testkit.WriteFile(t, file, step.rules)
		s.Send(t, syscall.SIGHUP)
		testkit.Until(t, "reload", func() bool { return s.Logged(t, "all workers are replaced") == rolls+1 })
		_, err := s.client(t).Buy(users+10+rolls, item(3, 1))
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

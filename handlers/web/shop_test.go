//go:build !race

package web_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

const rootPassword = "root-of-the-tests"

// shop is a server with a Redis.
type shop struct {
	*launch.Server
	redis *redistest.Server
}

// newShop starts a server for 5000 users, with so many foods of so many pieces.
func newShop(t *testing.T, foods, stock int, args ...string) *shop {
	t.Helper()
	testkit.Need(t, "chromium")
	s := &shop{redis: redistest.New(t)}
	s.start(t, "", append([]string{"-workers", "2", "-foods", fmt.Sprint(foods), "-stock", fmt.Sprint(stock)},
		args...)...)
	return s
}

// branded are the flags of a shop with a name and a logo.
func branded(t *testing.T, name string) []string {
	t.Helper()
	logo, err := filepath.Abs("../../scripts/examples/catalogue/logo.png")
	testkit.Must(t, err)
	return []string{"-shop-name", name, "-shop-logo", logo}
}

// start starts the server on a data folder, "" for a new one. Servers of one Redis are of one sale.
func (s *shop) start(t *testing.T, data string, args ...string) {
	t.Helper()
	s.Server = launch.StartServer(t, data,
		[]string{"ROOT_PASSWORD=" + rootPassword, "TOKEN_SECRET=a secret that the servers of one sale share"},
		append([]string{"-redis", s.redis.Socket, "-users", "5000"}, args...)...)
	s.Serves(t)
}

func (s *shop) client(t *testing.T) *client.Client {
	c := &client.Client{Address: s.Address}
	t.Cleanup(c.HangUp)
	return c
}

// stock waits for the list of foods to hold so many pieces in total, and returns it.
func (s *shop) stock(t *testing.T, total int) (left []int) {
	t.Helper()
	c := s.client(t)
	testkit.Must(t, c.LoginUser(2))
	testkit.Until(t, fmt.Sprintf("stock of %d pieces", total), func() bool {
		foods, err := c.Foods()
		testkit.Must(t, err)
		left = nil
		sum := 0
		for _, food := range foods {
			left, sum = append(left, food.Stock), sum+food.Stock
		}
		return sum == total
	})
	return left
}

// bench has a thousand buyers order and returns the pieces that they bought.
func (s *shop) bench(t *testing.T, orders, foods, stock int) (pieces int) {
	t.Helper()
	p := launch.Program{Path: launch.Built(t, "flashsale/scripts/bench"), Args: []string{
		"-addr", s.Address, "-data", s.Data, "-users", "5000", "-foods", fmt.Sprint(foods),
		"-stock", fmt.Sprint(stock), "-concurrency", "20", "-orders", fmt.Sprint(orders)},
		Env: []string{"ROOT_PASSWORD=" + rootPassword}}.Launch(t)
	if code := p.ExitCode(t); code != 0 {
		t.Fatalf("bench ends with %d\n%s", code, p.Written(t))
	}
	c := s.client(t)
	testkit.Must(t, c.Login("root", rootPassword))
	all, err := c.AllOrders()
	testkit.Must(t, err)
	for _, o := range all {
		for _, i := range o.Items {
			pieces += i.Count
		}
	}
	return pieces
}

// buyer is a user who has not ordered yet.
func (s *shop) buyer(t *testing.T) int {
	t.Helper()
	c := s.client(t)
	testkit.Must(t, c.Login("root", rootPassword))
	all, err := c.AllOrders()
	testkit.Must(t, err)
	for user := 2; ; user++ {
		if !slices.ContainsFunc(all, func(o client.Order) bool { return o.User == user }) {
			return user
		}
	}
}

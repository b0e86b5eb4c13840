package e2e

import (
	"crypto/tls"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"flashsale/internal/openapi"
	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

const (
	rootPassword = "root-of-the-tests"
	sharedSecret = "a secret that servers of one sale share"
	// for servers and commands on a busy machine: a Redis that stands still for seconds makes no 503
	patient = "REDIS_TIMEOUT=20s"
)

// root is the top of the repository, seen from this package.
const root = "../../"

// item is some pieces of a food.
var item = client.Pieces

// program starts a program of this module, named by its package, with PATH and env as its whole environment.
func program(t *testing.T, source string, env []string, args ...string) *launch.Process {
	t.Helper()
	return launch.Program{Path: launch.Built(t, source), Args: args,
		Env: append(slices.Clip(env), patient)}.Launch(t)
}

// run runs a program of this module to its end.
func run(t *testing.T, source string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := program(t, source, env, args...)
	code = p.ExitCode(t)
	return code, testkit.ReadFile(t, p.Stdout), testkit.ReadFile(t, p.Log)
}

// setup describes how to start a server.
type setup struct {
	data      string // its folder; "" for a new one
	env, args []string
}

// launch starts a patient server without waiting for it, on any free port.
func (c setup) launch(t *testing.T) *server {
	t.Helper()
	return &server{Server: launch.StartServer(t, c.data, append(slices.Clip(c.env), patient), c.args...)}
}

// serve starts the server, root's password being rootPassword, and returns once it serves.
func (c setup) serve(t *testing.T) *server {
	t.Helper()
	c.env = append([]string{"ROOT_PASSWORD=" + rootPassword}, c.env...)
	s := c.launch(t)
	s.Serves(t)
	return s
}

// server is a running server.
type server struct {
	*launch.Server
	trust *tls.Config // what its clients trust; nil for plain HTTP
}

// described is the description of the API, read once.
var described = sync.OnceValues(func() (*openapi.Description, error) {
	text, err := os.ReadFile(root + "handlers/openapi.json")
	if err != nil {
		return nil, err
	}
	return openapi.Parse(text)
})

// checkReply compares a reply with the description of the API.
func checkReply(t *testing.T) func(method, path string, r client.Reply) {
	return func(method, path string, r client.Reply) {
		d, err := described()
		if err == nil {
			err = d.Check(openapi.Reply{Method: method, Target: path, Status: r.Status, Header: r.Header,
				Body: []byte(r.Body)})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// checkEvent compares an event of the live view with the description of the API.
func checkEvent(t *testing.T, name, data string) {
	d, err := described()
	if err == nil {
		err = d.CheckEvent("/live", name, data)
	}
	if err != nil {
		t.Error(err)
	}
}

// newClient returns a client whose replies are compared with the description of the API. All clients of
// these tests come from here.
func newClient(t *testing.T, address string) *client.Client {
	c := &client.Client{Address: address, OnReply: checkReply(t)}
	t.Cleanup(c.HangUp)
	return c
}

// client returns a client of the server, for one goroutine.
func (s *server) client(t *testing.T) *client.Client {
	c := newClient(t, s.Address)
	c.TLS = s.trust
	return c
}

// root returns a client that is logged in as root.
func (s *server) root(t *testing.T) *client.Client {
	t.Helper()
	c := s.client(t)
	testkit.Must(t, c.Login("root", rootPassword))
	return c
}

// orders reads all orders of the sale by user.
func (s *server) orders(t *testing.T) map[int]client.Order {
	t.Helper()
	root := s.root(t)
	var list []client.Order
	var err error
	testkit.Until(t, "list of all orders", func() bool { // a worker on a busy machine may begin without Redis
		list, err = root.AllOrders()
		return !client.IsRefused(err, 503, "SERVICE_UNAVAILABLE")
	})
	testkit.Must(t, err)
	byUser := map[int]client.Order{}
	for _, o := range list {
		if _, twice := byUser[o.User]; twice {
			t.Errorf("user %d has two orders", o.User)
		}
		byUser[o.User] = o
	}
	return byUser
}

// stock reads the pieces left of each food, as GET /foods has them now.
func (s *server) stock(t *testing.T) map[int]int {
	t.Helper()
	list, err := s.root(t).Foods()
	testkit.Must(t, err)
	stock := map[int]int{}
	for _, food := range list {
		stock[food.ID] = food.Stock
	}
	return stock
}

// awaitStock waits for the list of foods, which may lag, to show this stock.
func (s *server) awaitStock(t *testing.T, want map[int]int) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("stock of %v", want), func() bool { return maps.Equal(s.stock(t), want) })
}

// visible is the part of a process's start that other programs of the same user can see.
func visible(t *testing.T, pid int) string {
	t.Helper()
	arguments, err := proc.Arguments(pid)
	testkit.Must(t, err)
	environment, err := proc.Environ(pid)
	testkit.Must(t, err)
	return strings.Join(append(arguments, environment...), "\n")
}

func awaitEnd(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		testkit.Until(t, fmt.Sprintf("end of process %d", pid), func() bool { return !proc.Alive(pid) })
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	testkit.Must(t, syscall.Kill(pid, syscall.SIGKILL))
}

package compare

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/libp2p/go-reuseport"

	"flashsale/internal/catalog"
	"flashsale/internal/store/child"
	"flashsale/scripts/bench/sale"
)

// cannedWorkerVariable marks a process as a worker of a canned server; its socket is then descriptor 3.
const (
	cannedWorkerVariable = "BENCH_CANNED_WORKER"
	cannedSocket         = 3
	cannedWorkersMax     = 256
	idLength             = 32 // characters of an access token and of a cart ID
)

// Canned is a server that answers the calls of the flow with ready-made replies of the same status,
// Content-Type and size as the product's. It looks at nothing of a request but its path: no token, no
// check, no timeout, no Redis. Like the product it is one process per worker, each with GOMAXPROCS=1, on one
// port by SO_REUSEPORT.
type Canned struct {
	serve         func(socket *os.File, bodies cannedBodies) error // one worker's work
	host          string
	port, workers int
	catalogue     catalog.Config
}

// Register adds the product's flags for address, workers and catalogue.
func (c *Canned) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.host, "app-host", "127.0.0.1", "`address` to listen on")
	fs.IntVar(&c.port, "app-port", 8080, "`port` to listen on, shared by all workers")
	fs.IntVar(&c.workers, "workers", runtime.NumCPU(), "`processes` that serve")
	sale.RegisterBuiltIn(fs, &c.catalogue)
}

// Serve serves until the process is killed. A worker is the same program again with the same arguments.
func (c *Canned) Serve() error {
	if c.workers < 1 || c.workers > cannedWorkersMax {
		return fmt.Errorf("%w: -workers %d is not within 1 to %d", sale.ErrUsage, c.workers,
			cannedWorkersMax)
	}
	if os.Getenv(cannedWorkerVariable) == "" {
		return startCannedWorkers(net.JoinHostPort(c.host, strconv.Itoa(c.port)), c.workers)
	}
	bodies, err := newCannedBodies(c.catalogue)
	if err != nil {
		return err
	}
	return c.serve(os.NewFile(cannedSocket, "socket"), bodies)
}

// startCannedWorkers opens all sockets before any worker runs, because connections are spread over the
// sockets that are there when they come. It returns when a worker ends; the others end with this process.
func startCannedWorkers(address string, workers int) error {
	sockets := make([]*os.File, workers)
	for i := range sockets {
		var err error
		if sockets[i], err = cannedListen(address); err != nil {
			return err
		}
	}
	ended := make(chan error, workers)
	for _, socket := range sockets {
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Env = append(os.Environ(), cannedWorkerVariable+"=1", "GOMAXPROCS=1")
		cmd.ExtraFiles = []*os.File{socket}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := child.Start(cmd, syscall.SIGKILL); err != nil {
			return fmt.Errorf("cannot start worker: %w", err)
		}
		socket.Close()
		go func() { ended <- cmd.Wait() }()
	}
	return fmt.Errorf("a worker has ended: %w", <-ended)
}

// cannedListen opens one more socket of the address. The listener is closed because the poller of this
// process would wake at each connection that comes to a worker.
func cannedListen(address string) (*os.File, error) {
	listener, err := reuseport.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		return nil, fmt.Errorf("cannot hand over socket of %s: %w", address, err)
	}
	return socket, nil
}

// The calls that have a reply of their own.
const (
	callLogin = iota
	callFoods
	callCart
	callOrder
	callHealth
	callAdd // PATCH /carts/:cart_id, and whatever has no reply of its own
	callCount
)

// callOf is the call of a path without its query.
func callOf(path []byte) int {
	switch string(path) {
	case "/login":
		return callLogin
	case "/foods":
		return callFoods
	case "/carts":
		return callCart
	case "/orders":
		return callOrder
	case "/healthz", "/readyz":
		return callHealth
	}
	return callAdd
}

// cannedBodies are the ready-made bodies by call, as the product would send them to the last user of the
// catalogue; without one the reply is 204.
type cannedBodies [callCount][]byte

func newCannedBodies(catalogue catalog.Config) (cannedBodies, error) {
	users := catalogue.Users
	catalogue.Users, catalogue.RootPassword = 1, "none" // only the foods are wanted
	foods, err := catalog.Read(context.Background(), catalogue, func(catalog.User) error { return nil })
	if err != nil {
		return cannedBodies{}, fmt.Errorf("cannot read catalogue: %w", err)
	}
	var list []string
	for _, f := range foods {
		list = append(list, fmt.Sprintf(`{"id":%d,"price":%d,"stock":%d}`, f.ID, f.Price, f.Stock))
	}
	id := strings.Repeat("A", idLength)
	return cannedBodies{
		callLogin:  fmt.Appendf(nil, `{"user_id":%d,"username":"user%d","access_token":"%s"}`, users, users, id),
		callFoods:  []byte("[" + strings.Join(list, ",") + "]"),
		callCart:   fmt.Appendf(nil, `{"cart_id":"%s"}`, id),
		callOrder:  fmt.Appendf(nil, `{"id":"aaaaaaaa-%d"}`, users),
		callHealth: []byte(`{"status":"alive"}`),
	}, nil
}

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
	"github.com/valyala/fasthttp"

	"flashsale/internal/catalog"
	"flashsale/internal/child"
	"flashsale/scripts/bench/sale"
)

// floorWorkerVariable marks a process as a worker of the floor; its socket is then descriptor 3.
const (
	floorWorkerVariable = "BENCH_FLOOR_WORKER"
	floorSocket         = 3
	floorWorkersMax     = 256
	idLength            = 32 // characters of an access token and of a cart ID
)

// Floor is what HTTP alone costs: a bare fasthttp server that answers the calls of the flow with ready-made
// replies of the same status, Content-Type and size as the product's. It looks at nothing of a request but
// its path: no token, no body, no check, no timeout, no Redis. Like the product it is one process per
// worker, each with GOMAXPROCS=1, on one port by SO_REUSEPORT. No server built on fasthttp can be cheaper,
// so an order's cost is given as a multiple of the floor's, measured in the same minute on the same machine.
type Floor struct {
	host          string
	port, workers int
	catalogue     catalog.Config
}

// Register adds the product's flags for address, workers and catalogue.
func (f *Floor) Register(fs *flag.FlagSet) {
	fs.StringVar(&f.host, "app-host", "127.0.0.1", "`address` to listen on")
	fs.IntVar(&f.port, "app-port", 8080, "`port` to listen on, shared by all workers")
	fs.IntVar(&f.workers, "workers", runtime.NumCPU(), "`processes` that serve")
	sale.RegisterBuiltIn(fs, &f.catalogue)
}

// Serve serves until the process is killed. A worker is the same program again with the same arguments.
func (f *Floor) Serve() error {
	if f.workers < 1 || f.workers > floorWorkersMax {
		return fmt.Errorf("%w: -workers %d is not within 1 to %d", sale.ErrUsage, f.workers, floorWorkersMax)
	}
	if os.Getenv(floorWorkerVariable) != "" {
		return serveFloor(f.catalogue)
	}
	return startFloorWorkers(net.JoinHostPort(f.host, strconv.Itoa(f.port)), f.workers)
}

// startFloorWorkers opens all sockets before any worker runs, because connections are spread over the
// sockets that are there when they come. It returns when a worker ends; the others end with this process.
func startFloorWorkers(address string, workers int) error {
	sockets := make([]*os.File, workers)
	for i := range sockets {
		listener, err := reuseport.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("cannot listen on %s: %w", address, err)
		}
		defer listener.Close()
		if sockets[i], err = listener.(*net.TCPListener).File(); err != nil {
			return fmt.Errorf("cannot hand over socket of %s: %w", address, err)
		}
	}
	ended := make(chan error, workers)
	for _, socket := range sockets {
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Env = append(os.Environ(), floorWorkerVariable+"=1", "GOMAXPROCS=1")
		cmd.ExtraFiles = []*os.File{socket}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := child.Start(cmd, syscall.SIGKILL); err != nil {
			return fmt.Errorf("cannot start worker of the floor: %w", err)
		}
		go func() { ended <- cmd.Wait() }()
	}
	return fmt.Errorf("a worker of the floor has ended: %w", <-ended)
}

func serveFloor(catalogue catalog.Config) error {
	socket := os.NewFile(floorSocket, "socket")
	listener, err := net.FileListener(socket)
	if err != nil {
		return fmt.Errorf("cannot take over socket: %w", err)
	}
	socket.Close()
	replies, err := newFloorReplies(catalogue)
	if err != nil {
		return err
	}
	// Without the two headers that the product does not send either, the replies have the same size.
	server := &fasthttp.Server{Handler: replies.answer, NoDefaultServerHeader: true,
		NoDefaultContentType: true}
	return server.Serve(listener)
}

// floorReplies are the ready-made bodies, as the product would send them to the last user of the catalogue.
type floorReplies struct {
	login, foods, cart, order, health []byte
}

func newFloorReplies(catalogue catalog.Config) (*floorReplies, error) {
	users := catalogue.Users
	catalogue.Users, catalogue.RootPassword = 1, "none" // only the foods are wanted
	foods, err := catalog.Read(context.Background(), catalogue, func(catalog.User) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("cannot read catalogue: %w", err)
	}
	var list []string
	for _, f := range foods {
		list = append(list, fmt.Sprintf(`{"id":%d,"price":%d,"stock":%d}`, f.ID, f.Price, f.Stock))
	}
	id := strings.Repeat("A", idLength)
	return &floorReplies{
		login:  fmt.Appendf(nil, `{"user_id":%d,"username":"user%d","access_token":"%s"}`, users, users, id),
		foods:  []byte("[" + strings.Join(list, ",") + "]"),
		cart:   fmt.Appendf(nil, `{"cart_id":"%s"}`, id),
		order:  fmt.Appendf(nil, `{"id":"aaaaaaaa-%d"}`, users),
		health: []byte(`{"status":"alive"}`),
	}, nil
}

func (r *floorReplies) answer(ctx *fasthttp.RequestCtx) {
	var body []byte
	switch string(ctx.Path()) {
	case "/login":
		body = r.login
	case "/foods":
		body = r.foods
	case "/carts":
		body = r.cart
	case "/orders":
		body = r.order
	case "/healthz", "/readyz":
		body = r.health
	default: // PATCH /carts/:cart_id
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return
	}
	ctx.Response.Header.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}

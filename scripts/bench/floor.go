package main

import (
	"context"
	"errors"
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
	"flashsale/internal/config"
)

// The floor is what HTTP alone costs: a bare fasthttp server that answers the calls of the flow with ready-made replies
// of the same status, Content-Type and size as the product's. It looks at nothing of a request but its path: no token, no
// body, no check, no timeout, no Redis. Like the product it is one process per -workers, each with GOMAXPROCS=1, on one
// port by SO_REUSEPORT. No server built on fasthttp can be cheaper, so an order's cost is given as a multiple of the
// floor's, measured in the same minute on the same machine.

// floorWorkerVariable marks a process as a worker of the floor; its socket is then descriptor 3.
const (
	floorWorkerVariable = "BENCH_FLOOR_WORKER"
	floorSocket         = 3
	floorWorkersMax     = 256
	idLength            = 32 // characters of an access token and of a cart ID
)

// runFloor serves the floor until it is killed: "bench floor" with the product's flags for address, workers and catalogue.
func runFloor(args []string) error {
	var catalogue catalog.Config
	fs := flag.NewFlagSet("bench "+floorProgram, flag.ContinueOnError)
	host := fs.String("app-host", "127.0.0.1", "`address` to listen on")
	port := fs.Int("app-port", 8080, "`port` to listen on, shared by all workers")
	workers := fs.Int("workers", runtime.NumCPU(), "`processes` that serve")
	config.AddCatalog(fs, &catalogue)
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if fs.NArg() > 0 || *workers < 1 || *workers > floorWorkersMax {
		return fmt.Errorf("%w: the floor takes flags only, and -workers from 1 to %d", errUsage, floorWorkersMax)
	}
	if os.Getenv(floorWorkerVariable) != "" {
		return serveFloor(catalogue)
	}
	return startFloorWorkers(net.JoinHostPort(*host, strconv.Itoa(*port)), *workers, args)
}

// startFloorWorkers opens all sockets before any worker runs, because connections are spread over the sockets that are
// there when they come. It returns when a worker ends; the others end with this process.
func startFloorWorkers(address string, workers int, args []string) error {
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
		cmd := exec.Command("/proc/self/exe", append([]string{floorProgram}, args...)...)
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
	server := &fasthttp.Server{Handler: replies.answer, NoDefaultServerHeader: true, NoDefaultContentType: true}
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

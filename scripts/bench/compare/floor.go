package compare

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

const idLength = 32 // characters of an access token and of a cart ID

// Floor is what HTTP alone costs: a bare fasthttp server that answers the calls of the flow with ready-made
// replies of the same status, Content-Type and size as the product's. It looks at nothing of a request but
// its path: no token, no check, no timeout, no Redis. Like the product it is one process per worker, each
// with GOMAXPROCS=1, on one port by SO_REUSEPORT. An order's cost is given as a multiple of the floor's,
// measured in the same minute on the same machine.
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

// Serve serves until the process is killed. A worker is the same program again with the same arguments; when
// one ends, all end.
func (f *Floor) Serve() error {
	if f.workers < 1 {
		return fmt.Errorf("%w: -workers %d is less than 1", sale.ErrUsage, f.workers)
	}
	replies, err := newFloorReplies(f.catalogue)
	if err != nil {
		return err
	}
	// Without the two headers that the product does not send either, the replies have the same size.
	server := &fasthttp.Server{Handler: replies.answer, NoDefaultServerHeader: true, NoDefaultContentType: true}
	workers := prefork.New(server)
	workers.Reuseport, workers.RecoverThreshold = true, 0
	workers.OnMasterDeath = func() { os.Exit(1) }
	runtime.GOMAXPROCS(f.workers) // prefork starts this number of workers
	return workers.ListenAndServe(net.JoinHostPort(f.host, strconv.Itoa(f.port)))
}

// floorReplies are the bodies by path, as the product would send them to the last user of the catalogue. The
// reply to any other path is 204: PATCH /carts/:cart_id has no body.
type floorReplies map[string][]byte

func newFloorReplies(catalogue catalog.Config) (floorReplies, error) {
	users := catalogue.Users
	catalogue.Users, catalogue.RootPassword = 1, "none" // only the foods are used
	foods, err := catalog.Read(context.Background(), catalogue, func(catalog.User) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("cannot read catalogue: %w", err)
	}
	var list []string
	for _, f := range foods {
		list = append(list, fmt.Sprintf(`{"id":%d,"price":%d,"stock":%d}`, f.ID, f.Price, f.Stock))
	}
	id := strings.Repeat("A", idLength)
	alive := []byte(`{"status":"alive"}`)
	return floorReplies{
		"/login":   fmt.Appendf(nil, `{"user_id":%d,"username":"user%d","access_token":"%s"}`, users, users, id),
		"/foods":   []byte("[" + strings.Join(list, ",") + "]"),
		"/carts":   fmt.Appendf(nil, `{"cart_id":"%s"}`, id),
		"/orders":  fmt.Appendf(nil, `{"id":"aaaaaaaa-%d"}`, users),
		"/healthz": alive,
		"/readyz":  alive,
	}, nil
}

func (r floorReplies) answer(ctx *fasthttp.RequestCtx) {
	body := r[string(ctx.Path())]
	if body == nil {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return
	}
	ctx.Response.Header.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}

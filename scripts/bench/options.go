package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/peterbourgon/ff/v3"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
)

const (
	concurrencyMax = 100_000 // buyers at once: each holds a goroutine, a buffer and a connection per server
	serversMax     = 64
	timeoutMax     = 10 * time.Minute
)

// passwordFile is where the server leaves the password it made for root, in its data folder.
const passwordFile = "root-password"

// style says in which of the ways known from the contest's clients the requests are sent.
type style struct {
	tokenInQuery   bool // access_token in the query instead of the header Access-Token
	newConnections bool // fresh connections for every flow
	contestBodies  bool // a body {} with the calls that take none
}

// options is everything the command line and the environment say.
type options struct {
	servers     []string // host:port
	concurrency int
	orders      int
	duration    time.Duration // of the load; 0 = until all orders are done
	timeout     time.Duration // per request
	seed        uint64
	style       style
	json        bool
	auditOnly   bool
	data        string // the server's data folder, for root's password
	catalog     catalog.Config
}

// parseOptions reads flags first, then the environment. After -h it writes the usage to out and returns flag.ErrHelp; any
// other error is an errUsage.
func parseOptions(args []string, out io.Writer) (options, error) {
	var opt options
	var servers string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&servers, "addr", "127.0.0.1:8080", "servers of the sale, `host:port[,host:port...]`")
	fs.IntVar(&opt.concurrency, "concurrency", 1000, "buyers at once")
	fs.IntVar(&opt.orders, "orders", 10_000, "orders to try, each by another user")
	fs.DurationVar(&opt.duration, "duration", 0, "end the load after this long; 0 = when all orders are done")
	fs.DurationVar(&opt.timeout, "timeout", 10*time.Second, "longest wait for one request")
	fs.Uint64Var(&opt.seed, "seed", 0, "seed of every random choice; 0 = a random one, which is printed")
	fs.BoolVar(&opt.style.tokenInQuery, "token-in-query", false, "send the token as access_token in the query, not as a header")
	fs.BoolVar(&opt.style.newConnections, "new-connections", false, "open new connections for every order")
	fs.BoolVar(&opt.style.contestBodies, "contest-bodies", false, "send {} with GET /foods and POST /carts")
	fs.BoolVar(&opt.json, "json", false, "print one JSON object instead of text")
	fs.BoolVar(&opt.auditOnly, "audit-only", false, "no load, only the checks that need no memory of one")
	fs.StringVar(&opt.data, "data", "flashsale-data", "data `folder` of the server, where it leaves a root password it made itself")
	config.AddCatalog(fs, &opt.catalog)

	fs.Usage = func() {}
	if err := ff.Parse(fs, args, ff.WithEnvVars()); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(out, "bench loads a sale and audits it. Every flag has an environment name: capitals, - becomes _ (DB_HOST).")
		fs.SetOutput(out)
		fs.PrintDefaults()
		return opt, flag.ErrHelp
	} else if err != nil {
		return opt, fmt.Errorf("%w: %w (bench -h lists all flags)", errUsage, err)
	}
	if fs.NArg() > 0 {
		return opt, fmt.Errorf("%w: %q is not a flag (bench -h lists all flags)", errUsage, fs.Arg(0))
	}
	if opt.seed == 0 {
		opt.seed = rand.Uint64()
	}
	opt.servers = strings.Split(servers, ",")
	if err := opt.check(); err != nil {
		return opt, err
	}
	return opt, opt.findRootPassword()
}

// check names the first limit that an option passes.
func (o *options) check() error {
	if len(o.servers) > serversMax {
		return fmt.Errorf("%w: -addr names %d servers, at most %d", errUsage, len(o.servers), serversMax)
	}
	for _, server := range o.servers {
		host, port, err := net.SplitHostPort(server)
		number, numberErr := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || numberErr != nil || number == 0 {
			return fmt.Errorf("%w: -addr %q is not host:port", errUsage, server)
		}
	}
	switch {
	case o.concurrency < 1 || o.concurrency > concurrencyMax:
		return fmt.Errorf("%w: -concurrency %d is not within 1 to %d", errUsage, o.concurrency, concurrencyMax)
	case o.orders < 1:
		return fmt.Errorf("%w: -orders %d is less than 1", errUsage, o.orders)
	case o.duration < 0:
		return fmt.Errorf("%w: -duration %v is negative", errUsage, o.duration)
	case o.timeout <= 0 || o.timeout > timeoutMax:
		return fmt.Errorf("%w: -timeout %v is not within 0 to %v", errUsage, o.timeout, timeoutMax)
	}
	return nil
}

// findRootPassword fills in root's password for the built-in catalogue; the other sources hold it themselves.
func (o *options) findRootPassword() error {
	if o.catalog.RootPassword != "" || o.catalog.Dir != "" || o.catalog.DB.Host != "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(o.data, passwordFile))
	if err != nil {
		return fmt.Errorf("%w: cannot read root's password: %w; set ROOT_PASSWORD as for the server, or -data to its folder", errUsage, err)
	}
	o.catalog.RootPassword = strings.TrimSpace(string(text))
	return nil
}

// Flashsale is a flash-sale server: it sells a limited stock to many buyers at once over HTTP, nothing twice.
//
// One program in two roles. The supervisor starts the store, reads the catalogue, opens the sale and keeps the
// worker processes; the workers, which share its port, serve. README.md says how to run it. All of the wiring is in this
// one file, in the order in which it happens; what is wired is elsewhere.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"flashsale/handlers"
	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/datafolder"
	"flashsale/internal/embedded"
	"flashsale/internal/ledger"
	"flashsale/internal/profiling"
	"flashsale/internal/supervise"
	"flashsale/redisx"
	"flashsale/tokens"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "audit" {
		os.Exit(audit(context.Background(), os.Args[2:]))
	}
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flashsale:", err)
		os.Exit(1)
	}
}

// run picks the role.
func run(ctx context.Context, args []string) error {
	signal.Ignore(syscall.SIGPIPE) // a log reader that ends must not end the sale
	worker, err := supervise.Inherited()
	if err != nil {
		return err
	}
	cfg, err := config.Parse(args, os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case worker != nil:
		return runWorker(ctx, cfg, worker)
	}
	return runSupervisor(ctx, cfg)
}

// opening is an open sale, with all that a worker needs to serve it.
type opening struct {
	catalog *catalog.Catalog
	fresh   bool // no server had opened it before
	handover
}

// handover is the part of an opening that a worker gets as a message; the catalogue comes as a file.
type handover struct {
	Redis       redisx.Config
	Sale        string
	Secrets     [][]byte // the one that signs, then those that still verify
	Certificate handlers.Certificate
}

// runSupervisor starts everything, waits for a signal and stops everything in the opposite order.
func runSupervisor(ctx context.Context, cfg *config.Config) (err error) {
	settings := cfg.String()
	cfg.HideSecrets() // workers get what they need of them in the handover

	terminal := supervise.Attached()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)

	interrupt, stopCatching := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stopCatching()
	// With the first signal its default is back: a second one kills.
	context.AfterFunc(interrupt, stopCatching)

	folder, err := datafolder.Open(cfg.DataDir)
	if err != nil {
		return err
	}
	database, err := ledger.Open(interrupt, cfg.Ledger)
	if err != nil {
		return err
	}
	defer database.Close()
	// The port comes first: a server that cannot serve must not open a sale.
	supervisor, err := supervise.New(supervise.Config{Workers: max(cfg.Workers, 1), Address: cfg.Address(), Drain: cfg.Drain})
	if err != nil {
		return err
	}
	defer supervisor.Close()
	store, err := startStore(interrupt, cfg, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.stop()) }()
	randomRoot, err := chooseRootPassword(cfg, folder)
	if err != nil {
		return err
	}
	sale, err := openSale(interrupt, cfg, folder, store)
	if err != nil {
		return err
	}
	stopLedger, err := keepLedger(interrupt, database, sale, supervisor.Address())
	if err != nil {
		return err
	}
	defer stopLedger()
	ready := func() {
		printBanner(os.Stdout, cfg, settings, supervisor.Reachable(), store, sale, database, randomRoot)
	}
	if cfg.Workers == 0 {
		err = serveAlone(interrupt, cfg, sale, supervisor, hangups{hangup, terminal}, ready)
	} else {
		err = superviseWorkers(interrupt, cfg, sale, supervisor, hangups{hangup, terminal}, ready)
	}
	if err == nil && store.durable {
		fmt.Printf("flashsale has stopped; sale %s stays in its store\n", sale.Sale)
	}
	return err
}

// chooseRootPassword gives root of the built-in catalogue a random password, where none is set.
func chooseRootPassword(cfg *config.Config, folder *datafolder.Folder) (random bool, err error) {
	if cfg.Catalog.RootPassword != "" || !cfg.Catalog.BuiltIn() {
		return false, nil
	}
	cfg.Catalog.RootPassword = rand.Text()
	return true, folder.WriteRootPassword(cfg.Catalog.RootPassword)
}

// store is the Redis in use.
type store struct {
	description string
	durable     bool   // it keeps the sale when this server ends
	newSale     string // what to do for a new sale in it
	stop        func() error
}

// startStore makes cfg.Redis the Redis to use: the one named, or the default store.
func startStore(ctx context.Context, cfg *config.Config, folder *datafolder.Folder) (*store, error) {
	if cfg.Redis.Address != "" {
		durability, err := redisx.ReadDurability(ctx, cfg.Redis)
		if err != nil {
			return nil, err
		}
		if cfg.RequireDurable && !durability.Full {
			return nil, fmt.Errorf("-require-durable: Redis at %s: %s", cfg.Redis.Address, durability.Loss)
		}
		return &store{
			description: "Redis at " + cfg.Redis.Address + "; " + durability.Loss,
			durable:     true,
			newSale:     "use an empty Redis and delete " + folder.SalePath(),
			stop:        func() error { return nil },
		}, nil
	}
	if err := folder.Lock(); err != nil {
		return nil, err
	}
	own, err := embedded.Start(ctx, embedded.Config{Folder: folder, RequireDurable: cfg.RequireDurable})
	if err != nil {
		return nil, errors.Join(err, folder.Unlock())
	}
	cfg.Redis.Network, cfg.Redis.Address, cfg.Redis.Password = own.Network, own.Address, own.Password
	running, cancel := context.WithCancel(context.Background()) // it outlives ctx: workers drain into it
	ended := make(chan error, 1)
	go func() { ended <- own.Run(running) }()
	return &store{
		description: own.Description(),
		durable:     own.Durable,
		newSale:     "delete " + folder.Path() + " or choose another -data",
		stop: func() error {
			cancel()
			return errors.Join(<-ended, folder.Unlock())
		},
	}, nil
}

// openSale reads the catalogue and the secrets and opens the sale, or joins the one that is open.
func openSale(ctx context.Context, cfg *config.Config, folder *datafolder.Folder, store *store) (o *opening, err error) {
	o = &opening{handover: handover{Redis: cfg.Redis}}
	if o.catalog, err = catalog.Load(ctx, cfg.Catalog); err != nil {
		return nil, err
	}
	if o.Certificate, err = handlers.ReadCertificate(cfg.TLSCert, cfg.TLSKey); err != nil {
		return nil, err
	}
	secret := []byte(cfg.TokenSecret)
	if len(secret) == 0 {
		if secret, err = folder.TokenSecret(); err != nil {
			return nil, err
		}
	}
	o.Secrets = [][]byte{secret}
	if cfg.TokenSecretPrevious != "" {
		o.Secrets = append(o.Secrets, []byte(cfg.TokenSecretPrevious))
	}
	last, err := folder.Sale(cfg.Redis.Address)
	if err != nil {
		return nil, err
	}
	o.Sale, o.fresh, err = redisx.Open(ctx, cfg.Redis, firstStock(o.catalog, last))
	switch {
	case errors.Is(err, redisx.ErrOtherFoods):
		return nil, fmt.Errorf("%w; start with the catalogue of that sale, or for a new sale %s", err, store.newSale)
	case errors.Is(err, redisx.ErrSaleLost):
		return nil, fmt.Errorf("%w; restore its data, or for a new sale %s", err, store.newSale)
	case err != nil:
		return nil, err
	}
	if store.durable {
		err = folder.WriteSale(o.Sale, cfg.Redis.Address)
	}
	return o, err
}

// firstStock is the sale as the catalogue would open it.
func firstStock(c *catalog.Catalog, last string) redisx.Opening {
	o := redisx.Opening{Last: last}
	pieces := int64(0)
	for _, food := range c.Foods() {
		o.Stock = append(o.Stock, food.Stock)
		pieces += food.Stock
	}
	o.Catalog = fmt.Sprintf("%d foods, %d pieces (%s)", len(o.Stock), pieces, c.Fingerprint())
	return o
}

// keepLedger switches the sale's ledger on and writes it until stop; without a database it does nothing.
func keepLedger(ctx context.Context, database *ledger.Database, sale *opening, address string) (stop func(), err error) {
	if database == nil {
		backlog, err := redisx.ReadBacklog(ctx, sale.Redis, sale.Sale)
		if err == nil && backlog.Kept {
			slog.Warn("this sale keeps a ledger, but -ledger is not set here: orders wait in Redis until a server with it runs",
				"sale", sale.Sale, "orders_waiting", backlog.Orders)
		}
		return func() {}, err
	}
	l, err := ledger.New(ctx, ledger.Config{
		Database: database, Redis: sale.Redis, Sale: sale.Sale, Prices: prices(sale.catalog), Address: address,
	})
	if err != nil {
		return nil, err
	}
	// It outlives ctx: workers drain into Redis, and what they leave there is written last.
	running, cancel := context.WithCancel(context.Background())
	var room sync.WaitGroup
	room.Go(func() { l.Run(running) })
	return func() {
		cancel()
		room.Wait()
	}, nil
}

// prices are those of food 1, 2, 3, ...
func prices(c *catalog.Catalog) []int64 {
	var list []int64
	for _, food := range c.Foods() {
		list = append(list, food.Price)
	}
	return list
}

// The exit codes of flashsale audit.
const (
	auditEqual = iota
	auditDiffers
	auditFailed
)

// audit compares the orders in Redis with those in the ledger's database.
func audit(ctx context.Context, args []string) (code int) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	result, err := compare(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return auditEqual
	case err != nil:
		fmt.Fprintln(os.Stderr, "flashsale audit:", err)
		return auditFailed
	}
	result.Print(os.Stdout)
	if !result.Equal() {
		return auditDiffers
	}
	return auditEqual
}

func compare(ctx context.Context, args []string) (result *ledger.Audit, err error) {
	cfg, err := config.Parse(args, os.Stdout)
	if err != nil {
		return nil, err
	}
	if cfg.Ledger == "" {
		return nil, errors.New("-ledger (LEDGER) is not set; it names the database to compare with")
	}
	cfg.HideSecrets()
	database, err := ledger.NewDatabase(cfg.Ledger)
	if err != nil {
		return nil, err
	}
	defer database.Close()
	if _, err := os.Stat(cfg.DataDir); err != nil && cfg.Redis.Address == "" { // which Open would make
		return nil, fmt.Errorf("no sale was served from %s; name its folder (-data) or its Redis (-redis)", cfg.DataDir)
	}
	folder, err := datafolder.Open(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder.SalePath()); err != nil && cfg.Redis.Address == "" {
		return nil, fmt.Errorf("no sale was served from %s; name its folder (-data) or its Redis (-redis)", folder.Path())
	}
	store, err := startStore(ctx, cfg, folder)
	switch {
	case errors.Is(err, datafolder.ErrInUse): // by a server that runs, whose store answers us too
		cfg.Redis.Network, cfg.Redis.Address = "unix", embedded.Socket(folder)
	case err != nil:
		return nil, err
	default:
		defer func() { err = errors.Join(err, store.stop()) }()
	}
	if cfg.Catalog.RootPassword == "" && cfg.Catalog.BuiltIn() {
		cfg.Catalog.RootPassword = rand.Text() // nobody logs in here
	}
	c, err := catalog.Load(ctx, cfg.Catalog)
	if err != nil {
		return nil, err
	}
	sale, err := redisx.Find(ctx, cfg.Redis, firstStock(c, "").Catalog)
	if err != nil {
		return nil, err
	}
	return ledger.Compare(ctx, ledger.AuditConfig{Database: database, Redis: cfg.Redis, Sale: sale, Prices: prices(c)})
}

func printBanner(out io.Writer, cfg *config.Config, settings string, addresses []string,
	store *store, sale *opening, database *ledger.Database, randomRoot bool) {
	scheme, curl, state := "http://", "curl", "goes on"
	if cfg.TLSCert != "" {
		scheme, curl = "https://", "curl -k" // the certificate is hardly for this address
	}
	url := scheme + addresses[0]
	if sale.fresh {
		state = "opened now"
	}
	login := `{"username":"root","password":"..."}`
	switch {
	case randomRoot:
		login = fmt.Sprintf(`{"username":"root","password":"%s"}`, cfg.Catalog.RootPassword)
	case cfg.Catalog.BuiltIn() && cfg.Catalog.Users > 1:
		login = `{"username":"user2","password":"pass2"}`
	}
	fmt.Fprintf(out, "flashsale serves on %s (workers: %d)\n", url, cfg.Workers)
	if others := addresses[1:]; len(others) > 0 {
		fmt.Fprintf(out, "  also on    %s%s\n", scheme, strings.Join(others, " "+scheme))
	}
	fmt.Fprintf(out, "  sale       %s, %s\n", sale.Sale, state)
	source := cfg.Catalog.Source()
	if !cfg.Catalog.BuiltIn() {
		source += fmt.Sprintf(" (%d users, %d foods)", sale.catalog.Users(), len(sale.catalog.Foods()))
	}
	fmt.Fprintf(out, "  catalogue  %s\n", source)
	fmt.Fprintf(out, "  store      %s\n", store.description)
	if database != nil {
		fmt.Fprintf(out, "  ledger     every order goes to %s\n", database)
	}
	if cfg.TokenSecret == "" {
		fmt.Fprintf(out, "  tokens     signed with the secret in %s; servers of one sale must share TOKEN_SECRET\n", cfg.DataDir)
	}
	fmt.Fprintf(out, "  settings   %s\n", settings)
	fmt.Fprintf(out, "  try        %s %s/login -d '%s'\n", curl, url, login)
	fmt.Fprintf(out, "  stop       Ctrl-C or kill %d", os.Getpid())
	if cfg.Workers > 0 {
		fmt.Fprintf(out, "; kill -HUP %d reads the users again and replaces the workers", os.Getpid())
	}
	fmt.Fprintln(out)
}

// hangups are the SIGHUPs of this process. With a terminal one of them may be the terminal's end.
type hangups struct {
	signals  <-chan os.Signal
	terminal bool
}

// superviseWorkers runs the worker processes until ctx ends or the terminal is closed.
func superviseWorkers(ctx context.Context, cfg *config.Config, sale *opening, supervisor *supervise.Supervisor, hangups hangups, readied func()) error {
	given, err := sale.pack()
	if err != nil {
		return err
	}
	files := given.Files
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- supervisor.Run(ctx, given) }()
	for ready := supervisor.Ready(); ; {
		select {
		case err := <-ended:
			return err
		case <-ready:
			ready = nil
			readied()
		case <-hangups.signals:
			if hangups.terminal && !supervise.Attached() {
				stop() // it was the terminal's end, not somebody who wants other workers
				continue
			}
			unread := sale.reload(ctx, cfg)
			if unread != nil {
				slog.Error("cannot read the catalogue again; the old one stays", "error", unread)
			}
			if fresh, err := handlers.ReadCertificate(cfg.TLSCert, cfg.TLSKey); err != nil {
				slog.Error("cannot read the certificate again; the old one stays", "error", err)
			} else {
				sale.Certificate = fresh
			}
			if err := roll(ctx, supervisor, sale, &files); err != nil {
				slog.Error("cannot replace the workers; those that were not replaced go on", "error", err)
			} else {
				slog.Info("all workers are replaced", "users", sale.catalog.Users(), "catalogue_read", unread == nil)
			}
		}
	}
}

// roll replaces all workers. files are the catalogues that workers may be started with: a slot that was not
// replaced restarts with the file it had, so the old ones are closed only after a success.
func roll(ctx context.Context, supervisor *supervise.Supervisor, sale *opening, files *[]*os.File) error {
	given, err := sale.pack()
	if err != nil {
		return err
	}
	if err := supervisor.Roll(ctx, given); err != nil {
		*files = append(*files, given.Files...)
		return err
	}
	for _, old := range *files {
		old.Close()
	}
	*files = given.Files
	return nil
}

// reload reads the catalogue again: users may have come. Where that fails, or the foods are no longer those of
// the sale, the catalogue stays as it was.
func (o *opening) reload(ctx context.Context, cfg *config.Config) error {
	fresh, err := catalog.Load(ctx, cfg.Catalog)
	if err != nil {
		return err
	}
	if fresh.Fingerprint() != o.catalog.Fingerprint() {
		return errors.New("its foods, stocks or prices are not those of the sale")
	}
	o.catalog = fresh
	return nil
}

func (o *opening) pack() (supervise.Handover, error) {
	values, err := json.Marshal(o.handover)
	if err != nil {
		return supervise.Handover{}, fmt.Errorf("cannot pack the handover: %w", err)
	}
	file, err := o.catalog.File()
	if err != nil {
		return supervise.Handover{}, err
	}
	return supervise.Handover{Values: values, Files: []*os.File{file}}, nil
}

// runWorker serves what the supervisor handed over until a signal of it: SIGTERM stops, SIGHUP retires.
func runWorker(ctx context.Context, cfg *config.Config, worker *supervise.Worker) error {
	slog.SetDefault(slog.With("worker", worker.Slot, "pid", os.Getpid()))
	// For ps and top, which would show "exe"; nothing depends on it.
	_ = os.WriteFile("/proc/self/comm", []byte("flashsale"), 0)
	o := &opening{}
	if err := json.Unmarshal(worker.Values, &o.handover); err != nil {
		return fmt.Errorf("cannot read the handover: %w", err)
	}
	o.Redis.Quiet = worker.Slot > 0
	var err error
	if o.catalog, err = catalog.Map(worker.Files[0]); err != nil {
		return err
	}
	if err := profiling.Serve(cfg.Pprof, worker.Slot); err != nil {
		slog.Error("no profiles of this worker", "error", err) // the one it replaces has the port until it ends
	}
	stop, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	retire, cancel := signal.NotifyContext(stop, syscall.SIGHUP)
	defer cancel()
	return o.serve(retire, stop, cfg, worker.Listener, worker.Ready)
}

// serveAlone serves in this process, without workers: for debuggers and tests.
func serveAlone(ctx context.Context, cfg *config.Config, sale *opening, supervisor *supervise.Supervisor, hangups hangups, readied func()) error {
	if err := profiling.Serve(cfg.Pprof, 0); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for range hangups.signals { // there is no worker to replace
			if hangups.terminal && !supervise.Attached() {
				stop()
			}
		}
	}()
	l, err := supervisor.Listener()
	if err != nil {
		return err
	}
	return sale.serve(ctx, ctx, cfg, l, func() error {
		readied()
		return nil
	})
}

// serve answers requests until retire ends. Connections may then stay idle for most of cfg.Drain, so that
// clients learn of the end from a reply; when stop ends too, only for a moment.
func (o *opening) serve(retire, stop context.Context, cfg *config.Config, l net.Listener, ready func() error) (err error) {
	sale := redisx.Join(o.Redis, o.Sale, len(o.catalog.Foods()))
	server, err := o.newServer(cfg, sale)
	if err != nil {
		return err
	}

	background, cancel := context.WithCancel(context.Background())
	var rooms sync.WaitGroup
	defer func() {
		cancel()
		rooms.Wait()
	}()
	stocked := make(chan struct{})
	rooms.Go(func() { sale.Run(background) })
	// The snapshot ends before the connections do: its calls must be answered.
	snapshots, endSnapshots := context.WithCancel(background)
	var snapshot sync.WaitGroup
	defer func() {
		endSnapshots()
		snapshot.Wait()
	}()
	first := sync.OnceFunc(func() { close(stocked) })
	snapshot.Go(func() {
		sale.Snapshot(snapshots, cfg.SnapshotInterval, func(stock []int64) {
			server.PublishStock(stock)
			first()
		})
	})
	// Usually a moment. A worker that is started while Redis is away serves all the same: 503 is an answer.
	select {
	case <-stocked:
	case <-time.After(startWait):
		slog.Warn("Redis does not answer yet; serving without it")
	case <-stop.Done():
		return nil
	}

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	if err := ready(); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-retire.Done():
	}
	return drain(stop, cfg.Drain, server, l)
}

// newServer makes what answers requests, with the limits of one worker.
func (o *opening) newServer(cfg *config.Config, sale *redisx.Sale) (*handlers.Server, error) {
	keys, err := tokens.New(o.Secrets[0], o.Secrets[1:]...)
	if err != nil {
		return nil, err
	}
	encryption, err := o.Certificate.TLS()
	if err != nil {
		return nil, err
	}
	return handlers.New(handlers.Config{
		Catalog: o.catalog, Keys: keys, Sale: sale, TokenTTL: cfg.TokenTTL, TLS: encryption,
		ConnsMax: cfg.WorkerConns(), ConnsPerAddressMax: cfg.MaxConnsPerIP, TrustedProxies: cfg.TrustedProxies,
	}), nil
}

// startWait is how long a worker waits for Redis before it serves without.
const startWait = 200 * time.Millisecond

// stopGrace is how long a stop waits for connections that are idle: a request may be on its way.
const stopGrace = 100 * time.Millisecond

func drain(stop context.Context, limit time.Duration, server *handlers.Server, l net.Listener) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	idle, cancel := context.WithTimeout(ctx, limit*3/4)
	defer cancel()
	context.AfterFunc(stop, func() { time.AfterFunc(stopGrace, cancel) })
	return server.Drain(ctx, idle, l)
}

// Package app wires the program. One binary has two roles: the supervisor starts the store, reads the catalogue, opens the
// sale and keeps the worker processes; the workers, which share its port, serve. What is wired is elsewhere.
package app

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
	"runtime"
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
	"flashsale/internal/listener"
	"flashsale/internal/profiling"
	"flashsale/internal/supervise"
	"flashsale/internal/version"
	"flashsale/redisx"
	"flashsale/tokens"
)

// With this Main begins on the main thread, see config.ClearEnvironment.
func init() { runtime.LockOSThread() }

// Main runs the command that args name, the program's own name first, and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	if err := config.ClearEnvironment(); err != nil {
		slog.Warn("other programs of this user can see secrets", "error", err)
	}
	runtime.UnlockOSThread()
	if len(args) > 1 {
		switch args[1] {
		case "audit":
			return audit(ctx, args[2:], stdout, stderr)
		case "-version", "--version":
			fmt.Fprintln(stdout, version.String())
			return 0
		}
	}
	if err := run(ctx, args[1:], stdout); err != nil {
		fmt.Fprintln(stderr, "flashsale:", err)
		return 1
	}
	return 0
}

// run picks the role.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	signal.Ignore(syscall.SIGPIPE) // a log reader that ends must not end the sale
	worker, err := supervise.Inherited()
	if err != nil {
		return err
	}
	cfg, err := config.Parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case worker != nil:
		return runWorker(ctx, cfg, worker)
	}
	return runSupervisor(ctx, cfg, stdout)
}

// opening is an open sale, with all that a worker needs to serve it.
type opening struct {
	catalog *catalog.Catalog
	fresh   bool // no server had opened it before
	alone   bool // no other server can take part in it
	handover
}

// handover is the part of an opening that a worker gets as a message; the catalogue comes as a file.
type handover struct {
	Redis       redisx.Config
	Sale        string
	Secrets     [][]byte // the one that signs, then those that still verify
	Certificate listener.Certificate

	ServiceToken string // of other programs, "" for none
}

// runSupervisor starts everything, waits for a signal and stops everything in the opposite order.
func runSupervisor(ctx context.Context, cfg *config.Config, stdout io.Writer) (err error) {
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
	if err := folder.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Unlock()) }()
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
	if cfg.Guessable(supervisor.Address()) {
		slog.Warn("anyone who reaches this server can log in as any buyer: the built-in users have the passwords "+
			"pass<i>; give the sale users of its own (-catalog-dir, DB_HOST), or listen on 127.0.0.1",
			"address", supervisor.Address())
	}
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
		printBanner(stdout, cfg, settings, supervisor.Reachable(), store, sale, database, randomRoot)
	}
	if cfg.Workers == 0 {
		err = serveAlone(interrupt, cfg, sale, supervisor, hangups{hangup, terminal}, ready)
	} else {
		err = superviseWorkers(interrupt, cfg, sale, supervisor, hangups{hangup, terminal}, ready)
	}
	if err == nil && store.durable {
		fmt.Fprintf(stdout, "flashsale has stopped; sale %s stays in its store\n", sale.Sale)
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
	private     bool   // no other server can use it
	durable     bool   // it keeps the sale when this server ends
	newSale     string // what to do for a new sale in it
	stop        func() error
}

// startStore makes cfg.Redis the Redis to use: the one named, or the default store in the folder, which
// must be locked.
func startStore(ctx context.Context, cfg *config.Config, folder *datafolder.Folder) (*store, error) {
	if cfg.Redis.Address != "" {
		return useRedis(ctx, cfg, folder.SalePath())
	}
	if err := refuseEmptyStore(cfg, folder); err != nil {
		return nil, err
	}
	own, err := embedded.Start(ctx, embedded.Config{Folder: folder, RequireDurable: cfg.RequireDurable})
	if err != nil {
		return nil, err
	}
	cfg.Redis.Network, cfg.Redis.Address, cfg.Redis.Password = own.Network, own.Address, own.Password
	running, cancel := context.WithCancel(context.Background()) // it outlives ctx: workers drain into it
	ended := make(chan error, 1)
	go func() { ended <- own.Run(running) }()
	return &store{
		description: own.Description(),
		private:     true,
		durable:     own.Durable,
		newSale:     newPrivateSale(folder),
		stop: func() error {
			cancel()
			return <-ended
		},
	}, nil
}

// useRedis looks at the Redis that cfg names. Servers remember the sale in the file remembered.
func useRedis(ctx context.Context, cfg *config.Config, remembered string) (*store, error) {
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
		newSale: "use an empty Redis database (or delete the keys " + redisx.SaleKeys +
			" in this one) and delete " + remembered,
		stop: func() error { return nil },
	}, nil
}

func newPrivateSale(folder *datafolder.Folder) string {
	return "delete " + folder.Path() + " or choose another -data"
}

// refuseEmptyStore refuses to start the default store in a folder that served a sale from another Redis and
// keeps none itself: most likely REDIS_HOST was forgotten.
func refuseEmptyStore(cfg *config.Config, folder *datafolder.Folder) error {
	served, err := folder.Served()
	own := served.Redis == embedded.Socket(folder) || embedded.Holds(folder)
	if err != nil || served.Sale == "" || own || cfg.Sale != "" {
		return err
	}
	return otherRedis(folder, served)
}

// otherRedis is the error for a folder that remembers a sale which the Redis in use does not hold.
func otherRedis(folder *datafolder.Folder, served datafolder.Served) error {
	cure := "set REDIS_HOST"
	if served.Redis == embedded.Socket(folder) {
		cure = "start without REDIS_HOST"
	}
	return fmt.Errorf("this folder served sale %s from %s; %s, or delete %s for a new sale",
		served.Sale, served.Redis, cure, folder.SalePath())
}

// openSale reads the catalogue and the secrets and opens the sale, or joins the one that is open.
func openSale(ctx context.Context, cfg *config.Config, folder *datafolder.Folder, store *store) (o *opening, err error) {
	o = &opening{alone: store.private, handover: handover{Redis: cfg.Redis, ServiceToken: cfg.ServiceToken}}
	if o.catalog, err = catalog.Load(ctx, cfg.Catalog); err != nil {
		return nil, err
	}
	if o.Certificate, err = listener.ReadCertificate(cfg.TLSCert, cfg.TLSKey); err != nil {
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
	if err := o.join(ctx, cfg, folder, store); err != nil {
		return nil, err
	}
	if store.durable {
		err = folder.WriteSale(o.Sale, cfg.Redis.Address)
	}
	return o, err
}

// join opens the sale in Redis, or joins the one that -sale names, that the folder remembers, or that is
// there.
func (o *opening) join(
	ctx context.Context, cfg *config.Config, folder *datafolder.Folder, store *store,
) error {
	served, err := folder.Served()
	if err != nil {
		return err
	}
	wanted := firstStock(o.catalog)
	wanted.Alone = o.alone
	if wanted.Server, err = o.fingerprints(); err != nil {
		return err
	}
	switch {
	case cfg.Sale != "":
		wanted.Only = cfg.Sale
	case served.Redis == cfg.Redis.Address:
		wanted.Last = served.Sale
	default: // the same sale may have moved to another Redis
		wanted.Only = served.Sale
	}
	opened, err := redisx.Open(ctx, cfg.Redis, wanted)
	moved := errors.Is(err, redisx.ErrNoSale) || errors.Is(err, redisx.ErrOtherSale)
	switch {
	case moved && cfg.Sale != "":
		return fmt.Errorf("-sale %s: %w; it joins that sale only", cfg.Sale, err)
	case moved:
		return fmt.Errorf("%w; %w", err, otherRedis(folder, served))
	case err != nil:
		return refusedSale(err, store)
	}
	o.Sale, o.fresh = opened.Sale, opened.Fresh
	warnOf(opened.Differs, o.alone)
	return nil
}

// refusedSale adds what to do to the reason why a sale is not opened.
func refusedSale(err error, store *store) error {
	switch {
	case errors.Is(err, redisx.ErrOtherFoods):
		return fmt.Errorf("%w; start with the catalogue of that sale, or for a new sale %s", err,
			store.newSale)
	case errors.Is(err, redisx.ErrSaleLost):
		return fmt.Errorf("%w; restore its data, or for a new sale %s", err, store.newSale)
	case errors.Is(err, redisx.ErrLeftover):
		return fmt.Errorf("%w, and a new sale would list its orders as its own; "+
			"restore its data, or for a new sale %s", err, store.newSale)
	case errors.Is(err, redisx.ErrOtherSecrets):
		return fmt.Errorf("%w, so it would refuse what they sign; set TOKEN_SECRET to theirs, or TOKEN_SECRET_PREVIOUS "+
			"on the way to a new one (if theirs is lost, stop all servers and run HDEL sale server in Redis: "+
			"everyone has to log in again)", err)
	}
	return err
}

// fingerprints are what the servers of the sale must agree on.
func (o *opening) fingerprints() (list []redisx.Fingerprint, err error) {
	for _, secret := range o.Secrets {
		name, key, err := tokens.Fingerprint(secret)
		if err != nil {
			return nil, err
		}
		root, users := o.catalog.UserFingerprints(key)
		list = append(list, redisx.Fingerprint{Secret: name, Root: root, Users: users})
	}
	return list, nil
}

// warnOf tells what this server and the one that joined the sale before it do not have in common.
func warnOf(d redisx.Differences, alone bool) {
	if alone { // there is no other server: all has been changed on purpose
		if d.WeRefuse {
			slog.Warn("the token secret is another one than before: " +
				"everyone has to log in again and to fill a new cart")
		}
		return
	}
	for _, difference := range []struct {
		found bool
		text  string
	}{
		{d.TheyRefuse, "the sale's other servers do not know the token secret that signs here: they refuse logins and " +
			"carts of this server, until they are restarted with it as TOKEN_SECRET_PREVIOUS"},
		{d.WeRefuse, "this server does not know the token secret that signs on another server of the sale: it refuses " +
			"logins and carts of that one; set TOKEN_SECRET_PREVIOUS to it"},
		{d.Root, "root's password is another one than on the sale's other servers: root can log in only where it is " +
			"the right one; set ROOT_PASSWORD to the same on all"},
		{d.Users, "the users are other ones than on the sale's other servers: who is missing on a server, or has " +
			"another password there, cannot log in there; give all servers the same users (SIGHUP reads them again)"},
	} {
		if difference.found {
			slog.Warn(difference.text)
		}
	}
}

// firstStock is the sale as the catalogue would open it.
func firstStock(c *catalog.Catalog) redisx.Opening {
	o := redisx.Opening{}
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
func audit(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	result, newSale, err := compare(ctx, args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return auditEqual
	case err != nil:
		fmt.Fprintln(stderr, "flashsale audit:", err)
		return auditFailed
	}
	result.Print(stdout)
	if !result.Equal() {
		return auditDiffers
	}
	fmt.Fprintf(stdout, "for the next sale stop all servers and %s\n", newSale)
	return auditEqual
}

// compare audits the sale and says what to do for the next one.
func compare(ctx context.Context, args []string, stdout io.Writer) (result *ledger.Audit, newSale string, err error) {
	cfg, err := config.Parse(args, stdout)
	if err != nil {
		return nil, "", err
	}
	if cfg.Ledger == "" {
		return nil, "", errors.New("-ledger (LEDGER) is not set; it names the database to compare with")
	}
	cfg.HideSecrets()
	database, err := ledger.NewDatabase(cfg.Ledger)
	if err != nil {
		return nil, "", err
	}
	defer database.Close()
	store, err := findStore(ctx, cfg)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, store.stop()) }()
	if cfg.Catalog.RootPassword == "" && cfg.Catalog.BuiltIn() {
		cfg.Catalog.RootPassword = rand.Text() // nobody logs in here
	}
	c, err := catalog.Load(ctx, cfg.Catalog)
	if err != nil {
		return nil, "", err
	}
	sale, err := redisx.Find(ctx, cfg.Redis, firstStock(c).Catalog, cfg.Sale)
	if err != nil {
		return nil, "", refusedSale(err, store)
	}
	result, err = ledger.Compare(ctx, ledger.AuditConfig{
		Database: database, Redis: cfg.Redis, Sale: sale, Prices: prices(c),
	})
	return result, store.newSale, err
}

// findStore is startStore for the audit: the default store of a folder runs already when its server does.
func findStore(ctx context.Context, cfg *config.Config) (*store, error) {
	if cfg.Redis.Address != "" {
		return useRedis(ctx, cfg, "the file sale in the data folder of each server")
	}
	unserved := fmt.Errorf("no sale was served from %s; name its folder (-data) or its Redis (-redis)",
		cfg.DataDir)
	if _, err := os.Stat(cfg.DataDir); err != nil { // which Open would make
		return nil, unserved
	}
	folder, err := datafolder.Open(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	served, err := folder.Served()
	switch {
	case err != nil:
		return nil, err
	case served.Sale == "":
		return nil, unserved
	}
	if err := refuseEmptyStore(cfg, folder); err != nil {
		return nil, err
	}
	err = folder.Lock()
	if errors.Is(err, datafolder.ErrInUse) {
		cfg.Redis.Network, cfg.Redis.Address = "unix", embedded.Socket(folder)
		return &store{newSale: newPrivateSale(folder), stop: func() error { return nil }}, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := startStore(ctx, cfg, folder)
	if err != nil {
		return nil, errors.Join(err, folder.Unlock())
	}
	stop := found.stop
	found.stop = func() error { return errors.Join(stop(), folder.Unlock()) }
	return found, nil
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
			taken := sale.reload(ctx, cfg)
			if err := roll(ctx, supervisor, sale, &files); err != nil {
				slog.Error("cannot replace the workers; those that were not replaced go on", "error", err)
			} else {
				slog.Info("all workers are replaced", taken...)
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

// reload reads the catalogue and the certificate again. What cannot be taken stays as it was. It returns
// what was taken, as attributes for the log.
func (o *opening) reload(ctx context.Context, cfg *config.Config) (taken []any) {
	before := o.catalog.Users()
	fresh, err := o.catalog.Reload(ctx, cfg.Catalog, cfg.ForceReload)
	if err != nil {
		slog.Error("cannot read the catalogue again; the old one stays", "users", before, "error", err)
	} else {
		o.catalog = fresh
		slog.Info("the users are read again", "users_before", before, "users_after", fresh.Users())
		o.tellUsers(ctx)
	}
	taken = []any{"users", o.catalog.Users(), "catalogue_read", err == nil}
	if cfg.TLSCert == "" {
		return taken
	}
	certificate, err := listener.ReadCertificate(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		slog.Error("cannot read the certificate again; the old one stays", "error", err)
	} else {
		o.Certificate = certificate
	}
	return append(taken, "certificate_read", err == nil)
}

// tellUsers makes the users of this server those that a server which joins the sale is compared with.
func (o *opening) tellUsers(ctx context.Context) {
	this := firstStock(o.catalog)
	this.Only, this.Alone = o.Sale, o.alone
	var err error
	if this.Server, err = o.fingerprints(); err == nil {
		_, err = redisx.Open(ctx, o.Redis, this)
	}
	if err != nil {
		slog.Warn("the sale's other servers are still compared with the users before", "error", err)
	}
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
	sale := redisx.Join(o.Redis, o.Sale, len(o.catalog.Foods()), o.catalog.Users())
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
		ServiceToken: o.ServiceToken,
		ConnsMax:     cfg.WorkerConns(), ConnsPerAddressMax: cfg.MaxConnsPerIP, TrustedProxies: cfg.TrustedProxies,
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

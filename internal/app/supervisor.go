package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/rooms/ledger"
	"flashsale/internal/rooms/repeats"
	"flashsale/internal/store/datafolder"
	"flashsale/internal/supervise"
	"flashsale/redisx"
)

// supervisor is the process that people start and stop. It serves no request.
type supervisor struct {
	cfg       *config.Config
	settings  string // for the banner
	processes *supervise.Supervisor
	store     *store
	sale      *opening
	follower  *redisx.Follower
	database  *ledger.Database  // nil without a ledger
	ledger    *ledger.Ledger    // of the sale; nil without a ledger
	blocklist *blocklist.Keeper // nil without a list
	figures   *figures.Memory
	repeats   *repeats.Keeper // nil where the room is off

	started        time.Time
	opsListener    net.Listener         // nil without -ops
	listed         *blocklist.Blocklist // for the metrics, nil without them or without a list
	certificateEnd atomic.Int64         // Unix nanoseconds, for the metrics

	folder     *datafolder.Folder
	metrics    *ops.Server         // nil without -ops
	nextLedger chan *ledger.Ledger // that the room of the ledger is to run
	writer     atomic.Pointer[ledger.Ledger]
	successors chan *redisx.Marker // sales that have followed on this one
	serving    atomic.Pointer[string]

	handedOver supervise.Handover
	catalogs   []*os.File // that workers may be started with
}

// runSupervisor starts everything, waits for a signal and stops everything in the opposite order.
func runSupervisor(ctx context.Context, cfg *config.Config, stdout io.Writer) (err error) {
	if _, err := cfg.VKGroups(); err != nil {
		return err
	}
	s := &supervisor{cfg: cfg, settings: cfg.String(), started: time.Now(),
		nextLedger: make(chan *ledger.Ledger, 1), successors: make(chan *redisx.Marker, 1)}
	cfg.HideSecrets() // workers get the secrets they need in the handover
	hangups := catchHangups()
	interrupt, stopCatching := interruptible(ctx)
	defer stopCatching()

	folder, err := datafolder.Open(cfg.DataDir)
	if err != nil {
		return err
	}
	if err := folder.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Unlock()) }()
	if s.database, err = ledger.Open(interrupt, cfg.Ledger); err != nil {
		return err
	}
	defer s.database.Close()
	// The port comes first: a server that cannot serve must not open a sale.
	if err := s.listen(); err != nil {
		return err
	}
	defer s.close()
	if err := s.run(interrupt, folder, hangups, stdout); err != nil {
		return err
	}
	if s.store.durable {
		fmt.Fprintf(stdout, "flashsale has stopped; sale %s was served from %s\n", s.sale.Sale, s.store.name)
	}
	return nil
}

// listen opens the ports.
func (s *supervisor) listen() (err error) {
	if s.cfg.Ops != "" {
		if s.opsListener, err = ops.Listen(s.cfg.Ops); err != nil {
			return err
		}
	}
	s.processes, err = supervise.New(supervise.Config{
		Roles: []supervise.Role{{Name: saleRole, Count: s.cfg.Workers, Address: s.cfg.Address(),
			Processors: processors(s.cfg.Engine)}},
		Drain: s.cfg.Drain,
	})
	if err != nil {
		return err
	}
	if s.cfg.Guessable(s.address()) {
		slog.Warn("anyone who reaches this server can log in as any buyer: the built-in users have the passwords "+
			"pass<i>; give the sale users of its own (-catalog-dir, DB_HOST), or listen on 127.0.0.1",
			"address", s.address())
	}
	if s.cfg.ProfilesExposed() {
		slog.Warn("anyone who reaches the profiles can read the memory of this server, with its secrets; "+
			"give -pprof an address of this machine only, as 127.0.0.1:6060", "pprof", s.cfg.Pprof)
	}
	return nil
}

// close closes the ports of a supervisor that has not run.
func (s *supervisor) close() {
	s.processes.Close()
	if s.opsListener != nil {
		s.opsListener.Close()
	}
}

// processors returns the number of threads that run Go in a worker at once. The kernel balances the
// processes; so one is enough, and no process pays for moving goroutines between threads. The event loop has
// one for itself, and all that is not the order path another.
func processors(engine string) int {
	if engine == config.EngineLoop {
		return 2
	}
	return 1
}

func (s *supervisor) address() string { return s.processes.Address(saleRole) }

// run opens the sale in its store and keeps all rooms until a signal.
func (s *supervisor) run(
	ctx context.Context, folder *datafolder.Folder, hangups hangups, stdout io.Writer,
) (err error) {
	s.folder = folder
	if s.store, err = startStore(ctx, s.cfg, folder); err != nil {
		return err
	}
	rooms := newRooms()
	defer func() { err = errors.Join(err, rooms.stop()) }()
	rooms.start(room{"store", s.store.run})
	if s.sale, err = openSale(ctx, s.cfg, folder, s.store); err != nil {
		return err
	}
	if s.ledger, err = openLedger(ctx, s.database, s.sale, s.address()); err != nil {
		return err
	}
	s.writer.Store(s.ledger)
	s.serving.Store(&s.sale.Sale)
	if s.follower, err = redisx.Follow(ctx, s.store.redis, s.sale.Sale); err != nil {
		return err
	}
	if s.blocklist, err = openBlocklist(s.cfg, folder, s.store); err != nil {
		return err
	}
	if s.blocklist != nil {
		s.sale.Blocklist = folder.File(blocklistName)
		s.watchBlocklist(s.sale.Blocklist)
	}
	if s.figures, err = figures.New(s.cfg.Workers); err != nil {
		return err
	}
	s.sale.figures = s.figures.File()
	if s.handedOver, err = s.sale.pack(); err != nil {
		return err
	}
	s.catalogs = catalogFiles(s.handedOver)
	rooms.start(s.rooms()...)
	for ready := s.processes.Ready(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-rooms.over:
			return nil
		case <-ready:
			ready = nil
			s.printBanner(stdout)
		case <-hangups.signals:
			if hangups.endOfTerminal() {
				return nil
			}
			s.reload(ctx)
		case next := <-s.successors:
			s.takeOver(ctx, next)
		}
	}
}

// keepWorkers is the room of the worker processes.
func (s *supervisor) keepWorkers(ctx context.Context) error {
	return s.processes.Run(ctx, s.handedOver)
}

// hangups are the SIGHUPs of this process. With a terminal one of them may be the terminal's end.
type hangups struct {
	signals  <-chan os.Signal
	terminal bool
}

func catchHangups() hangups {
	h := hangups{terminal: supervise.Attached()}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	h.signals = signals
	return h
}

// endOfTerminal reports whether a SIGHUP that has come was the terminal's end and not a request to reload.
func (h hangups) endOfTerminal() bool { return h.terminal && !supervise.Attached() }

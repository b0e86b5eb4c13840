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
	"flashsale/internal/rooms/ledger"
	"flashsale/internal/store/datafolder"
	"flashsale/internal/supervise"
	"flashsale/redisx"
)

// supervisor is the process that people start and stop. It serves no request.
type supervisor struct {
	cfg       *config.Config
	settings  string // for the banner
	started   time.Time
	processes *supervise.Supervisor
	folder    *datafolder.Folder
	store     *store
	database  *ledger.Database // nil without a ledger
	messages  *ledger.Messages // nil without a ledger or a conversation
	figures   *figures.Memory
	parts     []part // of the rooms
	desk      *desk

	sale       atomic.Pointer[opening] // what the workers serve; never changed, only replaced
	follower   *redisx.Follower
	successors chan *redisx.Marker // the next sale, to take over
	handedOver []*os.File          // files that a worker may restart with

	opsListener net.Listener // nil without -ops
	metrics     *ops.Server  // nil without -ops
}

// serving returns what the workers serve.
func (s *supervisor) serving() *opening { return s.sale.Load() }

// runSupervisor starts everything, waits for a signal and stops everything in the opposite order.
func runSupervisor(ctx context.Context, cfg *config.Config, stdout io.Writer) (err error) {
	read, err := readRooms(cfg)
	if err != nil {
		return err
	}
	s := &supervisor{cfg: cfg, settings: cfg.String(), started: time.Now(),
		successors: make(chan *redisx.Marker, 1)}
	cfg.HideSecrets() // workers get the secrets they need in the handover
	hangups := catchHangups()
	interrupt, stopCatching := interruptible(ctx)
	defer stopCatching()

	if s.folder, err = datafolder.Open(cfg.DataDir); err != nil {
		return err
	}
	if err := s.folder.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.folder.Unlock()) }()
	if s.database, err = ledger.Open(interrupt, cfg.Ledger, cfg.Redis.Hold > 0); err != nil {
		return err
	}
	defer s.database.Close()
	if cfg.Chat && cfg.Ledger != "" {
		if s.messages, err = ledger.OpenMessages(interrupt, cfg.Ledger); err != nil {
			return err
		}
	}
	defer s.messages.Close()
	// The port comes first: a server that cannot serve must not open a sale.
	if err := s.listen(); err != nil {
		return err
	}
	defer s.close()
	if err := s.run(interrupt, read, hangups, stdout); err != nil {
		return err
	}
	if s.store.durable {
		fmt.Fprintf(stdout, "flashsale has stopped; sale %s was served from %s\n", s.serving().Sale, s.store.name)
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
		Roles: s.roles(),
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
	if push := s.processes.Address(pushRole); s.cfg.PushHidden(s.address(), push) {
		slog.Warn("only this machine reaches the push service; let it listen elsewhere (-push-address), or name "+
			"the URL at which a front has it (-push-url)", "address", push)
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

// saleRole is the role of the workers that serve the sale.
const saleRole = "sale"

// processors is GOMAXPROCS of a worker: one thread for the event loop, one for everything off the order
// path. With more threads each process would pay for moving goroutines between them; the kernel balances the
// processes.
const processors = 2

func (s *supervisor) address() string { return s.processes.Address(saleRole) }

// run starts the store, opens the sale and runs all tasks until a signal. read is the result of readRooms.
func (s *supervisor) run(
	ctx context.Context, read map[string]any, hangups hangups, stdout io.Writer,
) (err error) {
	if s.store, err = startStore(ctx, s.cfg, s.folder); err != nil {
		return err
	}
	tasks := newTasks()
	defer func() { err = errors.Join(err, tasks.stop()) }()
	tasks.start(task{"store", s.store.run})
	workers, err := s.open(ctx, read)
	if err != nil {
		return err
	}
	tasks.start(s.tasks(workers)...)
	for ready := s.processes.Ready(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tasks.over:
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

// open opens the sale and makes the figures, the rooms and the metrics. It returns the handover to the first
// workers.
func (s *supervisor) open(ctx context.Context, read map[string]any) (workers supervise.Handover, err error) {
	sale, err := openSale(ctx, s.cfg, s.folder, s.store, read)
	if err != nil {
		return nil, err
	}
	if s.figures, err = figures.New(s.cfg.Workers + pushProcesses(s.cfg)); err != nil {
		return nil, err
	}
	warnOfNobody(s.cfg, read[operatorsRoom.name].(operatorList))
	sale.figures = s.figures.File()
	if s.desk, err = openDesk(); err != nil {
		return nil, err
	}
	sale.Address, sale.PushAddress, sale.Desk = s.address(), s.processes.Address(pushRole), s.desk.address()
	s.sale.Store(sale)
	if s.follower, err = redisx.Follow(ctx, s.store.redis, sale.Sale); err != nil {
		return nil, err
	}
	if err := s.keepRooms(ctx); err != nil {
		return nil, err
	}
	if workers, err = sale.pack(); err != nil {
		return nil, err
	}
	s.handedOver = ownFiles(workers)
	if s.opsListener != nil {
		s.metrics = s.newOps()
	}
	return workers, nil
}

// tasks returns all tasks but the store's, which starts first. They stop in the reverse order: first the
// workers, which drain into Redis, then the ledger, which writes their last orders, and last the store.
func (s *supervisor) tasks(workers supervise.Handover) []task {
	list := tasksOf(s.parts)
	if s.metrics != nil {
		list = append(list, task{"ops", s.metrics.Run})
	}
	return append(list, task{"next sale", s.followSales},
		task{"workers", func(ctx context.Context) error { return s.processes.Run(ctx, workers) }})
}

// hangups are the SIGHUPs of this process. If it has a terminal, the end of the terminal sends one too.
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

// endOfTerminal reports whether a SIGHUP came from the end of the terminal and does not ask to reload.
func (h hangups) endOfTerminal() bool { return h.terminal && !supervise.Attached() }

package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/presence"
	"flashsale/internal/rooms/push"
	"flashsale/internal/rooms/repeats"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/rooms/threads"
	"flashsale/internal/serve/listener"
	"flashsale/internal/supervise"
	"flashsale/redisx"
	"flashsale/tokens"
)

var pushRoom = room{
	name:  "push",
	keep:  (*supervisor).keepPush,
	read:  func(cfg *config.Config) (any, error) { return pushSecret{cfg.PushOfflineSecret}, nil },
	serve: (*worker).servePush,
}

// pushSecret is what the push process gets of the room's settings: no environment has it.
type pushSecret struct{ Offline string }

// pushRole is the role of the process that holds the websockets.
const pushRole = "push"

// pushProcesses is the number of these processes: they count in the slot behind those of the workers.
func pushProcesses(cfg *config.Config) int {
	if cfg.Chat {
		return 1
	}
	return 0
}

// roles are the roles of this server's processes.
func (s *supervisor) roles() []supervise.Role {
	list := []supervise.Role{{Name: saleRole, Count: s.cfg.Workers, Address: s.cfg.Address(),
		Setting: "-app-port (APP_PORT)", Processors: processors}}
	if n := pushProcesses(s.cfg); n > 0 {
		list = append(list, supervise.Role{Name: pushRole, Count: n, Address: s.cfg.PushAddress,
			Setting: "-push-address (PUSH_ADDRESS)"})
	}
	return list
}

// keepPush shows whether the process takes connections.
func (s *supervisor) keepPush(context.Context) (part, error) {
	if pushProcesses(s.cfg) == 0 {
		return part{}, nil
	}
	return part{figures: func(scrape *ops.Scrape) {
		slot := s.cfg.Workers // the one behind those of the workers
		scrape.SetFlag(figures.PushUp, slices.ContainsFunc(s.figures.Running(slot), func(g *figures.Gauges) bool {
			return g.PushUp.Value() > 0
		}))
	}}, nil
}

// servePush serves GET /push in the workers of the sale.
func (w *worker) servePush() (part, error) {
	if !w.cfg.Chat {
		return part{}, nil
	}
	return part{routes: handlers.Push(w.pushPlace(), push.Path, push.TicketLife)}, nil
}

func (w *worker) pushPlace() handlers.PushPlace {
	return handlers.PushPlace{Address: w.PushAddress, URL: w.cfg.PushURL}
}

// pusher is the process that holds the websockets.
type pusher struct {
	*opening
	cfg       *config.Config
	inherited *supervise.Worker
	count     *figures.Worker
	sessions  *sessions.Sessions
	accounts  *accounts.Accounts
	presence  *presence.Presence
	threads   *threads.Threads
	limits    *limits.Limiter  // nil where it is off
	repeats   *repeats.Counter // nil where it is off
	sale      *redisx.Sale
	push      *push.Server
	limiter   *listener.Limiter
	web       *http.Server
}

// runPush holds websockets until the supervisor sends a signal, as runWorker does.
func (p *program) runPush(ctx context.Context, cfg *config.Config, inherited *supervise.Worker) error {
	o, err := unpack(inherited)
	if err != nil {
		return err
	}
	count, err := joinFigures(o.figures, cfg.Workers+inherited.Slot)
	if err != nil {
		return err
	}
	p.log.count(&count.LogLinesDropped)
	w := &pusher{opening: o, cfg: cfg, inherited: inherited, count: count}
	if err := w.open(); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	tasks := newTasks()
	tasks.start(w.tasks()...)
	select {
	case <-ctx.Done():
	case <-tasks.over:
	}
	return tasks.stop()
}

func (w *pusher) tasks() []task {
	list := []task{{"sessions", w.sessions.Run}, {"accounts", w.accounts.Run}, {"presence", w.presence.Run},
		{"conversations", w.threads.Run}, {"redis", w.sale.Run}}
	if w.limits != nil {
		list = append(list, task{"limits", w.limits.Run})
	}
	if w.repeats != nil {
		list = append(list, task{"repeats", w.repeats.Run})
	}
	return append(list, task{"push", w.push.Run}, task{"sale of push", w.followSale},
		task{"limits of connections", w.limiter.Run}, task{"websockets", w.serve})
}

// guard makes the rooms that refuse messages, as in a worker.
func (w *pusher) guard() (err error) {
	if w.cfg.Repeats {
		if w.repeats, err = repeats.New(repeatsConfig(w.cfg, &w.handover)); err != nil {
			return err
		}
	}
	var rules limitRules
	if err := w.take("limits", &rules); err != nil || rules.Off {
		return err
	}
	w.limits = limits.New(limits.Config{Redis: w.Redis.Room(limits.HashTag), Rules: rules.Rules,
		Secret: w.Secrets[0], Users: w.catalog.Users(), UserOf: w.catalog.UserOf, AdminFrom: w.cfg.AdminFrom})
	return nil
}

// open makes the server.
func (w *pusher) open() error {
	keys, err := tokens.New(w.Sale, w.Secrets[0], w.Secrets[1:]...)
	if err != nil {
		return err
	}
	encryption, err := w.Certificate.TLS()
	if err != nil {
		return err
	}
	_, pagePort, err := net.SplitHostPort(w.Address)
	if err != nil {
		return err
	}
	var secret pushSecret
	if err := w.take("push", &secret); err != nil {
		return err
	}
	redis := w.Redis
	redis.Quiet, redis.Effect = true, "pushes of the sale wait"
	w.sale = redisx.Join(redis, w.Sale, len(w.catalog.Foods()), w.catalog.Users())
	w.sessions = sessions.New(sessionsConfig(&w.handover, w.cfg.TokenTTL))
	w.accounts = accounts.New(accountsConfig(w.cfg, w.opening, w.sessions))
	talk := threadsConfig(w.cfg, &w.handover)
	talk.Blocked = w.accounts.EitherBlocks
	if talk.Archive, err = w.archive(); err != nil {
		return err
	}
	w.threads = threads.New(talk)
	w.presence = presence.New(presenceConfig(&w.handover, w.count, w.accounts))
	if err := w.guard(); err != nil {
		return err
	}
	w.push, err = push.New(push.Config{
		Threads: w, Ticket: keys.Ticket, Ended: w.ended, Heartbeat: w.heartbeat, Redis: w.Redis.Spread(),
		Origins: splitOrigins(w.cfg.PushOrigins), PagePort: pagePort, TrustedProxies: w.cfg.TrustedProxies,
		Idle:        w.cfg.PushIdle,
		MessagesMax: w.recovered(talk.Archive != nil),
		OfflineURL:  w.cfg.PushOfflineURL, OfflineSecret: secret.Offline,
		Ordered: w.ordered, Figures: w.count,
	})
	if err != nil {
		return err
	}
	w.limiter = listener.NewLimiter(listener.Config{TLS: encryption, TrustedProxies: w.cfg.TrustedProxies,
		ConnsMax: w.cfg.MaxConns, ConnsPerAddressMax: w.cfg.MaxConnsPerIP, Figures: w.count,
		Refusal: []byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n" +
			"Content-Length: 0\r\nConnection: close\r\n\r\n")})
	w.web = listener.NewHTTPServer(w.push.Handler())
	return nil
}

// heartbeat answers as POST /presence does.
func (w *pusher) heartbeat(user uint32, _ []byte) ([]byte, error) {
	visible, contacts, err := w.presence.Heartbeat(user)
	return handlers.AppendPresence(nil, visible, contacts), err
}

// recoveredMax is how many messages a client that comes back gets at least from the archive.
const recoveredMax = 1000

// recovered is how many messages a client that comes back may get at most.
func (w *pusher) recovered(archived bool) int {
	if archived {
		return max(w.cfg.ChatMessages, recoveredMax)
	}
	return w.cfg.ChatMessages
}

// ended reports whether a session has ended, or its user has ended all of them after a moment.
func (w *pusher) ended(user, session uint32, since time.Time) bool {
	return w.sessions.IsEnded(sessions.User(user), session, since.Add(w.cfg.TokenTTL).Unix())
}

// splitOrigins returns the origins of -push-origins.
func splitOrigins(text string) (list []string) {
	for origin := range strings.SplitSeq(text, ",") {
		if origin = strings.ToLower(strings.TrimSpace(origin)); origin != "" {
			list = append(list, origin)
		}
	}
	return list
}

// serve takes connections until ctx ends, then closes them spread over most of -drain.
func (w *pusher) serve(ctx context.Context) error {
	_ = awaitRoom(ctx, w.push.Following, startWait) // it serves without, too
	if err := listener.BoundSends(w.inherited.Listener); err != nil {
		return err
	}
	socket := w.limiter.Listen(w.inherited.Listener)
	failed := make(chan error, 1)
	go func() { failed <- w.web.Serve(socket) }()
	if err := w.inherited.Ready(); err != nil {
		return err
	}
	slog.Info("push connections are taken", "address", w.PushAddress)
	w.count.PushUp.Set(1)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	w.count.PushUp.Set(0)
	end := time.Now().Add(w.cfg.Drain)
	socket.Close()
	err := w.push.Drain(time.Now().Add(w.cfg.Drain * 3 / 4))
	closing, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	return errors.Join(err, w.web.Shutdown(closing))
}

// followSale hands the stock and the state of the sale on.
func (w *pusher) followSale(ctx context.Context) error {
	w.sale.Snapshots(ctx, push.SaleEvery, func(found redisx.Snapshot) {
		w.push.PublishSale(string(found.State), found.Left, found.Orders)
	}, func() {})
	return nil
}

// ordered returns when a user placed the order of the sale.
func (w *pusher) ordered(user uint32) (time.Time, error) {
	order, err := w.sale.Order(user)
	return order.Placed, err
}

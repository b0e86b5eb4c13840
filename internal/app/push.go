package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/push"
	"flashsale/internal/rooms/threads"
	"flashsale/internal/serve/listener"
	"flashsale/internal/supervise"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/tokens"
)

var pushRoom = room{
	name:  "push",
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

// servePush serves GET /push in the workers of the sale.
func (w *worker) servePush() (part, error) {
	if !w.cfg.Chat {
		return part{}, nil
	}
	return part{routes: handlers.Push(w.PushAddress, push.Path, push.TicketLife)}, nil
}

// pusher is the process that holds the websockets.
type pusher struct {
	*opening
	cfg       *config.Config
	inherited *supervise.Worker
	count     *figures.Worker
	threads   *threads.Threads
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
	tasks.start(task{"conversations", w.threads.Run}, task{"redis", w.sale.Run}, task{"push", w.push.Run},
		task{"sale of push", w.followSale}, task{"limits of push", w.limiter.Run}, task{"websockets", w.serve})
	select {
	case <-ctx.Done():
	case <-tasks.over:
	}
	return tasks.stop()
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
	w.threads = threads.New(threads.Config{Redis: w.Redis.Spread(), Fanout: w.cfg.ChatFanout,
		MessagesMax: w.cfg.ChatMessages, AgeMax: w.cfg.ChatAge})
	w.push, err = push.New(push.Config{
		Threads: pushedThreads{w.threads, w.Sale}, Ticket: keys.Ticket, Redis: w.Redis.Spread(),
		Origins: strings.Split(w.cfg.PushOrigins, ","), PagePort: pagePort, Idle: w.cfg.PushIdle,
		MessagesMax: w.cfg.ChatMessages, OfflineURL: w.cfg.PushOfflineURL, OfflineSecret: secret.Offline,
		Ordered: w.ordered, Figures: w.count,
	})
	if err != nil {
		return err
	}
	w.limiter = listener.NewLimiter(listener.Config{TLS: encryption, TrustedProxies: w.cfg.TrustedProxies,
		Figures: w.count, Refusal: []byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n" +
			"Content-Length: 0\r\nConnection: close\r\n\r\n")})
	w.web = listener.NewHTTPServer(w.push.Handler())
	return nil
}

// serve takes connections until ctx ends, then closes them spread over most of -drain.
func (w *pusher) serve(ctx context.Context) error {
	for begin := time.Now(); !w.push.Following() && time.Since(begin) < startWait && ctx.Err() == nil; {
		time.Sleep(followLook)
	}
	socket := w.limiter.Listen(w.inherited.Listener)
	failed := make(chan error, 1)
	go func() { failed <- w.web.Serve(socket) }()
	if err := w.inherited.Ready(); err != nil {
		return err
	}
	slog.Info("push connections are taken", "address", w.PushAddress)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end := time.Now().Add(w.cfg.Drain)
	socket.Close()
	err := w.push.Drain(time.Now().Add(w.cfg.Drain * 3 / 4))
	closing, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	return errors.Join(err, w.web.Shutdown(closing))
}

const followLook = 5 * time.Millisecond

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

// pushedThreads are the threads as the push service wants them.
type pushedThreads struct {
	*threads.Threads
	sale string
}

// MayRead makes the room of the sale when it is asked for: everybody may read it.
func (t pushedThreads) MayRead(thread string, user uint32) (bool, error) {
	may, err := t.Threads.MayRead(thread, user)
	if err == nil && !may && thread == threads.RoomID(t.sale) {
		_, err = t.ShowRoom(t.sale)
		may = err == nil
	}
	return may, err
}

func (t pushedThreads) Post(thread string, by uint32, clientID, content string) (push.Message, error) {
	m, err := t.Threads.Post(thread, by, clientID, content)
	return pushedMessage(m), pushedError(err)
}

func (t pushedThreads) History(thread string, after uint64, limit int) (push.History, error) {
	past, err := t.Threads.History(thread, int64(after), limit)
	h := push.History{Epoch: past.Epoch, Last: uint64(past.Last)}
	for _, m := range past.Messages {
		h.Messages = append(h.Messages, pushedMessage(m))
	}
	return h, pushedError(err)
}

func (t pushedThreads) Of(user uint32) ([]string, error)               { return t.Listed(user) }
func (t pushedThreads) Members(thread string) (map[uint32]bool, error) { return t.Readers(thread) }

func (t pushedThreads) Now() (push.Positions, error) {
	p, err := t.Newest()
	return push.Positions(p), err
}

func (t pushedThreads) Tail(ctx context.Context, from push.Positions, do func(push.Entry)) error {
	return t.Threads.Tail(ctx, threads.Positions(from), func(e threads.Entry) {
		do(push.Entry{Part: e.Part, Position: e.Position, What: push.What(e.Event), Thread: e.Thread,
			Large: e.Large, User: e.User, Message: pushedMessage(e.Message)})
	})
}

func pushedMessage(m threads.Message) push.Message {
	return push.Message{ID: uint64(m.ID), Thread: m.Thread, User: m.User, Content: m.Content,
		Created: m.Created, Erased: m.Removed}
}

// pushedError is the outcome of the push service for one of the threads.
func pushedError(err error) error {
	switch {
	case err == nil, errors.Is(err, pipeline.ErrUnavailable):
		return err
	case errors.Is(err, threads.ErrNoThread), errors.Is(err, threads.ErrNotMember),
		errors.Is(err, threads.ErrMuted), errors.Is(err, threads.ErrBlocked):
		return push.ErrDenied
	case errors.Is(err, threads.ErrPace):
		return push.ErrTooMany
	}
	return fmt.Errorf("%w: %w", push.ErrRefused, err)
}

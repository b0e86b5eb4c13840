// Package push is the push and channel service: clients hold a websocket and speak Centrifugo's protocol
// (JSON). The history of a channel is the stored thread: a message is stored first, then this service reads
// it from the log of the threads and delivers it, so what a client recovers is what is stored.
//
// It runs in a process of its own and keeps nothing: who is connected is in memory only. It must not touch
// the order path. It is slow where a client subscribes or publishes: one round trip to Redis each.
package push

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"flashsale/internal/background"
	"flashsale/internal/observe/figures"
	"flashsale/redisx/pipeline"
)

// Limits that clients meet.
const (
	TicketLife     = time.Minute // of a ticket: the time to connect
	connectionLife = time.Hour   // then the client refreshes with a new ticket
	frameMax       = 64 << 10    // bytes of what a client sends: it subscribes to all its channels in one frame
	queueMax       = 256 << 10   // bytes that wait for a client; one with more is cut off
	writeTimeout   = 5 * time.Second
	pingInterval   = 25 * time.Second
	pongTimeout    = 10 * time.Second
	idleLook       = 10 * time.Second
	endedLook      = time.Second / 2
	endedLag       = time.Second     // until all workers know that a user's tokens have ended
	connectMax     = 5 * time.Second // for the first command of a connection
	devicesMax     = 32              // connections of a user to one server
	channelsMax    = 128             // of a connection
	beatPace       = time.Second     // between two heartbeats of a connection, after the first beatsBurst
	beatsBurst     = 5
	readPace       = time.Second / 20 // between two commands that read the store, after the first readsBurst
	readsBurst     = 2 * channelsMax  // a client that comes back subscribes to all at once, and reads
	historyMax     = 100              // messages in the reply to a history command
)

// Config is what the service needs.
type Config struct {
	Threads Threads
	// Ticket returns the user of a ticket and its end, Unix seconds.
	Ticket func(ticket []byte) (user, session uint32, expires int64, ok bool)
	// Ended reports whether a session has ended, or its user has ended all of them after a moment; nil: nobody
	// does.
	Ended func(user, session uint32, since time.Time) bool
	// Heartbeat answers the RPC "presence"; nil: there is none.
	Heartbeat func(user uint32, data []byte) (reply []byte, err error)

	// Ordered returns when a user placed the order of the sale, zero without one; nil: nobody is told of
	// orders.
	Ordered func(user uint32) (time.Time, error)

	Redis       []pipeline.Config // of the parts, see redisx.Config.Spread
	Origins     []string          // of pages that may connect, besides those of this host
	PagePort    string            // of the sale's port: its page may connect
	Idle        time.Duration     // without activity until a client has to go on by polling; 0: never
	MessagesMax int               // of a thread that the store keeps
	Rate        int               // handshakes a second at most; 0: handshakeRate

	TrustedProxies []netip.Prefix // of which the header is believed; they have the handshakes of many clients

	OfflineURL    string // gets a post for a message to a user who is not connected; "" for none
	OfflineSecret string

	Figures *figures.Worker
	Now     func() time.Time // nil: time.Now
}

// Server is one server of the service.
type Server struct {
	cfg        Config
	id         string // of this process
	node       *centrifuge.Node
	histories  *histories
	audience   audience
	registry   *registry
	offline    *offline // nil without a hook
	gate       gate     // of handshakes
	recoveries recoveries
	sale       saleView
	following  atomic.Bool
}

// New makes a Server. Run must run before it serves.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Figures == nil {
		cfg.Figures = figures.Private()
	}
	s := &Server{cfg: cfg, id: rand.Text(),
		sale: saleView{buyers: map[uint32]struct{}{}}, recoveries: recoveries{users: map[uint32]int{}}}
	s.gate, s.histories = newGate(&s.cfg), newHistories(&s.cfg)
	s.audience = audience{of: cfg.Threads.Of, now: cfg.Now, users: map[uint32]*hearer{},
		members: map[string]map[uint32]struct{}{}}
	s.registry = newRegistry(s)
	if cfg.OfflineURL != "" {
		var err error
		if s.offline, err = newOffline(s); err != nil {
			return nil, err
		}
	}
	return s, s.makeNode()
}

// makeNode makes centrifuge's part.
func (s *Server) makeNode() (err error) {
	s.node, err = centrifuge.New(centrifuge.Config{
		LogLevel: centrifuge.LogLevelError, LogHandler: logOf, ClientQueueMaxSize: queueMax,
		ClientChannelLimit: channelsMax, UserConnectionLimit: devicesMax, ClientStaleCloseDelay: connectMax,
		ChannelMaxLength: len(threadPrefix) + threadIDMax, HistoryMaxPublicationLimit: historyMax,
		// Its own figures are counted nowhere: the room has its own.
		Metrics: centrifuge.MetricsConfig{RegistererGatherer: prometheus.NewRegistry()},
	})
	if err != nil {
		return err
	}
	s.node.SetBroker(broker{s})
	s.handle()
	return s.node.Run()
}

func logOf(e centrifuge.LogEntry) {
	fields := make([]any, 0, 2*len(e.Fields))
	for name, value := range e.Fields {
		fields = append(fields, name, value)
	}
	slog.Error("push: "+e.Message, fields...)
}

// Run follows the logs of the threads and does the other work behind the connections, until ctx ends. It
// returns nil then.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.follow(ctx) })
	group.Go(func() error { return s.registry.run(ctx) })
	group.Go(func() error {
		background.Every(ctx, windowKept/3, s.histories.sweep)
		return nil
	})
	if s.cfg.Ended != nil {
		group.Go(func() error {
			background.Every(ctx, endedLook, s.closeEnded)
			return nil
		})
	}
	if s.cfg.Idle > 0 {
		group.Go(func() error {
			background.Every(ctx, idleLook, s.closeIdle)
			return nil
		})
	}
	if s.offline != nil {
		group.Go(func() error { return s.offline.run(ctx) })
	}
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Following reports whether the logs are followed. Nobody may connect before.
func (s *Server) Following() bool { return s.following.Load() }

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/provider"
)

const (
	resumeMax  = 2 * time.Second // promised: from the end of a fault until every server serves again
	refusalMax = time.Minute     // from the start of a fault until a server feels it
)

// setup is the stack that a drill needs.
type setup struct {
	servers int  // of one sale, at least 1
	probes  int  // of each server; 0 is 1
	buyers  int  // of the load, at once; 0 is buyersDefault
	own     bool // the server's own redis-server, in its data folder, instead of the drill's
	// the servers reach Redis over TCP through the proxy, else by its unix socket; the nodes of a cluster reach
	// each other through proxies too
	proxied  bool
	everysec bool   // appendfsync everysec instead of always
	disk     bool   // the data of Redis lies on a small file system of its own
	clock    bool   // the servers' clock can be made to jump
	skews    bool   // the clock of one master can be made to jump
	released bool   // the last server is the last released version
	tls      bool   // the servers speak TLS; probes, load and pipelining do, other drills do not
	asides   bool   // servers beside those of the load, which the drill starts
	masters  int    // of a Redis Cluster, in place of one Redis; 0: one Redis
	replicas int    // of each master
	ack      string // -ack of the servers; "" is local
	stock    int    // of each food; 0 is stockDefault
	talk     string // flags of the load of the conversation; "": the servers have none
	ledger   bool   // the servers have a database, -ledger, and Redis keeps few messages
	hold     bool   // orders are held until they are paid, at a provider that the drill plays
	patient  bool   // the servers wait longer for Redis: no 503 because the machine is busy
}

// merge is a stack for both drills of a pair. Drills with further needs are in no pair.
func (c setup) merge(with setup) setup {
	return setup{servers: max(c.servers, with.servers), proxied: c.proxied || with.proxied,
		disk: c.disk || with.disk, clock: c.clock || with.clock}
}

// workers is the number for each server: several servers share the processors of one machine.
func (c setup) workers() int {
	if c.servers > 1 {
		return 1
	}
	return 2
}

// stack is everything that runs for one drill.
type stack struct {
	setup      setup
	folder     string
	long       bool          // more and longer faults
	valkey     bool          // the nodes of a cluster are valkey-server
	heldOrders int           // of the drill holds
	paired     bool          // another fault goes on at the same time
	slack      time.Duration // times each promised time

	disk    *disk
	clock   *launch.Clock
	redis   *redis
	cluster *cluster
	proxy   *launch.Proxy
	books   *books
	servers []*server
	probes  *probes
	load    *load
	talk    *talk
	alarms  *alarms
	asides  *asides

	provider *provider.Provider // of payments; nil without -hold

	mu      sync.Mutex    // two faults of a pair write what follows
	mayLose int           // acknowledged orders in data that the drill destroyed
	own     int           // orders that the drill has placed beside the load
	resumed time.Duration // the longest wait for service after a fault
	notes   []string      // what a reader of the result should know
	broken  []string      // broken promises, beside those that are judged at the end
}

// note adds a line to the result.
func (s *stack) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// breaks adds a broken promise to the result, the same words once; the drill goes on.
func (s *stack) breaks(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.broken, text) {
		s.broken = append(s.broken, text)
	}
}

// destroyed counts orders that the drill itself took from Redis: the audit may miss that many.
func (s *stack) destroyed(orders int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mayLose += orders
}

// ordered counts orders that the drill has placed beside the load: bench knows nothing of them.
func (s *stack) ordered(orders int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own += orders
}

// startStack starts Redis, proxy and servers and returns once all serve. The stack must be stopped, after an
// error too.
func startStack(ctx context.Context, c setup, a *alarms, opt *options) (*stack, error) {
	s := &stack{setup: c, alarms: a, long: opt.long, valkey: opt.valkey,
		slack: time.Duration(opt.slack), heldOrders: opt.holds}
	var err error
	if s.folder, err = os.MkdirTemp("", "drill"); err != nil {
		return s, fmt.Errorf("cannot make a folder for the drill: %w", err)
	}
	address, err := s.startRedis(ctx)
	if err != nil {
		return s, err
	}
	program, env, err := s.serverProgram(ctx)
	if err != nil {
		return s, err
	}
	if c.hold {
		if s.provider, err = provider.Start(provider.Config{Secret: paymentSecret, Key: "drill"}); err != nil {
			return s, err
		}
		env = append(env, "HOLD="+holdTime, "PAYMENT="+s.provider.Flag(), "PAYMENT_KEY=drill",
			"PAYMENT_SECRETS="+paymentSecret, "LIMITS=off")
	}
	if c.ledger {
		if s.books, err = openBooks(ctx, s.folder); err != nil {
			return s, err
		}
		env = append(env, "LEDGER="+s.books.source())
	}
	for i := range c.servers {
		if c.released && i == c.servers-1 {
			if program, err = buildReleased(ctx); err != nil {
				return s, err
			}
		}
		if err := s.startServer(ctx, i, program, address, env); err != nil {
			return s, err
		}
	}
	s.probes, err = startProbes(ctx, s.servers, max(c.probes, 1))
	return s, err
}

// resumeMax is promised: from the end of a fault, or from a promotion, until every server serves again.
func (c setup) resumeMax() time.Duration {
	if c.masters > 0 {
		return promotedMax
	}
	return resumeMax
}

// startServer starts a server, and returns once it serves.
func (s *stack) startServer(ctx context.Context, i int, program, redis string, env []string) error {
	one, err := newServer(program, s.folder, i+1, s.setup, redis, s.alarms.prometheus.targets[i], env)
	if err != nil {
		return err
	}
	s.servers = append(s.servers, one)
	if s.setup.own {
		s.redis.owner = one
	}
	if err := one.start(); err != nil {
		return err
	}
	return one.awaitReady(ctx)
}

// serverProgram is the program of the servers and what it needs in the environment.
func (s *stack) serverProgram(ctx context.Context) (path string, env []string, err error) {
	if !s.setup.clock {
		path, err = launch.Build(ctx, launch.ServerSource)
		return path, nil, err
	}
	if path, err = launch.BuildWithClock(ctx, launch.ServerSource); err != nil {
		if errors.Is(err, launch.ErrNoClock) {
			err = fmt.Errorf("%w: %w", errImpossible, err)
		}
		return "", nil, err
	}
	s.clock, err = launch.NewClock(s.folder)
	return path, s.clock.Env(), err
}

// startRedis starts the drill's Redis, with disk and proxy if need be, and returns the servers' -redis: ""
// if the server starts its own, in its data folder.
func (s *stack) startRedis(ctx context.Context) (address string, err error) {
	folder := filepath.Join(s.folder, "redis")
	if s.setup.own {
		folder = filepath.Join(s.folder, serverName(1))
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the folder of Redis: %w", err)
	}
	if s.setup.masters > 0 {
		return s.startCluster(ctx, folder)
	}
	if s.setup.disk {
		if s.disk, err = newDisk(folder); err != nil {
			return "", err
		}
	}
	if s.setup.own {
		s.redis = &redis{folder: folder, socket: filepath.Join(folder, "redis.sock")}
		return "", nil
	}
	if s.redis, err = startRedis(ctx, folder, s.setup); err != nil {
		return "", err
	}
	if !s.setup.proxied {
		return s.redis.socket, nil
	}
	if s.proxy, err = launch.StartProxy("unix", s.redis.socket); err != nil {
		return "", err
	}
	return s.proxy.Address(), nil
}

// stop ends everything, in the opposite order of the start.
func (s *stack) stop() {
	if s.load != nil {
		s.load.run.Kill()
	}
	if s.talk != nil {
		s.talk.run.Kill()
	}
	if s.probes != nil {
		s.probes.stop()
	}
	if s.asides != nil {
		s.asides.stop()
	}
	for _, server := range s.servers {
		server.stop()
	}
	if s.redis != nil && s.redis.service != nil {
		s.redis.service.stop()
	}
	if s.cluster != nil {
		s.cluster.stop()
	}
	if s.proxy != nil {
		s.proxy.Stop()
	}
	if s.books != nil {
		s.books.Kill()
	}
	if s.provider != nil {
		s.provider.Close()
	}
	if s.disk != nil {
		s.disk.remove()
	}
}

// logs is the end of every log, for a drill that failed.
func (s *stack) logs() string {
	var text strings.Builder
	files, _ := filepath.Glob(filepath.Join(s.folder, "*.log")) // only a wrong pattern fails
	own, _ := filepath.Glob(filepath.Join(s.folder, "*", "redis.log"))
	nodes, _ := filepath.Glob(filepath.Join(s.folder, "*", "*", "log"))
	for _, file := range slices.Concat(files, own, nodes) {
		content, err := os.ReadFile(file)
		if err != nil {
			content = []byte(err.Error())
		}
		name := strings.TrimPrefix(file, s.folder+"/")
		fmt.Fprintf(&text, "--- %s\n%s\n", name, content[max(0, len(content)-logShown):])
	}
	return text.String()
}

// awaitService demands that every server serves again, within resumeMax from now.
func (s *stack) awaitService(ctx context.Context) error {
	if s.paired {
		background.Pause(ctx, resumeMax/4) // the other fault may go on: service is promised after both
		return nil
	}
	return s.measureResumption(ctx)
}

func (s *stack) measureResumption(ctx context.Context) error {
	took, err := s.probes.resumption(ctx)
	s.resumed = max(s.resumed, took)
	return err
}

// awaitRefusals returns once a server has answered 503: then the fault has reached it.
func (s *stack) awaitRefusals(ctx context.Context) error {
	before := s.probes.refusals()
	return testkit.Await(ctx, "503 although the fault is there", refusalMax, func() bool {
		return s.probes.refusals() > before
	})
}

func needsDisk(turns []turn) bool {
	for _, t := range turns {
		if t.drill.setup.disk {
			return true
		}
	}
	return false
}

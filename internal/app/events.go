package app

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"flashsale/handlers"
	"flashsale/internal/background"
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/events"
	"flashsale/redisx"
)

const (
	webhooksLook = 5 * time.Second     // between two looks how the receivers do, for the figures
	salesBefore  = events.SalesMax - 1 // whose events are still delivered
)

// eventsName is the name of the room.
const eventsName = "events"

var eventsRoom = room{
	name:   eventsName,
	read:   func(cfg *config.Config) (any, error) { return readWebhooks(cfg.Webhooks) },
	again:  func(cfg *config.Config) bool { return cfg.Webhooks != "" },
	readAs: "webhooks",
	keep:   (*supervisor).keepEvents,
	serve:  (*worker).serveEvents,
}

func readWebhooks(path string) ([]events.Receiver, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read -webhooks (WEBHOOKS): %w", err)
	}
	defer file.Close()
	list, err := events.ReadReceivers(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read -webhooks (WEBHOOKS) %s: %w", path, err)
	}
	return list, nil
}

// webhooks are the receivers of the file that was read last.
func (o *opening) webhooks() []events.Receiver { return o.rooms[eventsName].([]events.Receiver) }

// hasEvents reports whether the sale tells events over HTTP: it is switched on by -hold or -webhooks.
func (o *opening) hasEvents(cfg *config.Config) bool { return o.Redis.Hold > 0 || cfg.Webhooks != "" }

// eventsKeeper delivers the events of the sale that is served, and what is left of those before it.
type eventsKeeper struct {
	cfg     *config.Config
	server  string
	changed chan struct{} // what follows has changed

	mu        sync.Mutex
	redis     redisx.Config
	sale      string
	previous  []string // the last one first
	receivers []events.Receiver
	counts    map[string]*[3]int // by receiver and outcome
	states    []events.State
}

// keepEvents makes the part that posts events to the receivers.
func (s *supervisor) keepEvents(ctx context.Context) (part, error) {
	o := s.serving()
	if !o.hasEvents(s.cfg) {
		return part{}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return part{}, fmt.Errorf("cannot name this server for the webhooks: %w", err)
	}
	marker, err := redisx.ReadMarker(ctx, o.Redis)
	if err != nil {
		return part{}, err
	}
	k := &eventsKeeper{cfg: s.cfg, server: host + " " + s.address(), changed: make(chan struct{}, 1),
		redis: o.Redis, sale: o.Sale, counts: map[string]*[3]int{}}
	k.receivers = o.webhooks()
	k.previous = marker.Previous[:min(len(marker.Previous), salesBefore)]
	return part{run: k.run, followed: k.follow, reloaded: k.reload, figures: k.show}, nil
}

// follow makes run go on with the next sale, too.
func (k *eventsKeeper) follow(o *opening) {
	k.change(func() {
		k.previous = append([]string{k.sale}, k.previous[:min(len(k.previous), salesBefore-1)]...)
		k.sale = o.Sale
	})
}

// reload makes run use the receivers of the file that was read again.
func (k *eventsKeeper) reload(o *opening) {
	k.change(func() { k.receivers = o.webhooks() })
}

func (k *eventsKeeper) change(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// run delivers until ctx ends, and begins anew after each change.
func (k *eventsKeeper) run(ctx context.Context) error {
	for ctx.Err() == nil {
		delivering, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- k.deliver(delivering) }()
		select {
		case <-k.changed:
		case <-ctx.Done():
		}
		stop()
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

// deliver delivers the events of all sales until ctx ends.
func (k *eventsKeeper) deliver(ctx context.Context) error {
	k.mu.Lock()
	sales, receivers := append([]string{k.sale}, k.previous...), k.receivers
	k.mu.Unlock()
	streams := events.Join(k.redis, sales[0])
	var senders []*events.Sender
	for n, sale := range sales {
		sender, err := events.NewSender(streams.Of(sale), events.Config{Server: k.server, Receivers: receivers,
			Private: k.cfg.WebhooksPrivate, Ended: n > 0, Count: k.count})
		if err != nil {
			return err
		}
		senders = append(senders, sender)
	}
	background.Beside(streams.Run, func() {
		var running sync.WaitGroup
		for _, sender := range senders {
			running.Go(func() { _ = sender.Run(ctx) }) // nil
		}
		k.watch(ctx, events.NewWebhooks(streams, receivers, false))
		running.Wait()
	})
	return nil
}

// watch notes how the receivers do.
func (k *eventsKeeper) watch(ctx context.Context, webhooks *events.Webhooks) {
	background.Every(ctx, webhooksLook, func() {
		states, err := webhooks.List()
		if err != nil {
			return // the Redis client logs that Redis is away
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.states = states
	})
}

func (k *eventsKeeper) count(receiver string, outcome events.Outcome, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.counts[receiver] == nil {
		k.counts[receiver] = &[3]int{}
	}
	k.counts[receiver][outcome] += n
}

func (k *eventsKeeper) show(scrape *ops.Scrape) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.receivers {
		counts := k.counts[r.Name]
		if counts == nil {
			counts = &[3]int{}
		}
		for outcome, name := range []string{"delivered", "dead", "lost"} {
			scrape.Set(figures.WebhookEvents, float64(counts[outcome]), r.Name, name)
		}
	}
	for _, state := range k.states {
		scrape.Set(figures.WebhookBehind, float64(state.Behind), state.Name)
		age := 0.0
		if !state.Oldest.IsZero() {
			age = figures.Age(state.Oldest, scrape.Now)
		}
		scrape.Set(figures.WebhookAge, age, state.Name)
		scrape.Set(figures.WebhookDead, float64(state.Dead), state.Name)
		scrape.SetFlag(figures.WebhookOff, state.Off, state.Name)
	}
}

// serveEvents serves the events, and how the receivers do.
func (w *worker) serveEvents() (part, error) {
	if !w.hasEvents(w.cfg) {
		return part{}, nil
	}
	var receivers []events.Receiver
	if err := w.take(eventsName, &receivers); err != nil {
		return part{}, err
	}
	streams := events.Join(w.Redis, w.Sale)
	reader := events.NewReader(streams)
	var webhooks *events.Webhooks
	if w.cfg.Webhooks != "" {
		webhooks = events.NewWebhooks(streams, receivers, w.cfg.WebhooksPrivate)
	}
	run := func(ctx context.Context) error {
		var err error
		background.Beside(streams.Run, func() {
			streams.Open(ctx)
			err = reader.Run(ctx)
		})
		return err
	}
	return part{run: run, up: streams.IsOpen, routes: handlers.Events(reader, webhooks),
		stop: func(time.Time) { reader.End() }}, nil
}

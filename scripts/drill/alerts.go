package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// roomFault is a fault of a room. No fault hides another, so all last at the same time, while the site is
// broken.
type roomFault struct {
	alert      string
	begin, end func(*asides, context.Context) error // nil where there is nothing to do
}

var roomFaults = []roomFault{
	{"LedgerBehind",
		func(a *asides, _ context.Context) error { a.database.Kill(); return nil },
		func(a *asides, ctx context.Context) error { return a.database.Launch(ctx) }},
	{"BlocklistStale", nil, nil},
	{"VKRepliesWait",
		func(a *asides, _ context.Context) error { return a.message(goodGroup, "while VK is away", 1) },
		func(a *asides, _ context.Context) error { return a.message(goodGroup, "while VK is there", 1) }},
	{"TrafficDropsHits", (*asides).floodKeys, nil},
	{"TrafficKeysFull", (*asides).awaitFlood, (*asides).deleteKeys},
	{"RepeatsFull", (*asides).fillRepeats, nil},
	// These come last: clients of the drill do not know the new certificate.
	{"CertificateExpires", nil, (*asides).renew},
	{"VKTokenRefused", nil, func(a *asides, ctx context.Context) error {
		return testkit.Await(ctx, "reply that waited for a new token", refusalMax, func() bool {
			return a.site.took(refusedPeer)
		})
	}},
}

// saleAlerts are the alerts for a crowd and for buyers who stay away.
var saleAlerts = []string{"ConnectionsNearLimit", "QueueNearLimit", "RefusalsHigh", "SaleHasNoOrders"}

// refusedTime is how long only checks are refused and the sale is paused: the shortened windows and waiting
// times of the alerts that must not fire then.
const refusedTime = 10 * time.Second

// alertsFire makes all faults that no other drill makes, beside a load that must not notice, and waits until
// the alert of each has fired and cleared.
func alertsFire(ctx context.Context, s *stack, _ *rand.Rand) error {
	a := s.asides
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	defer root.HangUp()
	if err := a.twoGroups(ctx); err != nil {
		return err
	}
	// The ledger must be behind when its database is killed, so kill the database soon after orders.
	if err := s.changeState(ctx, root, "paused"); err != nil {
		return err
	}
	list := s.watchFor(saleAlerts...)
	a.site.broken.Store(true)
	var faults errgroup.Group
	for _, fault := range roomFaults {
		one := s.watchFor(fault.alert)[0]
		list = append(list, one)
		faults.Go(func() error { return one.standsUntilFired(ctx, a, fault.begin) })
	}
	err = a.refuseChecks(ctx)
	if err == nil {
		err = s.demandUnseen(ctx, list[:len(saleAlerts)])
	}
	if err == nil {
		err = s.changeState(ctx, root, "open")
	}
	if err == nil {
		err = s.stayAway(ctx, a, list[:len(saleAlerts)])
	}
	if failed := faults.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return a.repair(ctx, list)
}

// watchFor begins to watch for alerts of any server.
func (s *stack) watchFor(alerts ...string) (list []*alarms) {
	for _, name := range alerts {
		one := &alarms{prometheus: s.alarms.prometheus, servers: serversMax, expected: name}
		one.begin()
		list = append(list, one)
	}
	return list
}

// standsUntilFired begins a fault and returns once its alert has fired.
func (a *alarms) standsUntilFired(
	ctx context.Context, where *asides, begin func(*asides, context.Context) error,
) error {
	if begin != nil {
		if err := begin(where, ctx); err != nil {
			return fmt.Errorf("%s: %w", a.expected, err)
		}
	}
	return a.awaitFired(ctx)
}

// refuseChecks has a program ask whether something may happen, more often than its rule allows.
func (a *asides) refuseChecks(ctx context.Context) error {
	program := a.client()
	defer program.HangUp()
	refused := 0
	for end := time.Now().Add(refusedTime); time.Now().Before(end) && ctx.Err() == nil; {
		r, err := program.Do("POST", "/limits/check", `{"event":"`+askedEvent+`","features":{"user":"x"}}`)
		if err != nil {
			return err
		}
		if r.Status == http.StatusTooManyRequests {
			refused++
		}
		background.Pause(ctx, probePace)
	}
	a.s.note("before: %d refused checks, and a sale that was paused", refused)
	return nil
}

// demandUnseen demands that no alert of the list has fired so far.
func (s *stack) demandUnseen(ctx context.Context, list []*alarms) error {
	for _, one := range list {
		found, err := one.seen(ctx)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			s.breaks("the alert %s fired before its fault", one.expected)
		}
		one.begin()
	}
	return nil
}

// stayAway stops the buyers of the load, while a crowd keeps the small server busy, until the alerts of both
// have fired.
func (s *stack) stayAway(ctx context.Context, a *asides, list []*alarms) error {
	if err := s.load.run.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = s.load.run.Signal(syscall.SIGCONT) }() // fails only when bench has ended
	user := newShopper(a.crowded.address, firstNewcomer)
	if err := user.login(); err != nil {
		return err
	}
	cart, err := user.NewCart()
	if err != nil {
		return err
	}
	crowd := make([]*shopper, crowdedMax*95/100)
	for i := range crowd {
		crowd[i] = user
	}
	a.network.Set(launch.Slow)
	crowding, disperse := context.WithCancel(ctx)
	ended := make(chan *tide, 1)
	go func() {
		ended <- s.run(crowding, flood{crowd: crowdOf(crowd), right: []answer{"204", "503 SERVICE_UNAVAILABLE"},
			next: func(int, int) call {
				background.Pause(crowding, crowdedPause) // a client that is refused at once comes again at once
				return addTo(cart, item(1, -1))
			}}, turnMax, 0)
	}()
	var fired errgroup.Group
	for _, one := range list {
		fired.Go(func() error { return one.awaitFired(ctx) })
	}
	err = fired.Wait()
	disperse()
	s.note("the crowd: %d requests", (<-ended).sent)
	a.network.Set(launch.Passes)
	return err
}

// repair ends all faults and returns once all alerts have cleared.
func (a *asides) repair(ctx context.Context, list []*alarms) error {
	a.site.broken.Store(false)
	for _, fault := range roomFaults {
		if fault.end != nil {
			if err := fault.end(a, ctx); err != nil {
				return err
			}
		}
	}
	var all errgroup.Group
	for _, one := range list {
		all.Go(func() error {
			err := one.awaitCleared(ctx)
			a.s.note("%s: seen after %s, its end after %s", one.expected, seconds(one.fired),
				seconds(time.Since(one.since)))
			return err
		})
	}
	return all.Wait()
}

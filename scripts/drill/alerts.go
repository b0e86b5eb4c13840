package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

// roomFault is a fault of a room. No fault hides another, so all last at the same time, while the site is
// broken.
type roomFault struct {
	alerts     []string
	begin, end func(*asides, context.Context) error // nil where there is nothing to do
}

var roomFaults = []roomFault{
	{[]string{"BlocklistStale"}, nil, nil},
	{[]string{"VKRepliesWait"},
		func(a *asides, _ context.Context) error { return a.message(goodGroup, "while VK is away", 1) },
		func(a *asides, _ context.Context) error { return a.message(goodGroup, "while VK is there", 1) }},
	{[]string{"TrafficDropsHits", "TrafficKeysFull"}, (*asides).floodKeys, (*asides).deleteKeys},
	{[]string{"RepeatsFull"}, (*asides).fillRepeats, nil},
	{[]string{"PushDropsClients", "OfflinePostsLost"}, (*asides).floodPushes, nil},
	// These come last: clients of the drill do not know the new certificate.
	{[]string{"CertificateExpires"}, nil, (*asides).renew},
	{[]string{"VKTokenRefused"}, nil, func(a *asides, ctx context.Context) error {
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
	if err := s.startAsides(ctx); err != nil {
		return err
	}
	a := s.asides
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	defer root.HangUp()
	if err := a.twoGroups(ctx); err != nil {
		return err
	}
	if err := s.changeState(ctx, root, "paused"); err != nil {
		return err
	}
	a.site.broken.Store(true)
	sale := s.watchFor(saleAlerts)
	list := sale
	var faults errgroup.Group
	for _, fault := range roomFaults {
		own := s.watchFor(fault.alerts)
		list = append(list, own...)
		faults.Go(func() error {
			if fault.begin != nil {
				if err := fault.begin(a, ctx); err != nil {
					return fmt.Errorf("%v: %w", fault.alerts, err)
				}
			}
			return allFired(ctx, own)
		})
	}
	faults.Go(func() error { return s.saleFaults(ctx, root, sale) })
	if err := faults.Wait(); err != nil {
		return err
	}
	return a.repair(ctx, list)
}

// watchFor begins to watch for alerts of any server.
func (s *stack) watchFor(alerts []string) (list []*alarms) {
	for _, name := range alerts {
		one := &alarms{prometheus: s.alarms.prometheus, servers: serversMax, expected: name}
		one.begin()
		list = append(list, one)
	}
	return list
}

// allFired returns once all alerts of a list have fired.
func allFired(ctx context.Context, list []*alarms) error {
	return inParallel(len(list), func(i int) error { return list[i].awaitFired(ctx) })
}

// saleFaults has the alerts for the sale fire, though not while it is paused.
func (s *stack) saleFaults(ctx context.Context, root *client.Client, list []*alarms) error {
	if err := s.asides.refuseChecks(ctx); err != nil {
		return err
	}
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
	if err := s.changeState(ctx, root, "open"); err != nil {
		return err
	}
	return s.stayAway(ctx, list)
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

// stayAway stops the buyers of the load, while a crowd keeps the small server busy, until the alerts of both
// have fired.
func (s *stack) stayAway(ctx context.Context, list []*alarms) error {
	a := s.asides
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
	crowd := crowdOf(slices.Repeat([]*shopper{user}, crowdedMax*95/100))
	a.network.Set(launch.Slow)
	crowding, disperse := context.WithCancel(ctx)
	ended := make(chan *tide, 1)
	go func() {
		ended <- s.run(crowding, flood{crowd: crowd, right: []answer{"204", "503 SERVICE_UNAVAILABLE"},
			next: func(int, int) call {
				background.Pause(crowding, crowdedPause) // a client that is refused at once comes again at once
				return addTo(cart, item(1, -1))
			}}, turnMax, 0)
	}()
	err = allFired(ctx, list)
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
	return inParallel(len(list), func(i int) error {
		err := list[i].awaitCleared(ctx)
		a.s.note("%s: seen after %s, its end after %s", list[i].expected, seconds(list[i].fired),
			seconds(time.Since(list[i].since)))
		return err
	})
}

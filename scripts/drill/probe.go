package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
)

const (
	probePace = 10 * time.Millisecond // between two rounds of a probe
	// rounds without a failure that count as service; each round reaches some worker
	streakMin     = 10
	resumeWait    = time.Minute // after that, service counts as lost
	unexpectedMax = 5           // kept as examples
)

// probe calls one server all the time, beside the load: it lists the foods, changes a cart (one write to
// Redis) and repeats an order under its key (the order script). These calls sell nothing.
type probe struct {
	shopper *shopper
	// raised when the server freezes and when it goes on: odd while no answer is promised
	frozen atomic.Int64

	mu         sync.Mutex
	slowest    time.Duration // answer
	answered   int           // requests
	refused    int           // answered 503
	expired    int           // answered 401: the probe logs in again
	dropped    int           // without an answer: the connection was lost
	unexpected []string      // answers that no fault excuses

	times []time.Duration // of answers for which the server asked Redis

	generation int       // raised when a fault ends
	streak     int       // rounds without a failure, all begun in this generation
	since      time.Time // when the first of them was answered
}

// probes are the probes of all servers of a stack.
type probes struct {
	list   []*probe
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// startProbes prepares a number of reserved users for each server and starts their calls.
func startProbes(ctx context.Context, servers []*server, each int) (*probes, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &probes{cancel: cancel}
	for i := range len(servers) * each {
		one := &probe{shopper: servers[i%len(servers)].shopper(firstProbe + i)}
		if err := one.shopper.prepare(); err != nil {
			cancel()
			return nil, err
		}
		p.list = append(p.list, one)
	}
	for _, one := range p.list {
		p.done.Go(func() { one.run(ctx) })
	}
	return p, nil
}

func (p *probes) stop() {
	p.cancel()
	p.done.Wait()
}

// run makes rounds until ctx ends.
func (p *probe) run(ctx context.Context) {
	for ; ctx.Err() == nil; background.Pause(ctx, probePace) {
		p.round(ctx)
	}
}

// round makes the three requests; it ends the streak or adds to it.
func (p *probe) round(ctx context.Context) {
	p.mu.Lock()
	generation := p.generation
	p.mu.Unlock()
	s := p.shopper
	good := p.ask(ctx, call{"GET", "/foods", ""}, "", "200")
	// The first such change took the piece out; the script still writes the cart.
	good = p.ask(ctx, addTo(s.cart, item(3, -1)), "", "204") && good
	good = p.ask(ctx, orderOf(s.ordered), s.key(), "200") && good
	p.mu.Lock()
	defer p.mu.Unlock()
	if !good || generation != p.generation {
		p.streak = 0
		return
	}
	if p.streak++; p.streak == 1 {
		p.since = time.Now()
	}
}

// ask makes one call, under an idempotency key unless that is "", counts its outcome and reports whether it
// succeeded.
func (p *probe) ask(ctx context.Context, c call, key string, success answer) bool {
	frozen := p.frozen.Load()
	if frozen%2 == 1 {
		return false
	}
	p.shopper.IdempotencyKey = key
	a, reply, took := p.shopper.ask(c)
	if ctx.Err() != nil || p.frozen.Load() != frozen {
		return false
	}
	if strings.HasPrefix(string(a), "401") {
		p.count(func() { p.expired++ })
		_ = p.shopper.login() // the next round notices a failure
		return false
	}
	p.count(func() {
		p.slowest = max(p.slowest, took)
		p.answered++
		if c.method != "GET" {
			p.times = append(p.times, took)
		}
		switch {
		case a == noAnswer:
			p.dropped++
		case strings.HasPrefix(string(a), "503"):
			p.refused++
		case a != success && len(p.unexpected) < unexpectedMax:
			p.unexpected = append(p.unexpected, fmt.Sprintf("%s %s was answered %s %s", c.method, c.path, a, reply))
		}
	})
	return a == success
}

func (p *probe) count(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// spare marks the probe's server as frozen, so that it owes no answer; the result ends that.
func (p *probe) spare() (resume func()) {
	p.frozen.Add(1)
	return func() { p.frozen.Add(1) }
}

// sum adds up a number of all probes.
func (p *probes) sum(number func(*probe) int) (total int) {
	for _, one := range p.list {
		one.mu.Lock()
		total += number(one)
		one.mu.Unlock()
	}
	return total
}

func (p *probes) refusals() int {
	return p.sum(func(one *probe) int { return one.refused + one.dropped })
}

// longest is the longest time of an answer.
func (p *probes) longest() (longest time.Duration) {
	for _, one := range p.list {
		one.count(func() { longest = max(longest, one.slowest) })
	}
	return longest
}

func (p *probes) expiries() int { return p.sum(func(one *probe) int { return one.expired }) }

// measure begins anew to collect the times of the answers to changes and orders of all probes. Its result
// returns them, sorted.
func (p *probes) measure() (end func() []time.Duration) {
	for _, one := range p.list {
		one.count(func() { one.times = nil })
	}
	return func() (all []time.Duration) {
		for _, one := range p.list {
			one.count(func() { all = append(all, one.times...) })
		}
		slices.Sort(all)
		return all
	}
}

// resumption waits until every server serves and returns the time until the last one did.
func (p *probes) resumption(ctx context.Context) (time.Duration, error) {
	ended := time.Now()
	for _, one := range p.list {
		one.count(func() { one.generation, one.streak = one.generation+1, 0 })
	}
	var last time.Duration
	err := testkit.Await(ctx, "service", resumeWait, func() bool {
		last = 0
		for _, one := range p.list {
			one.mu.Lock()
			serves := one.streak >= streakMin
			last = max(last, one.since.Sub(ended))
			one.mu.Unlock()
			if !serves {
				return false
			}
		}
		return true
	})
	if err != nil {
		return resumeWait, fmt.Errorf("after the fault: %w", err)
	}
	return last, nil
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"flashsale/internal/background"

	"golang.org/x/sync/errgroup"
)

const (
	crowdSize = 256 // connections of an attacker
	// Under an attack the p99 of other buyers may be slowdownMax times their p99 under as many harmless
	// requests, or slowdownFloor: below that it is noise.
	slowdownMax   = 2
	slowdownFloor = 5 * time.Millisecond
	contrastTries = 3
)

// newcomers are n reserved users from the first on, logged in. A drill calls it once.
func (s *stack) newcomers(n int) ([]*shopper, error) {
	if firstNewcomer+n > reserved {
		return nil, fmt.Errorf("cannot have %d users: %d are reserved", n, reserved-firstNewcomer)
	}
	list := make([]*shopper, n)
	err := inParallel(n, func(i int) error {
		list[i] = newShopper(s.servers[0].address, firstNewcomer+i)
		return list[i].login()
	})
	return list, err
}

// inParallel calls the function for 0 to n-1, some at a time.
func inParallel(n int, it func(i int) error) error {
	const hands = 32
	var group errgroup.Group
	group.SetLimit(hands)
	for i := range n {
		group.Go(func() error { return it(i) })
	}
	return group.Wait()
}

// flood is a crowd: each member sends one request after the other on a connection of its own.
type flood struct {
	crowd []*shopper
	next  func(member, n int) call // the n-th request of a member
	right []answer                 // any other answer breaks a promise

	pipelined string // instead of next: each member sends it all the time, without awaiting replies
}

// crowdOf gives each user a connection of its own; a user may be there many times.
func crowdOf(users []*shopper) (crowd []*shopper) {
	for _, user := range users {
		crowd = append(crowd, user.regular())
	}
	return crowd
}

// tide is the outcome of a flood.
type tide struct {
	sent     int
	took     time.Duration
	answers  map[answer]int
	others   time.Duration // p99 of the answers to changes and orders of other buyers meanwhile
	measured int           // the number of answers behind others
}

func (t *tide) rate() float64 { return float64(t.sent) / t.took.Seconds() }

func (t *tide) String() string {
	return fmt.Sprintf("%d requests, %.0f/s; p99 of %d answers to others %.1f ms", t.sent, t.rate(), t.measured,
		milliseconds(t.others))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// run floods for a time: as fast as the crowd can, or with a rate above 0 at that many requests a second. It
// returns when every request is answered.
func (s *stack) run(ctx context.Context, f flood, lasting time.Duration, rate float64) *tide {
	t := &tide{answers: map[answer]int{}}
	end, began := s.measure(t, f.right), time.Now()
	var crowd sync.WaitGroup
	var mu sync.Mutex
	for member := range f.crowd {
		crowd.Go(func() {
			answers := f.send(ctx, member, began, lasting, rate)
			mu.Lock()
			defer mu.Unlock()
			for a, n := range answers {
				t.answers[a] += n
				t.sent += n
			}
		})
	}
	crowd.Wait()
	end()
	for _, one := range f.crowd {
		one.HangUp()
	}
	return t
}

// measure begins to measure the answers to other buyers during a tide. The result ends that and judges the
// answers to the tide.
func (s *stack) measure(t *tide, right []answer) (end func()) {
	measured, began := s.probes.measure(), time.Now()
	return func() {
		t.took = time.Since(began)
		times := measured()
		t.others, t.measured = percentile99(times), len(times)
		for _, a := range slices.Sorted(maps.Keys(t.answers)) {
			if !slices.Contains(right, a) {
				s.breaks("%d of %d requests were answered %s", t.answers[a], t.sent, a)
			}
		}
	}
}

// send makes the requests of one member.
func (f *flood) send(
	ctx context.Context, member int, began time.Time, lasting time.Duration, rate float64,
) (answers map[answer]int) {
	answers = map[answer]int{}
	if f.pipelined != "" {
		for ctx.Err() == nil && time.Since(began) < lasting {
			pipeline(f.crowd[member].Client, f.pipelined, answers)
		}
		return answers
	}
	for n := 0; ctx.Err() == nil; n++ {
		due := time.Now()
		if rate > 0 {
			due = began.Add(time.Duration(float64(n*len(f.crowd)+member) / rate * float64(time.Second)))
		}
		if due.Sub(began) >= lasting {
			break
		}
		background.Pause(ctx, time.Until(due))
		a, _, _ := f.crowd[member].ask(f.next(member, n))
		if ctx.Err() != nil {
			break
		}
		answers[a]++
	}
	return answers
}

// percentile99 of times in order; 0 without times.
func percentile99(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[len(times)*99/100]
}

// contrast makes an attack, and then harmless requests at the same rate. The long form judges the times: bad
// times three times in a row are not the doing of another program on the machine.
func (s *stack) contrast(attack func() (*tide, error), harmless func(rate float64) *tide) error {
	for try := 1; ; try++ {
		hostile, err := attack()
		if err != nil {
			return err
		}
		calm := harmless(hostile.rate())
		s.note("attack: %v", hostile)
		s.note("harmless: %v", calm)
		bound := slowdownMax*calm.others + slowdownFloor
		if hostile.others <= bound || !s.long {
			return nil
		}
		if try == contrastTries {
			s.breaks("other buyers: p99 %.1f ms under the attack, the bound is %.1f ms",
				milliseconds(hostile.others), milliseconds(bound))
			return nil
		}
	}
}

// contrastFloods makes a hostile flood, and then a harmless flood at the same rate.
func (s *stack) contrastFloods(ctx context.Context, hostile, harmless flood) error {
	return s.contrast(func() (*tide, error) {
		return s.run(ctx, hostile, s.lasting(2*time.Second, 10*time.Second), 0), nil
	}, func(rate float64) *tide {
		return s.run(ctx, harmless, s.lasting(time.Second, 10*time.Second), rate)
	})
}

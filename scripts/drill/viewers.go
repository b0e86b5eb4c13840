package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	bench "flashsale/scripts/bench/load"
	"flashsale/scripts/deploy"
)

const (
	viewersShort, viewersLong = 500, 5200
	frontSpare                = 100 // connections that the front has beside those of viewers
	buyersThrough             = 64  // at once
	viewersRefused            = 50
	// The file ends with the backend of viewers. The ports of those who have left are taken for a minute more:
	// they must not be those of the address on which servers listen.
	viewersSource = "    source 127.0.0.2\n"
)

// viewersAndBuyers has buyers log in and order through HAProxy, first by themselves, then while pages watch
// the sale the same way, as many as the front lets in, and more.
func viewersAndBuyers(ctx context.Context, s *stack, _ *rand.Rand) error {
	watching := s.times(viewersShort, viewersLong)
	front, err := s.startFront(ctx, watching)
	if err != nil {
		return err
	}
	defer front.Stop()
	next := firstNewcomer
	buyers := func() *tide {
		first := next
		next += s.times(300, 1000)
		return s.buyThrough(ctx, front.address, first, next)
	}
	var alone *tide
	return s.contrast(func() (*tide, error) {
		if err := s.awaitNoViewers(ctx); err != nil { // those of the last try
			return nil, err
		}
		alone = buyers() // first: thousands of pages that leave keep the machine busy for a while
		viewers, err := bench.OpenViewers(ctx, bench.Options{Servers: []string{front.address}, Viewers: watching,
			Timeout: answerPatient})
		if err != nil {
			return nil, err
		}
		defer viewers.Close()
		t := buyers()
		late := newShopper(front.address, lister)
		for range viewersRefused {
			if a, _, _ := late.ask(call{"GET", "/live", ""}); a != "503 SERVICE_UNAVAILABLE" {
				s.breaks("one viewer more than the front takes is answered %s", a)
				break
			}
		}
		if held := viewers.Held(); held != watching {
			s.breaks("%d of %d viewers are still there", held, watching)
		}
		return t, nil
	}, func(float64) *tide { return alone })
}

// awaitNoViewers returns once the servers have seen the end of all viewers: until then the front keeps their
// places.
func (s *stack) awaitNoViewers(ctx context.Context) error {
	return testkit.Await(ctx, "end of all viewers", startMax, func() bool {
		found, err := s.alarms.prometheus.query(ctx, "sum(flashsale_live_viewers) == 0")
		return err == nil && len(found) > 0
	})
}

// buyThrough has the users from first to before end buy a piece each, through the front, on a connection
// each. The times are those of the orders.
func (s *stack) buyThrough(ctx context.Context, front string, first, end int) *tide {
	var mu sync.Mutex
	var times []time.Duration
	began := time.Now()
	var hands sync.WaitGroup
	for hand := range buyersThrough {
		hands.Go(func() {
			for user := first + hand; user < end && ctx.Err() == nil; user += buyersThrough {
				buyer := newShopper(front, user).regular()
				took, err := s.buyOnce(buyer)
				buyer.HangUp()
				if err != nil {
					s.breaks("through the front: %v", err)
				}
				mu.Lock()
				times = append(times, took)
				mu.Unlock()
			}
		})
	}
	hands.Wait()
	slices.Sort(times)
	return &tide{sent: end - first, took: time.Since(began), others: percentile99(times), measured: len(times)}
}

// buyOnce is one buyer's way from the login to the order, and the time that the order took.
func (s *stack) buyOnce(buyer *shopper) (took time.Duration, err error) {
	if err := buyer.login(); err != nil {
		return 0, err
	}
	cart, err := buyer.fill(attackedFood)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if a := s.order(context.Background(), buyer, cart); a != "200" {
		return 0, fmt.Errorf("an order is answered %s", a)
	}
	return time.Since(began), nil
}

// front is HAProxy with the configuration that is shipped.
type front struct {
	*launch.Process
	address string // host:port
}

// startFront starts HAProxy with places for a number of viewers.
func (s *stack) startFront(ctx context.Context, viewers int) (*front, error) {
	if _, err := exec.LookPath("haproxy"); err != nil {
		return nil, fmt.Errorf("%w: %w", errImpossible, err)
	}
	file := filepath.Join(s.folder, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(deploy.HAProxy+viewersSource), 0o600); err != nil {
		return nil, err
	}
	port, err := launch.FreePort()
	if err != nil {
		return nil, err
	}
	env := []string{"FRONT_PORT=" + strconv.Itoa(port), "FRONT_VIEWERS=" + strconv.Itoa(viewers),
		"FRONT_CONNS=" + strconv.Itoa(viewers+frontSpare)}
	for i := range serversMax {
		env = append(env, fmt.Sprintf("SERVER_%d=%s", i+1, s.servers[i%len(s.servers)].address))
	}
	run, err := launch.Program{Path: "haproxy", Args: []string{"-db", "-f", file}, Env: env,
		Log: filepath.Join(s.folder, "haproxy.log")}.Start()
	if err != nil {
		return nil, err
	}
	f := &front{run, localhost(port)}
	if err := launch.AwaitReady(ctx, f.address); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/catalog"
)

const (
	soakTimeMin  = 3 * time.Second // thirds of a second or more
	soakTimeMax  = 24 * time.Hour
	soakUsersMax = 10_000_000 // the server's own limit of -users

	ownProduct = storeVariable + "=" + string(storeOwn) + " " + productProgram

	soakLoadFactor = 0.7              // of the peak, when no -rate is given
	soakPeakTime   = 10 * time.Second // that the peak is measured for
	soakPeakOrders = 200_000          // and the most orders of that time
)

// soak is a server of this repository, started for one long load, and what watches its processes.
type soak struct {
	folder  string
	target  *target
	watcher *watcher
	peak    float64 // orders a second; 0 when -rate was given
}

// openSoak measures the peak on one server, unless -rate is given, and starts another one with a user for each flow: a user
// buys once, and only orders that are placed go the whole way. opt is left as the load of that server takes it.
func openSoak(ctx context.Context, opt *options, stderr io.Writer) (*soak, error) {
	s := &soak{}
	var err error
	if s.folder, err = os.MkdirTemp("", "soak"); err != nil {
		return nil, fmt.Errorf("cannot make folder: %w", err)
	}
	if err := s.open(ctx, opt, stderr); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *soak) open(ctx context.Context, opt *options, stderr io.Writer) error {
	product, err := buildProduct(ctx, s.folder)
	if err != nil {
		return err
	}
	if opt.rate == 0 {
		if s.peak, err = s.measurePeak(ctx, *opt, product, soakPeakOrders); err != nil {
			return err
		}
		opt.rate = soakLoadFactor * s.peak
		fmt.Fprintf(stderr, "bench: the peak is %.0f orders/s, the soak goes at %.0f/s\n", s.peak, opt.rate)
	}
	opt.duration = opt.soak
	mean := opt.rate * opt.duration.Seconds()
	opt.orders = int(mean + 5*math.Sqrt(mean) + 1) // chance brings more than that once in three million soaks
	if opt.orders >= soakUsersMax {
		return fmt.Errorf("%w: -soak %v at %.0f flows/s takes %d users, at most %d; lower -rate or -soak",
			errUsage, opt.soak, opt.rate, opt.orders, soakUsersMax-1)
	}
	opt.catalog = enough(opt.catalog, opt.orders)
	ports, err := freePorts(runtime.NumCPU())
	if err != nil {
		return err
	}
	profiles := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports))
	if s.target, err = s.start(ctx, product, opt.catalog, "-pprof", profiles); err != nil {
		return err
	}
	opt.servers = s.target.servers
	s.watcher = newWatcher(s.target.roots, ports, runtime.NumCPU(), watchInterval(opt.soak))
	return nil
}

// start starts the product with its default store, the only one of which it looks after itself.
func (s *soak) start(ctx context.Context, product string, catalogue catalog.Config, flags ...string) (*target, error) {
	folder, err := os.MkdirTemp(s.folder, "server")
	if err != nil {
		return nil, fmt.Errorf("cannot make folder: %w", err)
	}
	own, err := parseSide(ownProduct + " " + strings.Join(flags, " "))
	if err != nil {
		return nil, err
	}
	t, err := own.start(ctx, folder, product, catalogue)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return t, nil
}

// measurePeak is the mean of a closed loop by -concurrency buyers, orders a second, over soakPeakTime or so many orders.
func (s *soak) measurePeak(ctx context.Context, opt options, product string, orders int) (float64, error) {
	opt.duration, opt.orders = soakPeakTime, orders
	opt.catalog = enough(opt.catalog, opt.orders)
	t, err := s.start(ctx, product, opt.catalog)
	if err != nil {
		return 0, err
	}
	defer t.stop()
	opt.servers = t.servers
	sale, err := readSale(ctx, opt)
	if err != nil {
		return 0, err
	}
	result := newLoad(opt, sale.foods, sale.free(nil)[:opt.orders]).run(ctx)
	if result.interrupted {
		return 0, context.Cause(ctx)
	}
	rep := newLoadReport(opt, result)
	if rep.Placed == 0 {
		return 0, fmt.Errorf("%w: not one order was placed while the peak was measured; refusals %v, transport errors %v",
			errUnreachable, rep.Refusals, rep.Faults)
	}
	return rep.OrdersPerSecond, nil
}

// watch runs the load and reports how its server's processes did meanwhile.
func (s *soak) watch(load func() error, rep *report) error {
	stop := s.watcher.start()
	err := load()
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	if rep.Soak, err = newSoakReport(s.watcher.samples, rep.Load.Placed); err != nil {
		return err
	}
	rep.Soak.Seconds, rep.Soak.Rate, rep.Soak.Peak = rep.Load.ElapsedSeconds, rep.Load.Rate, s.peak
	return nil
}

// close ends the server and removes its data.
func (s *soak) close() {
	if s.target != nil {
		s.target.stop()
	}
	os.RemoveAll(s.folder)
}

// freePorts finds n ports in a row of 127.0.0.1 that nobody uses at this moment and returns the first.
func freePorts(n int) (int, error) {
	const tries = 100
	for range tries {
		first, err := freePort()
		if err != nil {
			return 0, err
		}
		free := 0
		for ; free < n; free++ {
			listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+free)))
			if err != nil {
				break
			}
			listener.Close()
		}
		if free == n {
			return first, nil
		}
	}
	return 0, fmt.Errorf("cannot find %d free ports in a row", n)
}

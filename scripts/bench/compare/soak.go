package compare

import (
	"context"
	"errors"
	"flag"
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
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

const (
	timeMin  = 3 * time.Second // thirds of a second or more
	timeMax  = 24 * time.Hour
	usersMax = 10_000_000 // the server's own limit of -users

	loadFactor = 0.7              // of the peak, when no -rate is given
	peakTime   = 10 * time.Second // of the measurement of the peak
	peakOrders = 200_000          // at most, in that time
)

// SoakOptions are the settings of a soak.
type SoakOptions struct {
	Time    time.Duration
	Load    load.Options // Rate 0 = a part of the peak, which is measured first
	Catalog catalog.Config
}

// Register adds the flags of a soak.
func (o *SoakOptions) Register(fs *flag.FlagSet) {
	o.Load.Register(fs, "orders", "duration")
	sale.RegisterBuiltIn(fs, &o.Catalog)
}

// Resolve reads the time and checks the limits. Its errors are an ErrUsage.
func (o *SoakOptions) Resolve(length string, given map[string]bool) (err error) {
	if o.Time, err = time.ParseDuration(length); err != nil {
		return fmt.Errorf("%w: soak %q is no duration, such as 10m", sale.ErrUsage, length)
	}
	if o.Time < timeMin || o.Time > timeMax {
		return fmt.Errorf("%w: soak %v is not within %v to %v", sale.ErrUsage, o.Time, timeMin, timeMax)
	}
	return o.Load.Resolve(given)
}

// Soak is a server of this repository, started for one long load, and the watcher of its processes.
type Soak struct {
	folder  string
	target  *Target
	watcher *watcher
	peak    float64 // orders a second; 0 when -rate was given
}

// OpenSoak measures the peak on one server, unless -rate is given, and starts another one with a user for
// each flow: a user buys once, and only placed orders go the whole way. It completes opt
// for that server.
func OpenSoak(ctx context.Context, opt *SoakOptions, stderr io.Writer) (*Soak, error) {
	s := &Soak{}
	var err error
	if s.folder, err = os.MkdirTemp("", "soak"); err != nil {
		return nil, fmt.Errorf("cannot make folder: %w", err)
	}
	if err := s.open(ctx, opt, stderr); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Soak) open(ctx context.Context, opt *SoakOptions, stderr io.Writer) error {
	product, err := launch.Build(ctx, launch.ServerSource)
	if err != nil {
		return err
	}
	l := &opt.Load
	if l.Rate == 0 {
		if s.peak, err = s.measurePeak(ctx, *opt, product, peakOrders); err != nil {
			return err
		}
		l.Rate = loadFactor * s.peak
		fmt.Fprintf(stderr, "bench: the peak is %.0f orders/s, the soak goes at %.0f/s\n", s.peak, l.Rate)
	}
	l.Duration = opt.Time
	mean := l.Rate * l.Duration.Seconds()
	l.Orders = int(mean + 5*math.Sqrt(mean) + 1) // chance brings more than that once in three million soaks
	if l.Orders >= usersMax {
		return fmt.Errorf("%w: soak %v at %.0f flows/s takes %d users, at most %d; shorten it or lower "+
			"-rate",
			sale.ErrUsage, opt.Time, l.Rate, l.Orders, usersMax-1)
	}
	opt.Catalog = sale.BuiltIn(opt.Catalog, l.Orders)
	ports, err := launch.FreePorts(runtime.NumCPU())
	if err != nil {
		return err
	}
	profiles := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports))
	if s.target, err = s.start(ctx, product, opt.Catalog, "-pprof", profiles); err != nil {
		return err
	}
	l.Servers = s.target.Servers
	s.watcher = newWatcher(s.target.Roots, ports, runtime.NumCPU(), watchInterval(opt.Time))
	return s.watcher.awaitWorkers(ctx)
}

// start starts the product with its default store.
func (s *Soak) start(ctx context.Context, product string, catalogue catalog.Config,
	flags ...string) (*Target, error) {
	folder, err := os.MkdirTemp(s.folder, "server")
	if err != nil {
		return nil, fmt.Errorf("cannot make folder: %w", err)
	}
	own, err := ParseSide(OwnProduct + " " + strings.Join(flags, " "))
	if err != nil {
		return nil, err
	}
	t, err := own.Start(ctx, folder, product, catalogue)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sale.ErrUnreachable, err)
	}
	return t, nil
}

// measurePeak is the mean of a closed loop, orders a second, over peakTime or this number of orders.
func (s *Soak) measurePeak(ctx context.Context, opt SoakOptions, product string,
	orders int) (float64, error) {
	opt.Load.Duration, opt.Load.Orders = peakTime, orders
	opt.Catalog = sale.BuiltIn(opt.Catalog, orders)
	t, err := s.start(ctx, product, opt.Catalog)
	if err != nil {
		return 0, err
	}
	defer t.Stop()
	opt.Load.Servers = t.Servers
	onSale, err := sale.Read(ctx, opt.Catalog)
	if err != nil {
		return 0, err
	}
	result := load.New(opt.Load, onSale.Foods, onSale.Free(nil)[:orders]).Run(ctx)
	if result.Interrupted {
		return 0, context.Cause(ctx)
	}
	rep := result.Report()
	if rep.Placed == 0 {
		return 0, fmt.Errorf("%w: not one order was placed while the peak was measured; refusals %v, "+
			"transport errors %v",
			sale.ErrUnreachable, rep.Refusals, rep.Faults)
	}
	return rep.OrdersPerSecond, nil
}

// Watch runs the load and reports the growth of the server's processes meanwhile.
func (s *Soak) Watch(run func() (*load.Report, error)) (*SoakReport, error) {
	stop := s.watcher.start()
	done, err := run()
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	rep, err := newSoakReport(s.watcher.samples, done.Placed)
	if err != nil {
		return nil, err
	}
	rep.Seconds, rep.Rate, rep.Peak = done.ElapsedSeconds, done.Rate, s.peak
	return rep, nil
}

// Close ends the server and removes its data.
func (s *Soak) Close() {
	if s.target != nil {
		s.target.Stop()
	}
	os.RemoveAll(s.folder)
}

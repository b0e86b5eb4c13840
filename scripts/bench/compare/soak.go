package compare

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

const (
	timeMin  = 3 * time.Second // thirds of a second or more
	usersMax = 10_000_000      // the server's own limit of -users
)

// SoakOptions are the settings of a soak.
type SoakOptions struct {
	Time    time.Duration
	Load    load.Options
	Catalog catalog.Config
}

// Register adds the flags of a soak.
func (o *SoakOptions) Register(fs *flag.FlagSet) {
	o.Load.Register(fs, "orders", "duration")
	sale.RegisterBuiltIn(fs, &o.Catalog)
}

// Resolve reads the time, checks the limits, and takes a user for each flow: a user buys once, and only
// placed orders go the whole way. Its errors are an ErrUsage.
func (o *SoakOptions) Resolve(length string, given map[string]bool) (err error) {
	if o.Time, err = time.ParseDuration(length); err != nil || o.Time < timeMin {
		return fmt.Errorf("%w: soak %q is no duration from %v on, such as 10m", sale.ErrUsage, length, timeMin)
	}
	l := &o.Load
	l.Duration, l.Orders = o.Time, 1
	if err := l.Resolve(given); err != nil {
		return err
	}
	if l.Rate == 0 {
		return fmt.Errorf("%w: soak wants -rate; 70%% of the orders/s of a load is a good one", sale.ErrUsage)
	}
	mean := l.Rate * l.Duration.Seconds()
	l.Orders = int(mean + 5*math.Sqrt(mean) + 1) // chance brings more than that once in three million soaks
	if l.Orders >= usersMax {
		return fmt.Errorf("%w: soak %v at %.0f flows/s takes %d users, at most %d; shorten it or lower "+
			"-rate", sale.ErrUsage, o.Time, l.Rate, l.Orders, usersMax-1)
	}
	o.Catalog = sale.BuiltIn(o.Catalog, l.Orders)
	return nil
}

// Soak is a server of this repository, started for one long load.
type Soak struct {
	folder   string
	target   *Target
	interval time.Duration
}

// OpenSoak starts the server with its default store and completes opt for it.
func OpenSoak(ctx context.Context, opt *SoakOptions) (*Soak, error) {
	product, err := launch.Build(ctx, launch.ServerSource)
	if err != nil {
		return nil, err
	}
	own, err := ParseSide("STORE=own product")
	if err != nil {
		return nil, err
	}
	s := &Soak{interval: max(watchIntervalMin, opt.Time/watchSamples)}
	if s.folder, err = os.MkdirTemp("", "soak"); err != nil {
		return nil, fmt.Errorf("cannot make folder: %w", err)
	}
	if s.target, err = own.Start(ctx, s.folder, product, opt.Catalog); err != nil {
		os.RemoveAll(s.folder)
		return nil, fmt.Errorf("%w: %w", sale.ErrUnreachable, err)
	}
	opt.Load.Servers = s.target.Servers
	return s, nil
}

// Watch runs the load and reports the growth of the server's processes meanwhile.
func (s *Soak) Watch(run func() (*load.Report, error)) (*SoakReport, error) {
	ctx, stop := context.WithCancel(context.Background())
	var samples []sample
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		samples, failed = watch(ctx, s.target.Roots, s.interval)
	}()
	done, err := run()
	stop()
	<-ended
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	rep, err := newSoakReport(samples, done.Placed)
	if err != nil {
		return nil, err
	}
	rep.Seconds, rep.Rate = done.ElapsedSeconds, done.Rate
	return rep, nil
}

// Close ends the server and removes its data.
func (s *Soak) Close() {
	s.target.Stop()
	os.RemoveAll(s.folder)
}

// Package repeats measures the room of repeated messages (internal/rooms/repeats) on a private redis-server,
// beside a plain INCR over the same connection. It is slow where it fills: a million texts take some ten
// seconds.
package repeats

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"flashsale/internal/rooms/repeats"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/pipeline"
	"flashsale/scripts/bench/sale"
)

const (
	window      = 24 * time.Hour
	begin       = 1_800_000_000 // Unix seconds: the time of the fill
	fillCallers = 256           // one pipeline
	slice       = 300           // calls of a case, and INCRs, in turns
	redisMax    = 20 * time.Second
)

// Options are those of bench repeats.
type Options struct {
	Texts    int // popular texts
	Messages int // of each of them in the fill, one a second
	Many     int // texts of the case with many keys
	Calls    int // of each measurement
	Callers  int // at once, beside the measurement with one
}

// Register adds the flags.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.IntVar(&o.Texts, "texts", 10, "popular `texts`")
	fs.IntVar(&o.Messages, "messages", 20_000, "`messages` of each popular text before, one a second")
	fs.IntVar(&o.Many, "many", 1_000_000, "`texts` of the case with many keys")
	fs.IntVar(&o.Calls, "calls", 3000, "`messages` of each measurement")
	fs.IntVar(&o.Callers, "callers", 64, "`callers` at once, beside one")
}

// Check refuses what cannot be measured.
func (o *Options) Check() error {
	for _, n := range []struct {
		name        string
		value, most int
	}{{"texts", o.Texts, 10_000}, {"messages", o.Messages, 86_400}, {"many", o.Many, 10_000_000},
		{"calls", o.Calls, 10_000_000}, {"callers", o.Callers, 256}} {
		if n.value < 1 || n.value > n.most {
			return fmt.Errorf("%w: -%s %d is not within 1 to %d", sale.ErrUsage, n.name, n.value, n.most)
		}
	}
	return nil
}

// bench is a Counter on a redis-server, with a clock that the cases set.
type bench struct {
	opt     Options
	socket  string
	clock   atomic.Int64 // Unix seconds
	counter *repeats.Counter
	out     *tabwriter.Writer
}

// Run measures all cases and prints a table.
func Run(ctx context.Context, opt Options, stdout io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return fmt.Errorf("cannot make a folder for Redis: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	redis := launch.NewRedis(folder)
	if err := redis.Start(ctx); err != nil {
		return err
	}
	defer redis.Kill()
	b := &bench{opt: opt, socket: redis.Socket, out: tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)}
	b.counter, err = repeats.New(repeats.Config{Window: window, Secret: make([]byte, 32), Now: b.now,
		BytesMax: math.MaxInt64,
		Redis:    pipeline.Config{Network: "unix", Address: redis.Socket, Timeout: redisMax}})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	var room sync.WaitGroup
	room.Go(func() { _ = b.counter.Run(running) }) // it returns nil
	defer room.Wait()
	defer stop()
	if err := testkit.Await(ctx, "connection to Redis", redisMax, b.counter.Conn().Up); err != nil {
		return err
	}
	return b.measureAll(ctx)
}

func (b *bench) now() time.Time { return time.Unix(b.clock.Load(), 0) }

// measureAll makes the cases, in this order.
func (b *bench) measureAll(ctx context.Context) error {
	fmt.Fprintf(b.out, "%d messages\t1 caller\tus each\tof INCR\t%d callers\tus each\tof INCR\n", b.opt.Calls,
		b.opt.Callers)
	b.clock.Store(begin)
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return b.measure(ctx, "plain INCR", b.incr) },
		b.fill,
		func(ctx context.Context) error { return b.measure(ctx, "best: nothing expired", b.popular) },
		func(ctx context.Context) error {
			b.clock.Add(int64((window + time.Hour) / time.Second))
			return b.measure(ctx, "worst: all expired", b.popular)
		},
		b.manyKeys,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return b.out.Flush()
}

func (b *bench) incr(int) error {
	x := pipeline.NewCall().Integer("INCR", []byte("repeats:{r}:bench"))
	_, err := b.counter.Conn().DoInteger(x)
	return err
}

func (b *bench) popular(i int) error { return b.count("popular", i%b.opt.Texts) }

func (b *bench) rare(i int) error { return b.count("rare", i*7919%b.opt.Many) }

func (b *bench) count(kind string, i int) error {
	_, err := b.counter.Count(kind + strconv.Itoa(i))
	return err
}

// fill sends each popular text once a second.
func (b *bench) fill(ctx context.Context) error {
	for range b.opt.Messages {
		if err := each(ctx, b.opt.Texts, fillCallers, b.popular); err != nil {
			return err
		}
		b.clock.Add(1)
	}
	return nil
}

// manyKeys measures beside many texts that came once.
func (b *bench) manyKeys(ctx context.Context) error {
	before, err := b.memory()
	if err != nil {
		return err
	}
	if err := each(ctx, b.opt.Many, fillCallers, func(i int) error { return b.count("rare", i) }); err != nil {
		return err
	}
	after, err := b.memory()
	if err != nil {
		return err
	}
	if err := b.measure(ctx, fmt.Sprintf("%d texts", b.opt.Many), b.rare); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "memory of a text that came once\t%d bytes\n", (after-before)/b.opt.Many)
	return nil
}

var usedMemory = regexp.MustCompile(`used_memory:(\d+)`)

// memory is what Redis uses, in bytes.
func (b *bench) memory() (int, error) {
	text, err := launch.AskRedis(b.socket, redisMax, "INFO", "memory")
	if err != nil {
		return 0, err
	}
	found := usedMemory.FindStringSubmatch(text)
	if found == nil {
		return 0, errors.New("INFO memory of Redis has no used_memory")
	}
	return strconv.Atoi(found[1])
}

// measure prints a line: opt.Calls calls by one caller, then by many at once. INCRs take turns with them in
// slices, so that other work on the machine meets both alike.
func (b *bench) measure(ctx context.Context, name string, call func(int) error) error {
	fmt.Fprint(b.out, name)
	for _, callers := range []int{1, b.opt.Callers} {
		var took, base time.Duration
		for first := 0; first < b.opt.Calls; first += slice {
			n := min(slice, b.opt.Calls-first)
			began := time.Now()
			if err := each(ctx, n, callers, b.incr); err != nil {
				return err
			}
			middle := time.Now()
			if err := each(ctx, n, callers, func(i int) error { return call(first + i) }); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			base += middle.Sub(began)
			took += time.Since(middle)
		}
		fmt.Fprintf(b.out, "\t%.3f s\t%.1f\t%.2f", took.Seconds(),
			took.Seconds()*1e6/float64(b.opt.Calls), float64(took)/float64(base))
	}
	fmt.Fprintln(b.out)
	return nil
}

// each makes calls 0 to n-1, by some callers at once, and returns the first error.
func each(ctx context.Context, n, callers int, call func(int) error) error {
	var next atomic.Int64
	errs := make([]error, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for errs[caller] == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[caller] = call(i)
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

package holds

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

var (
	expiring = flag.Int("holds", 2_000, "how many holds the benchmark lets end")
	within   = flag.Duration("within", 2*time.Second, "in how long they end")
	rate     = flag.Int("rate", 2_000, "orders a second beside them")
)

// BenchmarkSweep is one call that releases as many orders as a call may: us/sweep is the CPU time of Redis,
// which does nothing else meanwhile.
func BenchmarkSweep(b *testing.B) {
	server := redistest.New(b)
	cfg := saletest.Config(server)
	cfg.Hold = 24 * time.Hour
	s := saletest.Open(b, cfg, 1<<40, 1<<40)
	r := &bench{B: b, server: server, sale: s, keys: cfg.KeysOf(s.ID(), 0)}
	orders := held.New(cfg, s.ID(), 2)
	testkit.Background(b, orders.Run)
	testkit.Until(b, "connected", func() bool {
		_, err := orders.Release(0)
		return err == nil
	})
	const due = 4000
	for b.Loop() {
		r.hold(due, 0)
		time.Sleep(time.Second + due*20*time.Microsecond)
		before, sweeps := r.cpu(), 0
		for more := true; more; sweeps++ {
			swept, err := orders.Release(0)
			testkit.Must(b, err)
			more = swept.More
		}
		used := r.cpu() - before
		b.ReportMetric(used/float64(sweeps), "us/sweep")
		b.ReportMetric(used/due, "us/release")
	}
}

// benchWorkers is how many workers sweep, as on two servers with two workers each.
const benchWorkers = 4

// BenchmarkExpiry lets many holds end within a minute, say, while buyers order at a steady rate, and
// compares that with the same orders alone. late is from the end of a hold to the sweep that released its
// order, p99 the time of an order, us/order the CPU time of redis-server for an order without what the
// releases take, us/release the CPU time of one without orders.
//
//	go test ./internal/rooms/holds -run - -bench Expiry -benchtime 1x -holds 100000 -within 1m
func BenchmarkExpiry(b *testing.B) {
	server := redistest.New(b)
	cfg := saletest.Config(server)
	cfg.Hold = 24 * time.Hour
	s := saletest.Open(b, cfg, 1<<40, 1<<40)
	r := &bench{B: b, server: server, sale: s, keys: cfg.KeysOf(s.ID(), 0)}
	for range benchWorkers {
		orders := held.New(cfg, s.ID(), 2)
		testkit.Background(b, orders.Run)
		testkit.Background(b, New(Config{Orders: orders, Released: r.count}).Run)
	}
	for range b.N {
		r.compare()
	}
}

// bench is a run of the benchmark.
type bench struct {
	*testing.B
	server *redistest.Server
	sale   saletest.Sale
	keys   redisx.Keys
	user   uint32 // who orders next

	mu       sync.Mutex
	released int
	late     []time.Duration // of each released order, at most
}

func (r *bench) count(orders int, late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range orders {
		r.late = append(r.late, late)
	}
	r.released += orders
}

func (r *bench) compare() {
	release := r.expire(*expiring/10, 0) / float64(*expiring/10)
	used, alone := r.order(*within)
	aloneEach := used / float64(len(alone))
	var beside []time.Duration
	var both float64
	var ordering sync.WaitGroup
	r.late = nil
	r.hold(*expiring, *within)
	ordering.Go(func() { both, beside = r.order(*within) })
	ordering.Wait()
	r.await(*expiring)
	besideEach := (both - release*float64(*expiring)) / float64(len(beside))
	late := quantile(r.late, 0.99)
	r.ReportMetric(float64(late.Milliseconds()), "late-p99-ms")
	r.ReportMetric(release, "us/release")
	r.ReportMetric(aloneEach, "us/order-alone")
	r.ReportMetric(besideEach, "us/order-beside")
	r.ReportMetric(float64(quantile(alone, 0.99).Microseconds()), "p99-alone-us")
	r.ReportMetric(float64(quantile(beside, 0.99).Microseconds()), "p99-beside-us")
}

// expire lets holds end at once and returns the CPU time of Redis until all are released, in microseconds.
func (r *bench) expire(orders int, in time.Duration) float64 {
	r.hold(orders, in)
	before := r.cpu()
	r.await(orders)
	return r.cpu() - before
}

// hold puts held orders into Redis, of a piece of each food, whose holds end one after the other from a
// second after the last one is there.
func (r *bench) hold(orders int, in time.Duration) {
	const chunk = 1000
	r.mu.Lock()
	r.released = 0
	r.mu.Unlock()
	first := time.Now().Add(time.Duration(orders)*20*time.Microsecond + time.Second).UnixMilli()
	for from := 0; from < orders; from += chunk {
		saletest.Command(r, saletest.Config(r.server), nil, "EVAL", `
			local stock, holds = KEYS[1], KEYS[2]
			for i = 0, ARGV[2] - 1 do
				local user, due = string.format('%d', ARGV[1] + i), string.format('%d', ARGV[3] + i * ARGV[4])
				redis.call('SET', 'o_' .. user, '1:1,2:1,|\n' .. due .. '\nheld 0 1 ' .. due .. ' -')
				redis.call('ZADD', holds, due, user)
			end
			redis.call('HINCRBY', stock, 'orders', ARGV[2])
			for food = 1, 2 do
				redis.call('HINCRBY', stock, food, -ARGV[2])
				redis.call('HINCRBY', stock, '~' .. food, ARGV[2])
			end`, "2", r.keys.Stock, r.keys.Holds, strconv.Itoa(1<<30+from), strconv.Itoa(min(chunk, orders-from)),
			strconv.FormatInt(first+int64(from)*in.Milliseconds()/int64(orders), 10),
			fmt.Sprint(float64(in.Milliseconds())/float64(orders)))
	}
}

// await waits until that many orders are released.
func (r *bench) await(orders int) {
	testkit.Until(r, "released", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.released >= orders
	})
}

// order places orders at the rate and returns the CPU time of Redis, in microseconds, and how long each one
// took.
func (r *bench) order(lasting time.Duration) (used float64, took []time.Duration) {
	const buyers = 64
	before, begin := r.cpu(), time.Now()
	all := int(lasting.Seconds() * float64(*rate))
	took = make([]time.Duration, all)
	var ordering sync.WaitGroup
	for buyer := range buyers {
		ordering.Go(func() {
			for i := buyer; i < all; i += buyers {
				due := begin.Add(time.Duration(i) * time.Second / time.Duration(*rate))
				time.Sleep(time.Until(due))
				user := r.user + uint32(i) + 2
				name := saletest.CartName(int(user))
				testkit.Must(r, r.sale.AddToCart(user, name, 1, 1))
				testkit.Must(r, r.sale.AddToCart(user, name, 2, 1))
				sent := time.Now()
				testkit.Must(r, r.sale.PlaceOrder(user, name, nil))
				took[i] = time.Since(sent)
			}
		})
	}
	ordering.Wait()
	r.user += uint32(all)
	return r.cpu() - before, took
}

// cpu is the CPU time of Redis so far, in microseconds.
func (r *bench) cpu() float64 {
	used, err := proc.MainThreadTime(r.server.Pid())
	testkit.Must(r, err)
	return float64(used.Microseconds())
}

func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[int(float64(len(list)-1)*q)]
}

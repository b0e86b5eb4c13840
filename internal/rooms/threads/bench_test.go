package threads

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

// benchThreads is how many pairs write in a benchmark.
const benchThreads = 1000

// BenchmarkPost stores messages while a keeper follows, and places orders (two adds and the order) for
// comparison. redis-us/op is the CPU time of redis-server.
func BenchmarkPost(b *testing.B) {
	for _, callers := range []int{64, 1000} {
		b.Run(fmt.Sprintf("messages/callers=%d", callers), func(b *testing.B) { benchmarkPost(b, callers) })
		b.Run(fmt.Sprintf("orders/callers=%d", callers), func(b *testing.B) { benchmarkOrder(b, callers) })
	}
}

func benchmarkPost(b *testing.B, callers int) {
	server := redistest.Start(b)
	cfg := Config{Redis: []pipeline.Config{roomtest.Of(server)}, Fanout: 500, MessagesMax: 1000,
		AgeMax: 30 * 24 * time.Hour}
	r, k := open(b, cfg), NewKeeper(cfg)
	testkit.Background(b, k.Run)
	var ids []string
	for i := range uint32(benchThreads) {
		ids = append(ids, pairID(2*i+1, 2*i+2))
		testkit.Must(b, r.start(ids[i], Pair, 1, false, []uint32{2*i + 1, 2*i + 2}))
	}
	var next atomic.Uint32
	measure(b, server, callers, func() error {
		i := next.Add(1)
		n := i % benchThreads
		_, err := r.Post(ids[n], 2*n+1, fmt.Sprint(i), "See you at the sale at ten o'clock!")
		return err
	})
}

func benchmarkOrder(b *testing.B, callers int) {
	server := redistest.Start(b)
	s := saletest.Open(b, saletest.Config(server), 1<<40, 1<<40)
	var users atomic.Uint32
	measure(b, server, callers, func() error {
		user := users.Add(1)
		cart := fmt.Appendf(nil, "cart%012d", user)
		for food := range int64(2) {
			if err := s.AddToCart(user, cart, food+1, 1); err != nil {
				return err
			}
		}
		return s.PlaceOrder(user, cart, nil)
	})
}

func measure(b *testing.B, server *redistest.Server, callers int, call func() error) {
	b.SetParallelism(callers / 2)
	before, err := proc.MainThreadTime(server.Pid())
	testkit.Must(b, err)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	after, err := proc.MainThreadTime(server.Pid())
	testkit.Must(b, err)
	b.ReportMetric(float64((after-before).Microseconds())/float64(b.N), "redis-us/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

package redisx_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

// BenchmarkOrder drives Redis alone with the calls of an order of the contest's flow: on average two adds
// and the order itself. redis-us/order is the CPU time of redis-server, so 1e6 divided by it is the number
// of orders a second that its one core carries. buyers are the calls that may wait at once: the more, the
// longer the batches. Of several Redis, each with a slice, the busiest one is the limit.
func BenchmarkOrder(b *testing.B) {
	for _, buyers := range []int{64, 1000} {
		b.Run(fmt.Sprintf("buyers=%d", buyers), func(b *testing.B) { benchmarkOrder(b, buyers, 1, 0) })
	}
	b.Run("buyers=1000/redis=2", func(b *testing.B) { benchmarkOrder(b, 1000, 2, 0) })
	b.Run("buyers=1000/hold", func(b *testing.B) { benchmarkOrder(b, 1000, 1, time.Hour) })
}

func benchmarkOrder(b *testing.B, buyers, nodes int, hold time.Duration) {
	servers := []*redistest.Server{redistest.Start(b)}
	cfg := saletest.Config(servers[0])
	for len(servers) < nodes {
		server := redistest.New(b)
		servers = append(servers, server)
		cfg.Address += "," + server.Socket
	}
	cfg.Slices, cfg.Hold = nodes, hold
	s := saletest.Open(b, cfg, 1<<40, 1<<40)
	var users atomic.Uint32
	b.ReportAllocs()
	b.SetParallelism(buyers / 2)
	before := make([]float64, nodes)
	for i, server := range servers {
		before[i] = cpuMicroseconds(b, server.Pid())
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		name := make([]byte, 0, 16)
		for pb.Next() {
			user := users.Add(1)
			name = fmt.Appendf(name[:0], "cart%012d", user)
			for food := range int64(2) {
				if err := s.AddToCart(user, name, food+1, 1); err != nil {
					b.Error(err)
				}
			}
			if err := s.PlaceOrder(user, name, nil); err != nil {
				b.Error(err)
			}
		}
	})
	var all, busiest float64
	for i, server := range servers {
		used := (cpuMicroseconds(b, server.Pid()) - before[i]) / float64(b.N)
		all, busiest = all+used, max(busiest, used)
	}
	b.ReportMetric(all, "redis-us/order")
	b.ReportMetric(1e6/busiest, "redis-orders/s")
}

// cpuMicroseconds is what the main thread of a process has used so far; redis-server works in that one.
func cpuMicroseconds(tb testing.TB, pid int) float64 {
	tb.Helper()
	used, err := proc.MainThreadTime(pid)
	testkit.Must(tb, err)
	return float64(used.Nanoseconds()) / 1000
}

package redisx_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/redisx/orderstream"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

// BenchmarkOrder drives Redis alone with what an order of the contest's flow asks of it on average: two
// adds and the order itself. redis-us/order is the CPU that redis-server takes, and so 1e6 divided by it
// is how many orders a second its one core could carry. buyers are the calls that may wait at once: the
// more, the longer the batches.
func BenchmarkOrder(b *testing.B) {
	for _, buyers := range []int{64, 1000} {
		b.Run(fmt.Sprintf("buyers=%d", buyers), func(b *testing.B) { benchmarkOrder(b, buyers, false) })
		b.Run(fmt.Sprintf("buyers=%d,ledger", buyers), func(b *testing.B) { benchmarkOrder(b, buyers, true) })
	}
}

// benchmarkOrder with ledger puts each order into the stream as well, from which a consumer takes it.
func benchmarkOrder(b *testing.B, buyers int, ledger bool) {
	server := redistest.Start(b)
	cfg := saletest.Config(server)
	s := saletest.Open(b, cfg, 1<<40, 1<<40)
	if ledger {
		orders, err := orderstream.Open(b.Context(), cfg, s.ID(), 2, "bench")
		testkit.Must(b, err)
		defer orders.Close()
		defer consume(b, orders)()
	}
	var users atomic.Uint32
	b.ReportAllocs()
	b.SetParallelism(buyers / 2)
	before := cpuMicroseconds(b, server.Pid())
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
	redis := (cpuMicroseconds(b, server.Pid()) - before) / float64(b.N)
	b.ReportMetric(redis, "redis-us/order")
	b.ReportMetric(1e6/redis, "orders/redis-core-s")
}

// consume takes orders from the stream until stop, without writing them anywhere.
func consume(b *testing.B, waiting *orderstream.Stream) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		look := time.NewTicker(100 * time.Millisecond)
		defer look.Stop()
		for {
			orders, err := waiting.Read(false, 1000)
			if err == nil {
				err = waiting.Done(orders)
			}
			if err != nil {
				b.Error(err)
				return
			}
			if len(orders) > 0 {
				continue
			}
			select {
			case <-look.C:
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// cpuMicroseconds is what the main thread of a process has used so far; redis-server works in that one.
func cpuMicroseconds(tb testing.TB, pid int) float64 {
	tb.Helper()
	used, err := proc.MainThreadTime(pid)
	testkit.Must(tb, err)
	return float64(used.Nanoseconds()) / 1000
}

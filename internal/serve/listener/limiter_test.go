package listener

import (
	"errors"
	"flashsale/internal/testkit"
	"net"
	"os"
	"testing"
	"time"
)

func TestEachStateEndsInItsTime(t *testing.T) {
	for state, limit := range timeouts {
		if limit == 0 {
			continue // TestStates
		}
		s := NewLimiter(Config{})
		server, client := net.Pipe()
		accepted, err := s.Listen(&exhausted{conn: server}).Accept()
		testkit.Must(t, err)
		c := accepted.(*Conn)
		c.enter(State(state))
		open := func() bool {
			client.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := client.Read(make([]byte, 1))
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
		for range limit / TickInterval {
			s.Tick()
		}
		if !open() {
			t.Errorf("state %d is ended before %v", state, limit)
		}
		s.Tick()
		if open() {
			t.Errorf("state %d is not ended after %v", state, limit)
		}
		if c.Close(); s.Count() != 0 {
			t.Error("a closed connection is still counted")
		}
	}
}

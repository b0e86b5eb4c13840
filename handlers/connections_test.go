package handlers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A connection that never sent a byte does not hold a stop.
func TestDrainClosesSilentConnections(t *testing.T) { onBoth(t, testDrainClosesSilentConnections) }

func testDrainClosesSilentConnections(t *testing.T, s *shop) {
	silent, err := s.dial()
	testkit.Must(t, err)
	testkit.Until(t, "connection", func() bool { return s.limiter.Count() == 1 })
	idle, cancel := context.WithCancel(t.Context())
	cancel()
	s.drain(idle)
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the silent connection reads %v, want its end", err)
	}
}

// A request under way when a stop begins is answered, and its connection ends with that.
func TestDrainAnswersWhatIsUnderWay(t *testing.T) { onEngines(t, testDrainAnswers) }

func testDrainAnswers(t *testing.T, open opener) {
	redis := redistest.New(t)
	s := open(t, "unix", redis.Socket)
	c, err := s.dial()
	testkit.Must(t, err)
	defer c.Close()
	testkit.Until(t, "connection", func() bool { return s.limiter.Count() == 1 })
	redis.Freeze(t)
	send(t, c, s.filler().Replace(orderCall+orderCall))
	idle, end := context.WithCancel(t.Context())
	defer end()
	if s.do(func() {}); s.loop != nil {
		end() // the loop has the request: to end idle connections does not end this one
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drain(idle)
	}()
	testkit.Until(t, "drain", s.draining.Load)
	redis.Thaw(t)
	replies := bufio.NewReader(c)
	r, err := http.ReadResponse(replies, nil)
	testkit.Must(t, err)
	if text, err := io.ReadAll(r.Body); string(text) != cartEmpty || err != nil || !r.Close {
		t.Errorf("%d %s, close %t, %v", r.StatusCode, text, r.Close, err)
	}
	if _, err := replies.ReadByte(); err == nil {
		t.Error("a reply behind the last one")
	}
	<-drained
}

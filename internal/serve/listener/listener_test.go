package listener

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
)

// A connection over a limit is told so and closed, and there is room again after the end of another one.
func TestAcceptRefuses(t *testing.T) {
	testkit.KeepLog(t)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer socket.Close()
	const refusal = "HTTP/1.1 503 Service Unavailable\r\n\r\n"
	count := figures.Private()
	l := NewLimiter(Config{ConnsMax: 2, Refusal: []byte(refusal), Figures: count}).Listen(socket)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		testkit.Must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	accept := func() net.Conn {
		t.Helper()
		c, err := l.Accept()
		testkit.Must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	first := accept()
	dial()
	accept()
	refused := dial()
	accepted := make(chan net.Conn)
	go func() {
		c, _ := l.Accept() // refuses the third one and waits for the fourth
		accepted <- c
	}()
	if text, err := io.ReadAll(refused); err != nil || string(text) != refusal {
		t.Errorf("over the limit: %q, %v", text, err)
	}
	first.Close()
	first.Close() // counts once
	dial()
	if c := <-accepted; c == nil {
		t.Error("refused after another has ended")
	} else {
		defer c.Close()
	}
	if open, most, refused := count.Connections.Value(), count.ConnectionsMax.Value(),
		count.ConnectionsRefused.Value(); open != 2 || most != 2 || refused != 1 {
		t.Errorf("%d of %d connections are open and %d were refused, want 2 of 2 and 1", open, most, refused)
	}
}

// outcomes is a listener with these outcomes of Accept, one after the other.
type outcomes struct {
	net.Listener
	errors []error // nil for a connection
}

func (o *outcomes) Accept() (net.Conn, error) {
	err := o.errors[0]
	if o.errors = o.errors[1:]; err != nil {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	}
	c, _ := net.Pipe()
	return c, nil
}

// Only a lack of descriptors or memory is waited for. It is logged once in its pace.
func TestAcceptOutlastsExhaustion(t *testing.T) {
	log := testkit.CaptureLog(t)
	l := NewLimiter(Config{}).Listen(&outcomes{errors: []error{syscall.EMFILE, syscall.ENFILE,
		syscall.ENOBUFS, syscall.ENOMEM, nil, syscall.EINVAL, net.ErrClosed}})
	if _, err := l.Accept(); err != nil || l.limiter.Count() != 1 {
		t.Errorf("%v; %d connections", err, l.limiter.Count())
	}
	if n := log.Count("cannot accept more connections"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log)
	}
	for _, want := range []error{syscall.EINVAL, net.ErrClosed} {
		if _, err := l.Accept(); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
}

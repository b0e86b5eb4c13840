package listener

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"

	"flashsale/internal/observe/figures"
)

const refusal = "HTTP/1.1 503 Service Unavailable\r\n\r\n"

// door is a listener with limits on a port of this machine.
type door struct {
	*Listener
	accepted chan net.Conn
}

// openDoor accepts connections until the test ends.
func openDoor(t *testing.T, cfg Config) *door {
	t.Helper()
	testkit.KeepLog(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	cfg.Refusal = []byte(refusal)
	d := &door{Listener: NewLimiter(cfg).Listen(l), accepted: make(chan net.Conn)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := d.Accept()
			if err != nil {
				return
			}
			d.accepted <- c
		}
	}()
	t.Cleanup(func() {
		d.Close()
		<-ended
	})
	return d
}

// knock connects from an address and returns the server's end, nil when the client is refused.
func (d *door) knock(t *testing.T, from string) (accepted net.Conn) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	client, err := dialer.Dial("tcp", d.Addr().String())
	testkit.Must(t, err)
	t.Cleanup(func() { client.Close() })
	refused := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(client)
		refused <- string(text)
	}()
	select {
	case c := <-d.accepted:
		t.Cleanup(func() { c.Close() })
		return c
	case text := <-refused:
		if text != refusal {
			t.Errorf("refused with %q, want %q", text, refusal)
		}
		return nil
	}
}

func TestConnsMax(t *testing.T) {
	count := figures.Private()
	d := openDoor(t, Config{ConnsMax: 2, Figures: count})
	first := d.knock(t, "127.0.0.1")
	if first == nil || d.knock(t, "127.0.0.2") == nil {
		t.Fatal("refused below the limit")
	}
	if d.knock(t, "127.0.0.1") != nil || d.knock(t, "127.0.0.3") != nil {
		t.Error("accepted above the limit")
	}
	first.Close()
	first.Close() // counts once
	if d.knock(t, "127.0.0.3") == nil {
		t.Error("refused after another has ended")
	}
	if d.knock(t, "127.0.0.3") != nil || d.limiter.Count() != 2 {
		t.Errorf("accepted above the limit: %d are open", d.limiter.Count())
	}
	if open, most, refused := count.Connections.Value(), count.ConnectionsMax.Value(),
		count.ConnectionsRefused.Value(); open != 2 || most != 2 || refused != 3 {
		t.Errorf("%d of %d connections are open and %d were refused, want 2 of 2 and 3", open, most, refused)
	}
}

func TestConnsPerAddressMax(t *testing.T) {
	d := openDoor(t, Config{
		ConnsPerAddressMax: 1, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")},
	})
	first := d.knock(t, "127.0.0.1")
	if first == nil || d.knock(t, "127.0.0.2") == nil {
		t.Fatal("refused below the limit")
	}
	if d.knock(t, "127.0.0.1") != nil {
		t.Error("accepted above the limit of its address")
	}
	for range 3 {
		if d.knock(t, "127.0.0.9") == nil {
			t.Error("a trusted proxy is refused")
		}
	}
	first.Close()
	if d.knock(t, "127.0.0.1") == nil {
		t.Error("refused after the other of its address has ended")
	}
	if n := len(d.limiter.addresses); n != 2 {
		t.Errorf("%d addresses are counted, want 2", n)
	}
}

// exhausted is a listener that is out of descriptors some times and then accepts.
type exhausted struct {
	net.Listener
	times int
	conn  net.Conn
}

func (e *exhausted) Accept() (net.Conn, error) {
	if e.times--; e.times >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	if e.conn == nil {
		return nil, net.ErrClosed
	}
	c := e.conn
	e.conn = nil
	return c, nil
}

func TestAcceptOutlastsExhaustion(t *testing.T) {
	testkit.KeepLog(t)
	conn, _ := net.Pipe()
	l := NewLimiter(Config{}).Listen(&exhausted{times: 3, conn: conn})
	if c, err := l.Accept(); err != nil || c.(*Conn).Conn != conn || l.limiter.Count() != 1 {
		t.Errorf("accepted %v, %v; %d connections", c, err, l.limiter.Count())
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}

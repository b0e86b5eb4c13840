package handlers

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"flashsale/internal/logtest"
)

// door is a listener with limits on a port of this machine.
type door struct {
	sweptListener
	accepted chan net.Conn
}

func openDoor(t *testing.T) *door {
	t.Helper()
	logtest.Keep(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &door{sweptListener: sweptListener{Listener: l, sweeper: newSweeper()}, accepted: make(chan net.Conn)}
}

// run accepts until the test ends.
func (d *door) run(t *testing.T) {
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
}

// knock connects from an address and returns the server's end, nil when the client is refused.
func (d *door) knock(t *testing.T, from string) (accepted net.Conn) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	client, err := dialer.Dial("tcp", d.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
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
		const want = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 55\r\nRetry-After: 1\r\n" +
			"Connection: close\r\n\r\n" + unavailable
		if text != want {
			t.Errorf("refused with %q, want %q", text, want)
		}
		return nil
	}
}

func TestConnsMax(t *testing.T) {
	d := openDoor(t)
	d.connsMax = 2
	d.run(t)
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
	if d.knock(t, "127.0.0.3") != nil || d.sweeper.count() != 2 {
		t.Errorf("accepted above the limit: %d are open", d.sweeper.count())
	}
}

func TestConnsPerAddressMax(t *testing.T) {
	d := openDoor(t)
	d.perAddressMax, d.trustedProxies = 1, []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}
	d.run(t)
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
	if n := len(d.sweeper.addresses); n != 2 {
		t.Errorf("%d addresses are counted, want 2", n)
	}
}

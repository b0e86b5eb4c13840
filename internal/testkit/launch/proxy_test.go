package launch

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// echo starts a proxy before a server that sends back what it gets, and returns a connection through it.
func echo(t *testing.T) (*Proxy, net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(testkit.Folder(t), "s"))
	testkit.Must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c) // ends with the connection
				c.Close()
			}()
		}
	}()
	p, err := StartProxy("unix", l.Addr().String())
	testkit.Must(t, err)
	t.Cleanup(p.Stop)
	return p, dialProxy(t, p)
}

func dialProxy(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	testkit.Must(t, err)
	t.Cleanup(func() { c.Close() })
	testkit.Must(t, c.SetDeadline(time.Now().Add(testkit.Patience)))
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v; want %q", got, err, want)
	}
}

func TestProxyPasses(t *testing.T) {
	_, c := echo(t)
	long := string(bytes.Repeat([]byte("0123456789"), 20_000))
	go io.WriteString(c, long)
	hear(t, c, long)
}

func TestProxyDelaysReplies(t *testing.T) {
	p, c := echo(t)
	p.Set(Slow)
	began := time.Now()
	say(t, c, "a")
	hear(t, c, "a")
	if took := time.Since(began); took < SlowDelay {
		t.Errorf("the reply took %v, want at least %v", took, SlowDelay)
	}
	p.Set(Passes)
	say(t, c, "b")
	hear(t, c, "b")
}

// In a black hole nothing comes back; a connection that missed bytes is reset at its end, old or new.
func TestProxyBlackHole(t *testing.T) {
	p, old := echo(t)
	say(t, old, "before")
	hear(t, old, "before")
	p.Set(BlackHole)
	fresh := dialProxy(t, p)
	for _, c := range []net.Conn{old, fresh} {
		say(t, c, "into the hole")
		testkit.Must(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes, %v; want none", n, err)
		}
	}
	p.Set(Passes)
	for _, c := range []net.Conn{old, fresh} {
		testkit.Must(t, c.SetReadDeadline(time.Now().Add(testkit.Patience)))
		if n, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read %d bytes, %v; want a reset", n, err)
		}
	}
	again := dialProxy(t, p)
	say(t, again, "after")
	hear(t, again, "after")
}

func TestProxyResetsInMidReply(t *testing.T) {
	p, c := echo(t)
	p.BreakNext(Cut{Replies: true, Share: 0.5})
	say(t, c, "0123456789")
	got, err := io.ReadAll(c)
	if !errors.Is(err, syscall.ECONNRESET) || len(got) > 5 {
		t.Errorf("%q, %v; want at most half of the reply and a reset", got, err)
	}
	if !p.Broken() {
		t.Error("the cut is still to come")
	}
	after := dialProxy(t, p)
	say(t, after, "whole")
	hear(t, after, "whole")
}

func TestProxyResetsInMidRequest(t *testing.T) {
	p, c := echo(t)
	p.BreakNext(Cut{Share: 0.5})
	say(t, c, "0123456789")
	if got, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) || len(got) > 5 {
		t.Errorf("%q, %v; want at most half of the echo and a reset", got, err)
	}
}

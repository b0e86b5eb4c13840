package rawio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// pair returns the two ends of a TCP connection, the first with raw reads and writes.
func pair(tb testing.TB) (raw, other net.Conn) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(tb, err)
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		c, err := l.Accept()
		if err != nil {
			tb.Error(err)
		}
		accepted <- c
	}()
	if other, err = net.Dial("tcp", l.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	raw = Wrap(<-accepted)
	tb.Cleanup(func() {
		raw.Close()
		other.Close()
	})
	if _, ok := raw.(*Conn); !ok {
		tb.Fatalf("Wrap returns a %T", raw)
	}
	return raw, other
}

// More than the socket's buffers hold goes both ways: reads and writes that have to wait, in parts.
func TestCarriesEverything(t *testing.T) {
	raw, other := pair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	go func() {
		if n, err := io.Copy(other, io.LimitReader(other, int64(len(sent)))); err != nil || n != int64(len(sent)) {
			t.Errorf("the other end has sent back %d bytes, %v", n, err)
		}
	}()
	go func() {
		if n, err := raw.Write(sent); err != nil || n != len(sent) {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(raw, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("what came back differs, %v", err)
	}
}

func TestEnds(t *testing.T) {
	raw, other := pair(t)
	if n, err := raw.Read(nil); n != 0 || err != nil {
		t.Errorf("read of nothing: %d, %v", n, err)
	}
	if n, err := raw.Write(nil); n != 0 || err != nil {
		t.Errorf("write of nothing: %d, %v", n, err)
	}
	other.Close()
	if n, err := raw.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read after the other end closed: %d, %v; want EOF", n, err)
	}
	var err error
	for range 100 { // the first ones fill the socket before the reset is there
		if _, err = raw.Write(make([]byte, 1<<16)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("write after the other end closed: %v", err)
	}
	raw.Close()
	if _, err := raw.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

func TestDeadlineAndCloseEndAWait(t *testing.T) {
	raw, _ := pair(t)
	raw.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := raw.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read past its deadline: %v", err)
	}
	raw.SetReadDeadline(time.Time{})
	ended := make(chan error)
	go func() {
		_, err := raw.Read(make([]byte, 1))
		ended <- err
	}()
	raw.Close()
	testkit.Wants(t, "read while it is closed", <-ended, net.ErrClosed)
}

func TestWrapLeavesWhatIsNoSocket(t *testing.T) {
	c, _ := net.Pipe()
	if Wrap(c) != c {
		t.Error("a pipe is wrapped")
	}
}

func TestNoAllocations(t *testing.T) {
	raw, other := pair(t)
	b := make([]byte, 64)
	if n := testkit.Allocations(func() {
		other.Write(b)
		raw.Read(b)
		raw.Write(b)
		other.Read(b)
	}); n != 0 {
		t.Errorf("%v allocations per round trip, want 0", n)
	}
}

package rawio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
)

// bare returns the two ends of a TCP connection, the first as a descriptor.
func bare(t *testing.T) (fd int, other *net.TCPConn) {
	t.Helper()
	c, end := pair(t)
	fd, err := Duplicate(c.(*Conn).Conn)
	testkit.Must(t, err)
	c.Close()
	return fd, end.(*net.TCPConn)
}

func TestPeerClosed(t *testing.T) {
	c, other := pair(t)
	socket := c.(*Conn).Conn
	if PeerClosed(socket) {
		t.Error("both ends are open")
	}
	other.Write([]byte("x"))
	other.Close()
	if PeerClosed(socket) {
		t.Error("there is something to read")
	}
	if n, err := socket.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	testkit.Until(t, "end", func() bool { return PeerClosed(socket) })
	socket.Close()
	if !PeerClosed(socket) {
		t.Error("this end is closed")
	}
}

func TestReceive(t *testing.T) {
	fd, other := bare(t)
	defer Close(fd)
	b := make([]byte, 4)
	if n, err := Receive(fd, b); n != 0 || !errors.Is(err, ErrAgain) {
		t.Errorf("nothing has come: %d, %v", n, err)
	}
	other.Write([]byte("abcdef"))
	other.CloseWrite()
	got := ""
	testkit.Until(t, "end", func() bool {
		n, err := Receive(fd, b)
		got += string(b[:n])
		if err != nil && !errors.Is(err, ErrAgain) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return errors.Is(err, io.EOF)
	})
	if got != "abcdef" {
		t.Errorf("received %q", got)
	}
	other.SetLinger(0)
	other.Close()
	if n, err := Receive(-1, b); n != 0 || err != syscall.EBADF {
		t.Errorf("no descriptor: %d, %v", n, err)
	}
}

func TestReceiveOfAReset(t *testing.T) {
	fd, other := bare(t)
	defer Close(fd)
	other.SetLinger(0)
	other.Close()
	if n, err := Receive(fd, make([]byte, 4)); n != 0 || err != syscall.ECONNRESET {
		t.Errorf("received %d, %v", n, err)
	}
	if n, err := Send(fd, []byte("a")); n != 0 || err != syscall.EPIPE {
		t.Errorf("sent %d, %v; a signal would have ended the process", n, err)
	}
}

// A socket takes what it has room for, and the rest when the other end has read.
func TestSend(t *testing.T) {
	fd, other := bare(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	n, err := Send(fd, text)
	if n == 0 || n == len(text) || err != nil {
		t.Fatalf("%d of %d bytes are sent, %v", n, len(text), err)
	}
	if more, err := Send(fd, text[n:]); more != 0 || err != nil {
		t.Errorf("%d bytes are sent where there is no room, %v", more, err)
	}
	if n, err := Send(fd, nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	received := make(chan []byte)
	go func() {
		all, err := io.ReadAll(other)
		if err != nil {
			t.Error(err)
		}
		received <- all
	}()
	testkit.Until(t, "rest", func() bool {
		more, err := Send(fd, text[n:])
		if n += more; err != nil {
			t.Fatal(err)
		}
		return n == len(text)
	})
	Close(fd)
	if !bytes.Equal(<-received, text) {
		t.Error("what was received differs")
	}
}

func TestDuplicate(t *testing.T) {
	fd, other := bare(t) // its first owner has closed it
	for what, want := range map[int]int{unix.F_GETFD: unix.FD_CLOEXEC, unix.F_GETFL: unix.O_NONBLOCK} {
		if flags, err := unix.FcntlInt(uintptr(fd), what, 0); err != nil || flags&want == 0 {
			t.Errorf("fcntl %d: flags %#x without %#x, %v", what, flags, want, err)
		}
	}
	Send(fd, []byte("a"))
	Close(fd)
	if all, err := io.ReadAll(other); string(all) != "a" || err != nil {
		t.Errorf("received %q, %v", all, err)
	}
	pipe, _ := net.Pipe()
	if _, err := Duplicate(pipe); err == nil {
		t.Error("a pipe in memory has a descriptor")
	}
	other.Close()
	if fd, err := Duplicate(other); err == nil || fd != -1 {
		t.Errorf("descriptor %d of a closed socket, %v", fd, err)
	}
}

func TestSocketAllocatesNothing(t *testing.T) {
	fd, other := bare(t)
	defer Close(fd)
	b := make([]byte, 64)
	if n := testkit.Allocations(func() {
		Receive(fd, b)
		Send(fd, b)
		other.Read(b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

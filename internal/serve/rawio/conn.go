// Package rawio reads and writes a socket without telling the Go scheduler.
//
// Package net tells the scheduler before each read and write that the thread may block. That wakes the
// runtime's monitor thread, which takes the processor away if the call lasts. A non-blocking socket never
// blocks, so all of that is waste; scripts/bench/TUNING.md has the gain. Use it only for sockets, which are
// non-blocking in Go.
package rawio

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// Conn is a connection that reads and writes straight through the kernel. Waiting, deadlines and Close are
// those of package net. One goroutine at a time may read and one may write.
type Conn struct {
	net.Conn
	raw               syscall.RawConn
	read, write       transfer
	waited            bool                  // see Waited
	tryRead, tryWrite func(fd uintptr) bool // made once: a closure for each call would be an allocation
}

// transfer is one Read or Write under way.
type transfer struct {
	buf   []byte
	n     int
	errno syscall.Errno
}

// Wrap returns c with raw reads and writes, or c itself if it is no socket of the kernel.
func Wrap(c net.Conn) net.Conn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return c // closed already: its own Read says so
	}
	w := &Conn{Conn: c, raw: raw}
	w.tryRead = func(fd uintptr) bool {
		done := w.read.try(syscall.SYS_READ, fd)
		w.waited = w.waited || !done
		return done
	}
	w.tryWrite = func(fd uintptr) bool {
		for w.write.try(syscall.SYS_WRITE, fd) {
			if w.write.errno != 0 || len(w.write.buf) == 0 {
				return true
			}
		}
		return false
	}
	return w
}

// try makes one system call. It returns false if the socket is not ready.
func (t *transfer) try(call, fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(&t.buf[0])), uintptr(len(t.buf)))
		switch errno {
		case 0:
			t.n += int(n)
			t.buf = t.buf[n:]
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		}
		t.errno = errno
		return true
	}
}

// end returns the outcome of a transfer after its wait, which ended with err.
func (t *transfer) end(call string, err error) (int, error) {
	t.buf = nil
	if err == nil && t.errno != 0 {
		err = os.NewSyscallError(call, t.errno)
	}
	return t.n, err
}

func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.read = transfer{buf: b}
	n, err := c.read.end("read", c.raw.Read(c.tryRead))
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Waited reports whether a read has had to wait for bytes since the last call.
func (c *Conn) Waited() (waited bool) {
	waited, c.waited = c.waited, false
	return waited
}

func (c *Conn) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.write = transfer{buf: b}
	return c.write.end("write", c.raw.Write(c.tryWrite))
}

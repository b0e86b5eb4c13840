package rawio

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions below are for descriptors that the Go runtime does not watch, such as an event loop's.

// ErrAgain means that a socket has nothing to read now.
var ErrAgain = errors.New("nothing to read yet")

// Receive reads the bytes that a socket has. Errors: ErrAgain, io.EOF, an Errno.
func Receive(fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])),
			uintptr(len(b)))
		switch {
		case errno == 0 && n == 0:
			return 0, io.EOF
		case errno == 0:
			return int(n), nil
		case errno == syscall.EAGAIN:
			return 0, ErrAgain
		case errno != syscall.EINTR:
			return 0, errno
		}
	}
}

// Send writes as much as a socket takes; n < len(b) without an error means that the socket is full.
func Send(fd int, b []byte) (n int, err error) {
	for n < len(b) {
		// MSG_NOSIGNAL: for a connection that is gone, an error instead of SIGPIPE.
		sent, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[n])),
			uintptr(len(b)-n), syscall.MSG_NOSIGNAL, 0, 0)
		switch {
		case errno == 0:
			n += int(sent)
		case errno == syscall.EAGAIN:
			return n, nil
		case errno != syscall.EINTR:
			return n, errno
		}
	}
	return n, nil
}

// Close closes a descriptor.
func Close(fd int) { _, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0) }

// PeerClosed reports whether the other end of a socket of package net has closed the connection and nothing
// is left to read. It does not wait.
func PeerClosed(of any) bool {
	has, ok := of.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return true // it is closed here
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = n <= 0 && err != unix.EAGAIN && err != unix.EINTR
	})
	return closed || err != nil
}

// Duplicate returns a new descriptor of a socket of package net.
func Duplicate(of any) (socket int, err error) {
	has, ok := of.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("a %T is no socket of the kernel", of)
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return -1, err
	}
	failed := raw.Control(func(fd uintptr) { socket, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(failed, err); err != nil {
		return -1, fmt.Errorf("cannot duplicate a socket: %w", err)
	}
	return socket, nil
}

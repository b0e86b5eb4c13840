package eventloop

import (
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/rawio"
)

// System calls that do not block are made without telling the Go scheduler (RawSyscall), see
// internal/serve/rawio.

// epollWait takes events; EINTR is returned like other errors. A shared wait gives up the processor of the
// Go scheduler, so that other goroutines can run.
func epollWait(epoll int, events []unix.EpollEvent, limit time.Duration, shared bool) (int, error) {
	call := unix.RawSyscall6
	if shared {
		call = unix.Syscall6
	}
	// Rounded up: after a wait that ends too early the loop would have nothing to do and wait again.
	ms := (limit + time.Millisecond - 1) / time.Millisecond
	n, _, errno := call(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func epollControl(epoll, operation, fd int, event *unix.EpollEvent) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epoll), uintptr(operation), uintptr(fd),
		uintptr(unsafe.Pointer(event)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func shutdownWrite(fd int) {
	_, _, _ = unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), unix.SHUT_WR, 0)
}

// accept takes a non-blocking connection from a listening socket. Errors: rawio.ErrAgain, an Errno.
func accept(fd int) (socket int, peer netip.AddrPort, err error) {
	var address unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	for {
		s, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&address)),
			uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		switch {
		case errno == 0:
			return int(s), peerOf(&address), nil
		case errno == unix.EAGAIN:
			return 0, peer, rawio.ErrAgain
		case errno != unix.EINTR && errno != unix.ECONNABORTED:
			return 0, peer, errno
		}
	}
}

// peerOf returns an IP address and port, the zero AddrPort for other kinds of addresses.
func peerOf(address *unix.RawSockaddrAny) netip.AddrPort {
	switch address.Addr.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(address))
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), networkOrder(a.Port))
	case unix.AF_INET6:
		a := (*unix.RawSockaddrInet6)(unsafe.Pointer(address))
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), networkOrder(a.Port))
	}
	return netip.AddrPort{}
}

// networkOrder converts a port from the kernel's byte order: high byte first.
func networkOrder(port uint16) uint16 {
	b := (*[2]byte)(unsafe.Pointer(&port))
	return uint16(b[0])<<8 | uint16(b[1])
}

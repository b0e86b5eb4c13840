package compare

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	kernelEventsMax  = 512 // taken in one turn
	kernelAcceptsMax = 64  // in one turn, so that connections that are open have their turn too
	// Edge-triggered: a connection is added once and its mask stays, unless a client does not read.
	kernelReads = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
)

// kernelLoop is one worker of the kernel side. All its system calls but the start's are raw: the runtime has
// nothing else to run meanwhile.
type kernelLoop struct {
	epoll, listener int
	replies         *kernelReplies
	conns           []kernelConn // by descriptor
	buffer          [kernelRequestMax]byte
}

// kernelConn is what is kept of a connection between two turns: nothing, as long as requests come whole and
// replies are taken whole.
type kernelConn struct {
	mask uint32 // what epoll watches; 0 = it does not watch yet
	ends bool   // with the reply under way
	rest []byte // begin of a request; behind a reply that waits, requests. Its memory is used again
	out  []byte // what the client did not take yet of a reply
}

func serveKernel(socket *os.File, bodies cannedBodies) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // nothing is allocated once every descriptor was used
	defer runtime.KeepAlive(socket)
	l := &kernelLoop{listener: cannedSocket, replies: newKernelReplies(bodies, time.Now())}
	if err := unix.SetNonblock(l.listener, true); err != nil {
		return fmt.Errorf("cannot set socket non-blocking: %w", err)
	}
	// Connections inherit it.
	if err := unix.SetsockoptInt(l.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("cannot set TCP_NODELAY: %w", err)
	}
	// A connection comes once its first request is there, so that accept and read never miss it.
	if err := unix.SetsockoptInt(l.listener, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1); err != nil {
		return fmt.Errorf("cannot set TCP_DEFER_ACCEPT: %w", err)
	}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("cannot create epoll: %w", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(l.listener)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.listener, &event); err != nil {
		return fmt.Errorf("cannot watch socket: %w", err)
	}
	return l.run()
}

func (l *kernelLoop) run() error {
	events := make([]unix.EpollEvent, kernelEventsMax)
	for {
		n, errno := rawWait(l.epoll, events)
		if errno != 0 && errno != unix.EINTR {
			return fmt.Errorf("cannot wait for events: %w", errno)
		}
		for i := range max(n, 0) {
			fd := int(events[i].Fd)
			if fd != l.listener {
				l.serve(fd, events[i].Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
			} else if err := l.accept(); err != nil {
				return err
			}
		}
	}
}

// accept takes connections and serves each at once: its first request is often there, and a connection that
// ends with it is never watched.
func (l *kernelLoop) accept() error {
	for range kernelAcceptsMax {
		fd, errno := rawAccept(l.listener)
		switch errno {
		case 0:
		case unix.EAGAIN:
			return nil
		case unix.EINTR, unix.ECONNABORTED:
			continue
		default:
			return fmt.Errorf("cannot accept: %w", errno)
		}
		for len(l.conns) <= fd {
			l.conns = append(l.conns, kernelConn{})
		}
		if l.serve(fd, false) && l.conns[fd].mask == 0 {
			l.watch(fd, kernelReads)
		}
	}
	return nil
}

// serve does what there is to do on a connection and reports whether it is still open. ended means that the
// client sends no more: then the end has to be read now, for no event will come again.
func (l *kernelLoop) serve(fd int, ended bool) (open bool) {
	c := &l.conns[fd]
	if len(c.out) > 0 && !(l.send(fd, c, c.out) && l.answer(fd, c, copy(l.buffer[:], c.rest))) {
		return len(c.out) > 0
	}
	for {
		kept := copy(l.buffer[:], c.rest)
		n, errno := rawRead(fd, l.buffer[kept:])
		switch {
		case errno == unix.EAGAIN:
			return true
		case errno == unix.EINTR:
			continue
		case errno != 0 || n == 0:
			l.close(fd, c)
			return false
		}
		filled := kept + n
		if !l.answer(fd, c, filled) {
			return len(c.out) > 0
		}
		// Fewer bytes than were asked for: there are no more for now.
		if !ended && filled < len(l.buffer) {
			return true
		}
	}
}

// answer replies to the requests among the buffer's first bytes and keeps what is left. It reports whether
// more can be read: not from a client that does not take its replies, and not when the connection is closed.
func (l *kernelLoop) answer(fd int, c *kernelConn, filled int) bool {
	for at := 0; ; {
		request := readKernelRequest(l.buffer[at:filled])
		if request.size == 0 && filled-at == len(l.buffer) {
			request = kernelRequest{size: filled, call: callRefused, ends: true}
		}
		if request.size == 0 {
			c.rest = append(c.rest[:0], l.buffer[at:filled]...)
			return true
		}
		at += request.size
		c.ends = request.ends
		if !l.send(fd, c, l.replies.to(request)) {
			if len(c.out) > 0 {
				c.rest = append(c.rest[:0], l.buffer[at:filled]...)
			}
			return false
		}
	}
}

// send writes a reply and reports whether the connection is open and took all of it. What it did not take
// waits in out until there is room.
func (l *kernelLoop) send(fd int, c *kernelConn, reply []byte) bool {
	n, errno := rawSend(fd, reply, c.ends)
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR:
		n = 0
	default:
		l.close(fd, c)
		return false
	}
	c.out = reply[n:]
	if len(c.out) > 0 {
		l.watch(fd, kernelReads|unix.EPOLLOUT)
		return false
	}
	if c.ends {
		l.close(fd, c)
		return false
	}
	return true
}

// watch adds a connection to epoll or changes what is watched; either brings an event for what is there
// already. A connection that cannot be watched is closed.
func (l *kernelLoop) watch(fd int, mask uint32) {
	c := &l.conns[fd]
	operation := unix.EPOLL_CTL_ADD
	if c.mask != 0 {
		operation = unix.EPOLL_CTL_MOD
	}
	c.mask = mask
	event := unix.EpollEvent{Events: mask, Fd: int32(fd)}
	if unix.EpollCtl(l.epoll, operation, fd, &event) != nil {
		l.close(fd, c)
	}
}

func (l *kernelLoop) close(fd int, c *kernelConn) {
	*c = kernelConn{rest: c.rest[:0]}
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

func rawWait(epoll int, events []unix.EpollEvent) (int, unix.Errno) {
	const forever = ^uintptr(0)
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), forever, 0, 0)
	return int(n), errno
}

func rawAccept(listener int) (int, unix.Errno) {
	fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), 0, 0,
		unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(fd), errno
}

func rawRead(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return int(n), errno
}

// rawSend writes. Before a close it lets the kernel wait, so that the last bytes and the end leave in one
// packet.
func rawSend(fd int, b []byte, last bool) (int, unix.Errno) {
	flags := uintptr(unix.MSG_NOSIGNAL)
	if last {
		flags |= unix.MSG_MORE
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])),
		uintptr(len(b)), flags, 0, 0)
	return int(n), errno
}

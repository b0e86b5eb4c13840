package rawio

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Poller makes the scheduler poll the network. The scheduler polls only when it has nothing to run. A yield
// lets ready goroutines run first but does not poll: goroutines with new bytes on their sockets stay asleep.
// One goroutine at a time may use a Poller.
type Poller struct {
	file      *os.File // an eventfd
	raw       syscall.RawConn
	step      func(fd uintptr) bool // made once: a closure for each call would be an allocation
	signalled bool
	count     [8]byte
}

// NewPoller makes a Poller, to be closed after use.
func NewPoller() (*Poller, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make an eventfd: %w", err)
	}
	p := &Poller{file: os.NewFile(uintptr(fd), "eventfd")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.file.Close()
		return nil, fmt.Errorf("cannot poll an eventfd: %w", err)
	}
	p.step = func(fd uintptr) bool {
		// The wait is announced before the signal is given, so the signal cannot get lost.
		call := uintptr(syscall.SYS_READ)
		if !p.signalled {
			call, p.count = syscall.SYS_WRITE, [8]byte{1} // adds to the count, which a read takes
		}
		t := transfer{buf: p.count[:]}
		t.try(call, fd)
		p.signalled = !p.signalled
		return !p.signalled
	}
	return p, nil
}

// Poll returns after the scheduler has polled the network: goroutines with readable sockets are then ready
// to run, and a yield lets them go first.
func (p *Poller) Poll() error {
	p.signalled = false
	return p.raw.Read(p.step)
}

// Close frees the Poller.
func (p *Poller) Close() error { return p.file.Close() }
